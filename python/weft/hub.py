"""weft.hub: weights from files and addresses, kept in a folder. Code is loaded from local folders only."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys

from .serialization import load as _load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_folder: str | None = None


class _Silent:
    """Stands in for tqdm where that package is missing: takes its calls, gives what it goes through, shows nothing."""

    def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
        self.iterable, self.total, self.n = iterable, kwargs.get("total"), 0

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def update(self, n: int = 1) -> None:
        self.n += n

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        pass

    def close(self) -> None:
        pass


tqdm: Any = _Silent
with contextlib.suppress(ImportError):
    tqdm = importlib.import_module("tqdm").tqdm


def _get_torch_home() -> str:
    home = os.environ.get("TORCH_HOME", os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder where what is loaded is kept: $TORCH_HOME/hub."""
    return _folder or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder where what is loaded is kept."""
    global _folder
    _folder = os.path.expanduser(os.fspath(d))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Loads a file from an address; a prefix of its SHA-256 is checked."""
    import hashlib
    import shutil
    import urllib.request

    part = f"{os.path.expanduser(dst)}.{os.getpid()}.part"
    try:
        with urllib.request.urlopen(url) as source, open(part, "wb") as file:
            shutil.copyfileobj(source, file)
        if hash_prefix is not None:
            with open(part, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            if not digest.startswith(hash_prefix):
                raise RuntimeError(f"download_url_to_file(): {url} has the SHA-256 {digest}, which does not begin with {hash_prefix}")
        os.replace(part, os.path.expanduser(dst))
    finally:
        if os.path.exists(part):
            os.remove(part)


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
                             file_name: str | None = None, weights_only: bool = True) -> Any:  # fmt: skip
    """The weights at an address; a file that is in the folder already is not loaded again."""
    import re
    from urllib.parse import urlparse

    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = re.search(r"-([a-f0-9]*)\.", name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return _load(path, map_location=map_location, weights_only=weights_only)


load_url = load_state_dict_from_url


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Calls a function of the hubconf.py of a local folder; its code runs, so the folder must be trusted."""
    if source != "local":
        raise NotImplementedError("hub.load(): code is not loaded from the network; get the folder yourself, and pass source='local'")
    import runpy

    sys.path.insert(0, repo_or_dir)
    try:
        names = runpy.run_path(os.path.join(repo_or_dir, "hubconf.py"))
    finally:
        sys.path.remove(repo_or_dir)
    if model not in names:
        raise RuntimeError(f"hub.load(): the hubconf.py of {repo_or_dir} has no function {model!r}")
    return names[model](*args, **kwargs)
