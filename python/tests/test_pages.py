"""README.md and docs/: the Python blocks of each page run in a new interpreter, and print what stands below them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
PAGES = sorted(str(page.relative_to(ROOT)) for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^ *```(.*)$", re.M)


def run_page(page, folder):
    return subprocess.run([sys.executable, str(ROOT / "tools" / "run_page.py"), str(page)], capture_output=True, text=True, cwd=folder)


def languages(page):
    return [opening for opening in FENCE.findall((ROOT / page).read_text())[::2] if opening]


@pytest.mark.parametrize("page", [page for page in PAGES if "```python\n" in (ROOT / page).read_text()])
def test_outputs_are_real(page, tmp_path):
    done = run_page(ROOT / page, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_python_block_runs_or_says_that_it_does_not():
    """`python` runs; `python no-run` does not, and GitHub and the site show it alike. Any other spelling would be forgotten."""
    odd = {page: [opening for opening in languages(page) if "py" in opening.lower() and opening not in ("python", "python no-run")] for page in PAGES}
    assert not {page: openings for page, openings in odd.items() if openings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    """Those that GitHub shows; `make docs` checks the site's, with their headings."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


def test_wrong_outputs_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(re.sub(r"buffers made: forward \d+", "buffers made: forward 1", TUTORIAL.read_text()))
    done = run_page(page, tmp_path)
    assert done.returncode == 1 and "the page says" in done.stdout
    page.write_text("```python\nprint(1 / 0)\n```\n")
    done = run_page(page, tmp_path)
    assert done.returncode == 1 and 'page.md", line 2' in done.stderr


def test_set_up_that_readers_do_not_see(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- run\nx = 2\n-->\n\n```python\nprint(x + 1)\n```\n\n```text\n3\n```\n\n```python no-run\nprint(1 / 0)\n```\n")
    done = run_page(page, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
