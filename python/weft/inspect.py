"""Looks at a profile that weft.profile() or WEFT_PROFILE wrote.

    python -m weft.inspect run.html            its slowest kernels, as text
    python -m weft.inspect run.html --live     the page in a browser, again and again while a program writes it:
                                               WEFT_PROFILE=run.html WEFT_PROFILE_EVERY=2 python train.py
"""

from __future__ import annotations

import argparse
import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer
    from typing import Any


def read(path: str) -> dict[str, Any]:
    """The profile in a file of either kind."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = 0 if path.endswith(".json") else text.find('{"format":"weft-profile"')
    try:
        profile = json.JSONDecoder().raw_decode(text, max(start, 0))[0]
        if profile["format"] == "weft-profile":
            return dict(profile)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path}: there is no profile of Weft in it")


def summary(profile: dict[str, Any], rows: int = 20) -> str:
    """The slowest kernels, a line each."""
    kernels = sorted(profile["kernels"], key=lambda kernel: -kernel["time"])
    total = sum(kernel["time"] for kernel in kernels) or 1
    lines = [f"{profile['title']}: {profile['duration'] / 1e6:.1f} ms, {total / 1e6:.1f} ms of them in {len(kernels)} kernel{'s' * (len(kernels) != 1)}"]
    for kernel in kernels[:rows]:
        sites = [profile["sites"][site] for site in kernel["sites"]]
        places = dict.fromkeys(f"{profile['files'][site['file']]['path']}:{site['line']}" for site in sites if "file" in site)
        lines.append(f"{kernel['time'] / 1e6:10.2f} ms {100 * kernel['time'] / total:5.1f} % {kernel['calls']:7}×  {kernel['name']}  {' '.join(places)}")
    return "\n".join(lines)


def server(path: str, port: int = 0, every: int = 3) -> tuple[ThreadingHTTPServer, str]:
    """Serves the page to this machine alone, to whoever knows the address: it has a random part."""
    import secrets
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    secret = f"/{secrets.token_urlsafe(16)}/"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers.get("Host", "").rpartition(":")[0]
            known = secrets.compare_digest(self.path.partition("?")[0].encode(), secret.encode()) and host in ("127.0.0.1", "localhost")
            body = b"there is nothing here\n"
            if known:
                try:
                    with open(path, "rb") as file:
                        body = file.read()
                except OSError:
                    body = b"the program has not written its profile yet\n"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8" if body.startswith(b"<") else "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            if known and not body.startswith(b"<"):  # the page loads itself again, as its address says
                self.send_header("Refresh", str(every))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    return made, f"http://127.0.0.1:{made.server_address[1]}{secret}?every={every}"


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m weft.inspect", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="run.html or run.json")
    parser.add_argument("--live", action="store_true", help="serve the page, and load it again as the program goes on")
    parser.add_argument("--port", type=int, default=0, help="where (any free one)")
    parser.add_argument("--rows", type=int, default=20, help="kernels to list")
    options = parser.parse_args(arguments)
    if not 0 <= options.port < 65536:
        parser.error("argument --port: must be 0 to 65535")
    try:
        if not options.live:
            try:
                print(summary(read(options.file), options.rows))
            except (KeyError, IndexError, TypeError):
                raise ValueError(f"{options.file}: the profile in it is damaged") from None
            return 0
        if not options.file.endswith(".html"):
            parser.error("--live shows the page: let the program write WEFT_PROFILE=run.html")
        made, address = server(options.file, options.port)
        print(f"{address}   (Ctrl-C ends it)", flush=True)
        made.serve_forever()
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        print("weft.inspect: " + ": ".join(filter(None, (error.filename, error.strerror))), file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"weft.inspect: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
