// python/src/profile.cpp: where the user's program stands, for profiles; and the profile itself.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/profile.h>

#include <dlfcn.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

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
constinit thread_local bool is_named = false;  // the thread, to profiles

std::string text_of(PyObject* object, const char* name) {
    const nb::object value = nb::steal(PyObject_GetAttrString(object, name));
    Py_ssize_t length = 0;
    const char* const text = value.is_valid() ? PyUnicode_AsUTF8AndSize(value.ptr(), &length) : nullptr;
    if (text) return {text, static_cast<std::size_t>(length)};
    PyErr_Clear();  // a name that is no text: nobody's op fails for that
    return "?";
}

// What is on no disk (a notebook's cell, an interactive line) has a text that Python may know, and a better name: weft._profile._cell().
void find_cell(Code& code) {
    if (code.is_own || ::access(code.file.c_str(), R_OK) == 0) return;
    try {
        const nb::object cell = nb::module_::import_("weft._profile").attr("_cell")(code.file);
        code.file = nb::cast<std::string>(cell[0]);
        add_source_text(code.file, nb::cast<std::string>(cell[1]));
    } catch (const std::exception&) {
        PyErr_Clear();  // then it has neither
    }
}

const Code& code_of(PyObject* code) {
    if (const auto found = lines().codes.find(code); found != lines().codes.end()) return found->second;
    Code facts{.file = text_of(code, "co_filename"), .function = text_of(code, "co_name")};
    facts.is_own = facts.file.starts_with(lines().package) || facts.file.starts_with("<frozen");
    find_cell(facts);  // runs Python: another thread may be faster
    const auto [found, fresh] = lines().codes.try_emplace(code, std::move(facts));
    if (fresh) Py_INCREF(code);
    return found->second;
}

int number_of(PyObject* code, const Code& facts, int line) {
    const auto [found, fresh] = lines().numbers.try_emplace({code, line, current_module}, -1);
    if (fresh) found->second = add_source_line({facts.file, line, facts.function, lines().modules[current_module]});
    return found->second;
}

// Python's name of this thread is the better one.
void name_this_thread() {
    if (std::exchange(is_named, true)) return;
    try {
        const nb::object thread = nb::module_::import_("threading").attr("current_thread")();
        name_thread(text_of(thread.ptr(), "name"));
    } catch (const nb::python_error&) {
        // At the end of the program there may be none.
    }
}

// The innermost frame that is not Weft's.
int line_with_gil() {
    name_this_thread();
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

// Open on this thread.
std::vector<std::unique_ptr<NamedOp>>& named_ops() {
    thread_local std::vector<std::unique_ptr<NamedOp>> open;
    return open;
}

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

    function(m, "_enter_op", "name", "Ops of this thread are shown as one of this name, until _leave_op().",
             [](std::string_view name) { named_ops().push_back(std::make_unique<NamedOp>(name)); });
    function(m, "_leave_op", "", "The innermost one ends.", [] { named_ops().pop_back(); });

    nb::class_<Inspection>(m, "_Inspection").def(nb::init<>());
    nb::class_<Profile>(m, "_Profile")
        .def(nb::init<std::string>(), nb::call_guard<nb::gil_scoped_release>())
        .def("set_title", &Profile::set_title)
        .def("add",
             [](Profile& self, int kind, const std::string& label, std::int64_t start, std::int64_t end) {
                 name_this_thread();
                 self.add(static_cast<Profile::Event>(kind), label, start, end);
             })
        .def_static("now", &Profile::now)
        .def("stop", &Profile::stop, nb::call_guard<nb::gil_scoped_release>())
        .def("save", [](const Profile& self, const std::string& path) { without_gil([&] { self.save(path); }); })
        .def("json", [](const Profile& self) { return without_gil([&] { return self.json(); }); })
        .def("table", [](const Profile& self) { return without_gil([&] { return self.table(); }); });
}

}  // namespace weft::python
