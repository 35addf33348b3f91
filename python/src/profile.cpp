// python/src/profile.cpp: where the user's program stands, for profiles; and the profile itself.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/profile.h>

#include <dlfcn.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

namespace weft::python {

namespace {

// ---- lines -----------------------------------------------------------------------------------------------------------

// Of a code object, which is kept alive: its address is its name here.
struct Code {
    bool is_own = false;  // Weft's: the line of its caller counts
    std::string file, function;
};

// All with the GIL.
struct Lines {
    std::string package;  // "…/weft/"
    std::unordered_map<PyObject*, Code> codes;
    std::map<std::tuple<PyObject*, int, int>, int> numbers;  // code, line, module
    std::vector<std::string> modules{""};
    std::unordered_map<std::string, int> module_numbers{{"", 0}};
};
Lines& lines() {
    static Lines& instance = *new Lines;
    return instance;
}
bool recording_lines = false;
constinit thread_local int current_module = 0;
constinit thread_local int line_of_call = -1;  // of a call that computes without the GIL

std::string text_of(PyObject* object, const char* name) {
    const nb::object value = nb::steal(PyObject_GetAttrString(object, name));
    Py_ssize_t length = 0;
    const char* const text = value.is_valid() ? PyUnicode_AsUTF8AndSize(value.ptr(), &length) : nullptr;
    if (text) return {text, static_cast<std::size_t>(length)};
    PyErr_Clear();  // a name that is no text: nobody's op fails for that
    return "?";
}

const Code& code_of(PyObject* code) {
    const auto [found, fresh] = lines().codes.try_emplace(code);
    if (fresh) {
        Py_INCREF(code);
        found->second.file = text_of(code, "co_filename");
        found->second.function = text_of(code, "co_name");
        found->second.is_own =
            found->second.file.starts_with(lines().package) || found->second.file.starts_with("<frozen");
    }
    return found->second;
}

int number_of(PyObject* code, const Code& facts, int line) {
    const auto [found, fresh] = lines().numbers.try_emplace({code, line, current_module}, -1);
    if (fresh) found->second = add_source_line({facts.file, line, facts.function, lines().modules[current_module]});
    return found->second;
}

// The innermost frame that is not Weft's.
int line_with_gil() {
    nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    static PyObject* const back = PyUnicode_InternFromString("f_back");
    while (frame.is_valid() && !frame.is_none()) {
        auto* const own = reinterpret_cast<PyFrameObject*>(frame.ptr());
        const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(own)));
        const Code& facts = code_of(code.ptr());
        if (!facts.is_own) return number_of(code.ptr(), facts, PyFrame_GetLineNumber(own));
        frame = nb::steal(PyObject_GetAttr(frame.ptr(), back));
    }
    PyErr_Clear();
    return -1;
}

// PyGILState_Check() is in every CPython, but not among the names of the stable ABI: it is looked up. Without it, calls that let the GIL go still
// have their line.
bool holds_gil() {
    static const auto check = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
    return check && check();
}

int current_line() { return holds_gil() ? line_with_gil() : line_of_call; }

// NamedOp with `with`.
struct OpScope {
    std::string name;
    std::optional<NamedOp> open;
};

}  // namespace

CallLine::CallLine() : before_(line_of_call) {
    if (recording_lines) line_of_call = line_with_gil();
}
CallLine::~CallLine() { line_of_call = before_; }

void bind_profile(nb::module_& m) {
    set_source_callback(current_line);
    function(m, "_record_lines", "on, package", "Whether calls that compute note their line.",
             [](bool on, std::string_view package) {
                 recording_lines = on;
                 lines().package = package;
             });
    function(m, "_enter_module", "path", "A module's forward() begins; gives what _leave_module() takes.",
             [](std::string_view path) {
                 const auto [found, fresh] =
                     lines().module_numbers.try_emplace(std::string(path), static_cast<int>(lines().modules.size()));
                 if (fresh) lines().modules.emplace_back(path);
                 return std::int64_t(std::exchange(current_module, found->second));
             });
    function(m, "_leave_module", "before", "It has ended.", [](int before) { current_module = before; });

    nb::class_<OpScope>(m, "_NamedOp")
        .def("__init__",
             [](OpScope* self, std::string name) {
                 new (self) OpScope{std::move(name), {}};
             })
        .def("__enter__", [](OpScope& self) { self.open.emplace(self.name); })
        .def("__exit__", [](OpScope& self, nb::args) { self.open.reset(); });
    nb::class_<Inspection>(m, "_Inspection").def(nb::init<>());
    nb::class_<Profile>(m, "_Profile")
        .def(nb::init<std::string>(), nb::call_guard<nb::gil_scoped_release>())
        .def("set_title", &Profile::set_title)
        .def("add", [](Profile& self, int kind, const std::string& label, std::int64_t start,
                       std::int64_t end) { self.add(static_cast<Profile::Event>(kind), label, start, end); })
        .def_static("now", &Profile::now)
        .def("stop", &Profile::stop, nb::call_guard<nb::gil_scoped_release>())
        .def("save", [](const Profile& self, const std::string& path) { without_gil([&] { self.save(path); }); })
        .def("json", [](const Profile& self) { return without_gil([&] { return self.json(); }); })
        .def("table", [](const Profile& self) { return without_gil([&] { return self.table(); }); });
}

}  // namespace weft::python
