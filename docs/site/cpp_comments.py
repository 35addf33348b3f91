#!/usr/bin/env python3
"""docs/site/cpp_comments.py HEADER: prints a header of Weft with its plain comments marked for Doxygen.

The comment on top describes the file. A comment before declarations describes each of them, up to a blank line; one behind a declaration describes
that one. Lines of dashes and what is inside of functions are left out.
"""

import re
import sys
from pathlib import Path

IGNORED = re.compile(r"\s*-{3,}| clang-format| NOLINT| namespace")
NO_DECLARATION = ("#", "}", "public:", "private:", "protected:", "namespace")
FUNCTION = re.compile(r"(?!\s*(?:struct|class|enum|namespace)\b).*\)[^;=]*\{\s*$")  # its body follows


def split_comment(line):
    """(code, comment or None) of a line; a // inside a string is code."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', lambda text: "_" * len(text[0]), line)
    at = outside.find("//")
    return (line, None) if at < 0 else (line[:at].rstrip(), line[at + 2 :].rstrip())


def plain(text):
    """Text in which Doxygen sees no command and no tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([@\\#<>])", r"\\\1", part) for part in parts)


def doxygen(comment, more=None):
    """Lines of a comment, without their slashes, as one for Doxygen; deeper lines are examples, but for those of a list. `more` is another paragraph."""
    out, code, listed = [], False, False
    for text in comment:
        deep = text.startswith("   ")
        listed = bool(re.match(r"\s*(-|\d\.) ", text)) or listed and deep
        if (deep and not listed) != code and text.strip():
            code = not code
            out.append("@verbatim" if code else "@endverbatim")
        out.append(re.sub(r"^ {2,5}", "", text) if code else plain(text[1:]))
    out += ["@endverbatim"] * code + ([] if more is None else ["", plain(more)])
    return ["/**", *out, "*/"]


def titled(comment):
    """The comment on top without the name of the file, which the page has."""
    first = re.sub(r"^ [\w/.]+: (.)", lambda start: " " + start[1].upper(), comment[0]) if comment else ""
    return [first, *comment[1:]]


def convert(source):
    lines = source.splitlines()
    opening = next((i for i, line in enumerate(lines) if not line.startswith("//")), 0)
    out = doxygen(["", *titled([line[2:] for line in lines[:opening]])])
    out.insert(1, "@file")
    comment, of_depth, growing = [], 0, False  # of this paragraph: it describes each of its declarations
    braces, parentheses, function, begins = 0, 0, None, True  # function: the depth of the one whose body this is; begins: a declaration
    for line in lines[opening:]:
        code, note = split_comment(line)
        if not code.strip():
            if note is None:
                comment = []
                out.append("")
            elif function is None and not IGNORED.match(note):
                comment = [*comment, note] if growing else [note]
                of_depth, growing = braces, True
            continue
        growing = False
        if re.fullmatch(r"\s*(friend|class|struct) \w+;", code):  # only a name: nothing to read, and its comment would go to the next one
            continue
        described = begins and function is None and not code.lstrip().startswith(NO_DECLARATION) and comment and braces == of_depth
        opened = function is None and bool(FUNCTION.match(code))
        if opened:
            function = braces
        braces += code.count("{") - code.count("}")
        parentheses += code.count("(") - code.count(")")
        ends = parentheses == 0 and (code.endswith((";", ",", "}")) or bool(re.fullmatch(r"\s+\w+", code)))  # the last one of an enum
        own = note.strip() if note is not None and not IGNORED.match(note) and ends and (function is None or opened) else None
        if described:
            out += [*doxygen(comment, own), code]
        else:
            out.append(code if own is None else f"{code}  ///< {plain(own)}")
        if function is not None and braces <= function:
            function = None
        begins = ends or parentheses == 0 and code.endswith(("{", ":")) or code.lstrip().startswith("#")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(convert(Path(sys.argv[1]).read_text()))
