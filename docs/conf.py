"""docs/conf.py: the documentation site. `make docs` builds it into build/site; the extensions of its own are in docs/site/."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILD = Path(os.environ.get("WEFT_DOCS_BUILD", ROOT / "build" / "docs"))  # what is made on the way; the site itself goes where Sphinx is told
sys.path.insert(0, str(DOCS / "site"))

from sphinx import addnodes  # noqa: E402
from sphinx.util import logging  # noqa: E402

import weft  # noqa: E402  # PYTHONPATH says which: the reference shows what is built

project = "Weft"
author = "the authors of Weft"
project_copyright = author
version = release = weft.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe", "python_topics"]
exclude_patterns = ["site"]
nitpicky = False  # names in signatures of nanobind and of the standard library have no page
suppress_warnings = [
    "duplicate_declaration.cpp",  # templates that differ in what they require: Doxygen does not say it
    "misc.highlighting_failure",  # "…" in an example
]
default_role = "code"  # `x` in a docstring

# ---- Markdown: the pages read the same on GitHub ----
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False

# ---- Python ----
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures are PyTorch's words; stubs have the types
python_maximum_signature_line_length = 240
add_module_names = False
toc_object_entries = False  # thousands of names: they are in the search, and would double the time of the build

# ---- C++: Doxygen reads the public headers, Breathe shows them ----
breathe_projects = {"weft": str(BUILD / "doxygen" / "xml")}
breathe_default_project = "weft"
breathe_domain_by_extension = {"h": "cpp"}
cpp_maximum_signature_line_length = 110
primary_domain = None
highlight_language = "text"

# ---- HTML ----
html_theme = "furo"
html_title = "Weft"
html_static_path = ["site/static"]
html_css_files = ["weft.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
}
templates_path = []


def run_doxygen(app):
    """Writes the XML of include/weft/ below BUILD. Warnings of Doxygen are errors, as those of Sphinx are."""
    if not shutil.which("doxygen"):
        raise SystemExit("doxygen is missing; `make docs` installs it, or: apt-get install doxygen")
    out = BUILD / "doxygen"
    out.mkdir(parents=True, exist_ok=True)
    words = {"VERSION": release, "ROOT": str(ROOT), "OUT": str(out), "FILTER": f"{sys.executable} {DOCS / 'site' / 'cpp_comments.py'}"}
    text = (DOCS / "Doxyfile.in").read_text()
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    (out / "Doxyfile").write_text(text)
    done = subprocess.run(["doxygen", str(out / "Doxyfile")], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"doxygen failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")

    simplify_xml(out / "xml")


def simplify_xml(folder):
    """Doxygen's XML as Breathe shows it best: what a header declares in a namespace belongs to the header; what is private goes."""
    members = {}  # of namespaces, by header and kind
    for file in folder.glob("namespace*.xml"):
        for section in ElementTree.parse(file).iter("sectiondef"):
            for member in section.iter("memberdef"):
                member.find("name").text = member.find("qualifiedname").text
                members.setdefault(member.find("location").get("file"), {}).setdefault(section.get("kind"), []).append(member)
    places = {}
    for file in folder.glob("*.xml"):
        tree = ElementTree.parse(file)
        for compound in tree.iter("compounddef"):
            for part in [*compound.findall("innernamespace"), *compound.findall("includes")]:
                compound.remove(part)
            for section in compound.findall("sectiondef"):
                if section.get("kind").startswith("private-"):
                    compound.remove(section)
            if compound.get("kind") == "file":
                places[compound.get("id")] = place = compound.find("location").get("file")
                before = list(compound).index(compound.find("briefdescription"))
                for kind, found in reversed(members.get(place, {}).items()):
                    section = ElementTree.Element("sectiondef", kind=kind)
                    section.extend(found)
                    compound.insert(before, section)
        for value in [*tree.iter("initializer"), *tree.iter("defval"), *tree.iter("argsstring")]:  # what the parser of Breathe does not know:
            if value.text:
                value.text = re.sub(r"(?<=[{ ])\.(?=\w+ ?=)", "", value.text)  # {.a = 1}
                if value.tag == "initializer" and re.search(r"\[[^\]]*\]\s*\(", "".join(value.itertext())):  # a lambda
                    value.clear()
        tree.write(file)
    index = ElementTree.parse(folder / "index.xml")
    for compound in index.iter("compound"):  # two headers may have one name: norm.h and nn/norm.h
        if compound.get("refid") in places:
            compound.find("name").text = places[compound.get("refid")]
    index.write(folder / "index.xml")


def check_headers(app, environment):
    """A header that no page names is a warning, and so an error; those that only include others need none."""
    named = set(re.findall(r"doxygenfile:: (\S+)", "".join(page.read_text() for page in (DOCS / "reference").glob("cpp_*.rst"))))
    headers = {str(header.relative_to(ROOT / "include")) for header in (ROOT / "include" / "weft").rglob("*.h") if re.search(r"^namespace ", header.read_text(), re.M)}
    if missing := sorted(headers - named):
        logging.getLogger(__name__).warning("headers that are on no page of the reference: %s", ", ".join(missing))


def shorten_contents(app, doctree):
    """As toc_object_entries says; Breathe does not ask."""
    for signature in doctree.findall(addnodes.desc_signature):
        signature["_toc_name"], signature["_toc_parts"] = "", ()


PAGES_OF_FILES = {ROOT / "CONTRIBUTING.md": DOCS / "contributing.md", ROOT / "CHANGELOG.md": DOCS / "changes.md", ROOT / "README.md": DOCS / "index.md"}


def lead_links(app, name, source):
    """Pages link to files of the repository, as GitHub shows them. On the site some are pages, sources can be downloaded, folders are only named."""
    folder = (DOCS / name).parent

    def link(found):
        text, target, anchor = found[1], (folder / found[2]).resolve(), found[3] or ""
        if target.is_relative_to(DOCS) or not target.exists():  # Sphinx checks it
            return found[0]
        if target in PAGES_OF_FILES:
            return f"[{text}]({os.path.relpath(PAGES_OF_FILES[target], folder)}{anchor})"
        return found[0] if target.suffix in (".py", ".cpp", ".h") else f"`{text}`"

    source[0] = re.sub(r"\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)", link, source[0])


def setup(app):
    app.connect("source-read", lead_links)
    app.connect("doctree-read", shorten_contents, priority=100)  # before Sphinx collects the table of contents
    app.connect("env-updated", check_headers)
    app.connect("builder-inited", run_doxygen, priority=100)
