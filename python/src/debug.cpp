// python/src/debug.cpp: looking inside: explain(), counters, threads, memory.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/debug.h>

#include <nanobind/stl/vector.h>

namespace weft::python {

void bind_debug(nb::module_& m) {
    nb::class_<Explanation::Kernel>(m, "Kernel", "One kernel of an Explanation.")
        .def_ro("name", &Explanation::Kernel::name)
        .def_ro("ops", &Explanation::Kernel::ops)
        .def_ro("lines", &Explanation::Kernel::lines)
        .def_ro("function", &Explanation::Kernel::function)
        .def_ro("reason", &Explanation::Kernel::reason)
        .def_ro("compute", &Explanation::Kernel::compute)
        .def_ro("inside", &Explanation::Kernel::inside)
        .def_ro("stored", &Explanation::Kernel::stored)
        .def_ro("schedule", &Explanation::Kernel::schedule)
        .def_ro("loops", &Explanation::Kernel::loops)
        .def_ro("source", &Explanation::Kernel::source)
        .def_ro("reads", &Explanation::Kernel::reads)
        .def_ro("writes", &Explanation::Kernel::writes)
        .def_ro("scratch", &Explanation::Kernel::scratch)
        .def_ro("multiply_adds", &Explanation::Kernel::multiply_adds)
        .def_ro("estimate", &Explanation::Kernel::estimate)
        .def_ro("measured", &Explanation::Kernel::measured)
        .def("__repr__", [](const Explanation::Kernel& self) { return "<kernel " + self.name + ">"; });
    nb::class_<Explanation>(m, "Explanation", "What computing a tensor would do, stage by stage.")
        .def_ro("graph", &Explanation::graph)
        .def_ro("kernels", &Explanation::kernels)
        .def_ro("arena_bytes", &Explanation::arena_bytes)
        .def("text", &Explanation::text, nb::arg("stage") = "kernels")
        .def("__repr__", [](const Explanation& self) { return self.text(); });
    function(m, "_explain", "tensor", "What computing a tensor would do; weft.explain() wraps it.",
             [](const Tensor& tensor) { return nb::cast(without_gil([&] { return explain(tensor); })); });
    function(m, "_described_functions", "", "What the stubs are made from.", [] { return described_functions(); });
    function(m, "counters", "",
             "Totals since the program started, as a dict: kernels launched and compiled, bytes allocated …", [] {
                 const Counters c = counters();
                 nb::dict result;
                 const auto put = [&](const char* name, std::int64_t value) { result[name] = value; };
                 put("runs", c.runs);
                 put("plans_made", c.plans_made);
                 put("plan_cache_hits", c.plan_cache_hits);
                 put("values_kept", c.values_kept);
                 put("kernels_compiled", c.kernels_compiled);
                 put("compile_nanoseconds", c.compile_nanoseconds);
                 put("passes_refused", c.passes_refused);
                 put("donations_refused", c.donations_refused);
                 put("kernels_launched", c.kernels_launched);
                 put("contractions_launched", c.contractions_launched);
                 put("buffers_allocated", c.buffers_allocated);
                 put("fresh_allocations", c.fresh_allocations);
                 put("bytes_allocated", c.bytes_allocated);
                 put("bytes_peak", c.bytes_peak);
                 put("live_buffers", c.live_buffers);
                 put("live_nodes", c.live_nodes);
                 return nb::object(result);
             });
    function(m, "_system_info", "", "What runs the kernels here, as a dict.", [] {
        const SystemInfo info = system_info();
        nb::dict result;
        result["cpu"] = info.cpu;
        result["level"] = info.level;
        result["backend"] = info.backend;
        result["threads"] = info.threads;
        result["caches"] = nb::make_tuple(info.l1_bytes, info.l2_bytes, info.l3_bytes);
        return nb::object(result);
    });
    function(m, "set_num_threads", "num", "Runs kernels on that many threads.", [](int num) {
        if (num < 1)
            throw ValueError("set_num_threads(): argument 'num' must be at least 1, not " + std::to_string(num));
        set_threads(num);
    });
    function(m, "get_num_threads", "", "How many threads run kernels.", [] { return std::int64_t(threads()); });
    function(m, "set_debug_level", "level", "As WEFT_DEBUG: 0 to 5.", [](int level) { set_debug_level(level); });
    function(m, "trim_memory", "", "Gives memory that is kept for reuse back to the system.", [] { trim_memory(); });
    function(m, "set_memory_limit", "bytes", "What tensors may take together; 0: what the machine has.",
             [](std::int64_t bytes) { set_memory_limit(bytes); });
}

}  // namespace weft::python
