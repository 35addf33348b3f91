// python/src/interrupt.h: Ctrl-C while kernels run, and waiting without the GIL.
#pragma once

#include <nanobind/nanobind.h>
#include <weft/error.h>

#include <utility>

namespace weft::python {

namespace nb = nanobind;

void watch_for_interrupts();      // once, when the module is imported
bool handle_interrupt();          // with the GIL: runs Python's signal handlers; true if one raised
void raise_interrupt() noexcept;  // sets what the handler raised, else KeyboardInterrupt

// Runs f, which computes, without the GIL. A run that was stopped for a signal whose handler raises nothing is run again.
template <class F>
auto without_gil(F&& f) {
    for (;;) {
        try {
            const nb::gil_scoped_release released;
            return f();
        } catch (const Interrupted&) {
            // falls through, with the GIL
        }
        if (handle_interrupt()) throw nb::python_error();
    }
}

}  // namespace weft::python
