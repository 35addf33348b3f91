// python/src/lifetime.h: letting go of Python's memory from any thread.
#pragma once

#include <functional>

namespace weft::python {

// The last reference to foreign memory may end on any thread and under Weft's locks, where nobody may wait for the GIL or run Python
// code. So what lets go of it is put aside, and called with the GIL: by Python's main thread when it next looks, or by settle().
void put_aside(std::function<void()> let_go);
void settle();  // with the GIL

}  // namespace weft::python
