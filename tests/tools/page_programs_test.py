"""README.md and docs/: every C++ block compiles; a program also runs, and prints what the `text` block below it says.

    page_programs_test.py COMPILER LIBRARY

A block without main() is the inside of one, after what `<!-- cpp` … `-->` above it declares. One that includes headers of src/ is a
file of Weft's own.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- cpp\n(?P<setup>.*?)^-->\n\s*)?^ *```cpp\n(?P<code>.*?)^ *```\n(?:\n```text\n(?P<text>.*?)^```\n)?", re.M | re.S
)


def blocks():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        source = page.read_text()
        for block in BLOCK.finditer(source):
            yield page, source.count("\n", 0, block.start("code")) + 1, block


def source_of(page, line, block):
    code = f'#line {line} "{page}"\n{block["code"]}'
    if "#include" in code:
        return code
    return f"#include <weft/weft.h>\nusing namespace weft;\nint main() {{\n{block['setup'] or ''}{code}}}\n"


def problem(compiler, library, flags, folder, page, line, block):
    """What is wrong with a block; None: nothing."""
    program = "int main" in block["code"]
    file = folder / "block.cpp"
    file.write_text(source_of(page, line, block))
    command = [compiler, *flags.split(), "-std=c++20", "-Wall", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", str(file)]
    output = ["-o", str(folder / "block"), library, f"-Wl,-rpath,{Path(library).parent}"] if program else ["-fsyntax-only"]
    done = subprocess.run(command + output, capture_output=True, text=True)
    if done.returncode or not program:
        return done.stderr or None
    done = subprocess.run([folder / "block"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    if block["text"] is not None and block["text"].rstrip() != done.stdout.rstrip():
        return f"the page says\n{block['text']}\nbut this was printed:\n{done.stdout}"
    return None


def main(compiler, library, flags):
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        for page, line, block in blocks():
            what = problem(compiler, library, flags, Path(folder), page, line, block)
            print(f"{page.relative_to(ROOT)}:{line}: {what or 'as it says'}")
            found += what is not None
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
