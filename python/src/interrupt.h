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

// Ops that are called without the GIL are shown at the line of the call that let it go.
class CallLine {
public:
    CallLine();
    ~CallLine();
    CallLine(const CallLine&) = delete;
    CallLine& operator=(const CallLine&) = delete;

private:
    const int before_;
};

// Runs f, which computes, without the GIL. A run that was stopped for a signal whose handler raises nothing is run again.
template <class F>
auto without_gil(F&& f) {
    const CallLine line;
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
