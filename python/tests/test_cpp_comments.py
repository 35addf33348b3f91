"""docs/site/cpp_comments.py: plain comments of a header, as Doxygen wants them."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HEADER = '''// weft/small.h: what it is.
//
//     an(example);
#pragma once

namespace weft {

class Later;  // not seen
// ---- a line of dashes ----

// Both of them.
int first(int a,  // inside
          int b);
int second();  // and more

struct Options {
    bool wide = false;  // how wide
    const char* url = "http://x";
};
enum class Kind {
    One,  // the first
    Two   // the last
};
inline int f() {
    // inside of a function
    return 1;  // nothing
}

}  // namespace weft
'''

EXPECTED = '''/**
@file

What it is.

@verbatim
an(example);
@endverbatim
*/
#pragma once

namespace weft {


/**
Both of them.
*/
int first(int a,
          int b);
/**
Both of them.

and more
*/
int second();

struct Options {
    bool wide = false;  ///< how wide
    const char* url = "http://x";
};
enum class Kind {
    One,  ///< the first
    Two  ///< the last
};
inline int f() {
    return 1;
}

}
'''


def test_comments():
    spec = importlib.util.spec_from_file_location("weft_cpp_comments", ROOT / "docs/site/cpp_comments.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.convert(HEADER) == EXPECTED
