"""docs/tutorial.md: its blocks run in a new interpreter, and print what stands below them."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"


def run_page(page):
    return subprocess.run([sys.executable, str(ROOT / "tools" / "run_page.py"), str(page)], capture_output=True, text=True)


def test_outputs_are_real():
    done = run_page(PAGE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_outputs_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(re.sub(r"buffers made: forward \d+", "buffers made: forward 1", PAGE.read_text()))
    done = run_page(page)
    assert done.returncode == 1 and "the page says" in done.stdout
    page.write_text("```python\nprint(1 / 0)\n```\n")
    done = run_page(page)
    assert done.returncode == 1 and 'page.md", line 2' in done.stderr
