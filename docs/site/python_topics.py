"""docs/site/python_topics.py: two directives for the Python reference, so that no page has a list of names that somebody must keep.

    .. weft-topic:: reduction sorting       the functions of `weft` that these topics bind: python/src/reduction*.cpp, sorting*.cpp
    .. weft-module:: weft.nn                what a module of the package has; `:members:` names classes whose methods are shown

A function of `weft` that is on no page is a warning, and so an error of the build.
"""

import importlib
import inspect
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import weft

SOURCES = Path(__file__).resolve().parents[2] / "python" / "src"
NO_TOPICS = {"arguments", "autocast", "convert", "out"}  # name functions of other files
BOUND = re.compile(r'(?:\bm, (?:\w+, )?|\{)"(\w+)"')
# Functions that are written in Python, by their module.
WRITTEN = {
    "weft": "tensor", "weft._copies": "copies", "weft._functions": "creation", "weft._legacy": "tensor", "weft._statistics": "dtype",
    "weft.array_api": "standard", "weft.array_api._info": "standard", "weft.array_api._sets": "standard", "weft.linalg": "linalg",
    "weft.serialization": "files", "weft._random": "random", "weft._modes": "autograd", "weft._jit": "jit", "weft._profile": "debug",
}  # fmt: skip
OTHERS = {"describe_api": "debug", "search_api": "debug"}
logger = logging.getLogger(__name__)


def functions():
    """The public functions of `weft`, and the topic of each."""
    names = {name for name in dir(weft) if not name.startswith("_") and inspect.isroutine(getattr(weft, name))}
    topics = {name: topic for name, topic in OTHERS.items() if name in names}
    for source in sorted(SOURCES.glob("*.cpp")):
        for name in BOUND.findall(source.read_text()) if source.stem not in NO_TOPICS else ():
            if name in names:
                topics.setdefault(name, source.stem.partition("_")[0])
    for name in names - topics.keys():
        value = getattr(weft, name)
        topics[name] = topics.get(value.__name__) or WRITTEN.get(value.__module__)  # another name of a function, or one in Python
    return topics


def note(environment, name):
    environment.weft_shown.setdefault(environment.docname, set()).add(name)


def shown(environment):
    """What is on some page, those of earlier builds included."""
    return set().union(*environment.weft_shown.values())


def parse(directive, lines):
    node = nodes.Element()
    directive.state.nested_parse(StringList(lines, source="python_topics"), directive.content_offset, node, match_titles=True)
    return node.children


class Topic(SphinxDirective):
    required_arguments, final_argument_whitespace = 1, True

    def run(self):
        wanted, topics, lines = self.arguments[0].split(), functions(), []
        self.env.note_dependency(weft._weft.__file__)
        unused = [topic for topic in wanted if topic not in topics.values()]
        if unused:
            logger.warning("no function has the topic %s", ", ".join(unused), location=self.get_location())
        for name in sorted(name for name, topic in topics.items() if topic in wanted):
            note(self.env, name)
            lines += [f".. autofunction:: weft.{name}", ""]
        return parse(self, lines)


class Module(SphinxDirective):
    required_arguments = 1
    option_spec = {"members": directives.unchanged, "without": directives.unchanged}

    def run(self):
        name = self.arguments[0]
        module = importlib.import_module(name)
        detailed, without = (self.options.get(option, "").split() for option in ("members", "without"))
        lines = [f".. py:module:: {name}", "", *inspect.getdoc(module).splitlines(), ""]
        for each in getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]:
            value = getattr(module, each)
            if each in without or not str(getattr(value, "__module__", "")).startswith("weft"):
                continue
            if inspect.isclass(value):
                full = f"{value.__module__}.{value.__qualname__}"
                if value is getattr(weft, each, None) or full in shown(self.env):  # has its place elsewhere
                    continue
                note(self.env, full)
                lines += [f".. autoclass:: {name}.{each}", *["   :members:"] * (each in detailed or "*" in detailed), ""]
            elif inspect.isroutine(value):
                lines += [f".. autofunction:: {name}.{each}", ""]
        return parse(self, lines)


def forget(app, environment, page):
    environment.weft_shown = {key: names for key, names in getattr(environment, "weft_shown", {}).items() if key != page}


def check(app, environment):
    missing = sorted(functions().keys() - shown(environment))
    if missing:
        logger.warning("functions of weft that are on no page of the reference: %s", ", ".join(missing))


def as_rst(app, what, name, obj, options, lines):
    """Docstrings are plain text with `code`: what reStructuredText would take for its own marks is escaped."""
    for i, line in enumerate(lines):
        if re.match(r"\s*(>>>|\.\.\s)", line):
            continue
        parts = re.split(r"(``[^`]*``|`[^`]*`)", line)
        lines[i] = "".join(part if part.startswith("`") else re.sub(r"(?<!\\)([*_|])(?=\w|\*|$)|(?<=\w)([_*])(?=\W|$)", lambda m: "\\" + m[0], part) for part in parts)


def setup(app):
    app.add_directive("weft-topic", Topic)
    app.add_directive("weft-module", Module)
    app.connect("env-purge-doc", forget)
    app.connect("env-updated", check)
    app.connect("autodoc-process-docstring", as_rst)
    return {"parallel_read_safe": False}
