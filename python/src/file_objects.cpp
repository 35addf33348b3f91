// python/src/file_objects.cpp: the objects of a file become Python's, and Python's become those of a file. Equal references stay equal: an
// object that is at two places is one object.
#include "convert.h"
#include "files.h"

#include <unordered_map>

namespace weft::python {

namespace {

using io::Kind;
using io::Object;
using io::Objects;
using io::Ref;

// Counts Python's own limit of nested calls, so that deep objects raise RecursionError.
class Nested {
public:
    Nested() {
        if (Py_EnterRecursiveCall(" in a file of objects") != 0) throw nb::python_error();
    }
    ~Nested() { Py_LeaveRecursiveCall(); }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
};

nb::object stolen(PyObject* object) {
    if (!object) throw nb::python_error();
    return nb::steal(object);
}

void check(int result) {
    if (result != 0) throw nb::python_error();
}

// ---- from a file -----------------------------------------------------------------------------------------------------

class Maker {
public:
    Maker(const Objects& objects, nb::handle maker)
        : objects_(objects), maker_(maker), made_(objects.all.size()), open_(objects.all.size()) {}

    nb::object make(Ref ref) {
        if (made_[ref].is_valid()) return made_[ref];
        const Nested nested;
        if (open_[ref]) raise(PyExc_ValueError, "a tuple or a call contains itself");
        open_[ref] = true;
        nb::object result = make_new(ref);
        made_[ref] = result;
        return result;
    }

private:
    nb::object make_new(Ref ref) {
        const Object& object = objects_[ref];
        switch (object.kind) {
            case Kind::None: return nb::none();
            case Kind::Bool: return stolen(PyBool_FromLong(object.integer != 0));
            case Kind::Int: return stolen(PyLong_FromLongLong(object.integer));
            case Kind::BigInt: return big(object.text);
            case Kind::Float: return stolen(PyFloat_FromDouble(object.number));
            case Kind::Text:
                return stolen(
                    PyUnicode_FromStringAndSize(object.text.data(), static_cast<Py_ssize_t>(object.text.size())));
            case Kind::Bytes:
                return stolen(
                    PyBytes_FromStringAndSize(object.text.data(), static_cast<Py_ssize_t>(object.text.size())));
            case Kind::List: {
                const nb::object list = made_[ref] =
                    stolen(PyList_New(0));  // known before its elements, which may hold it
                for (const Ref item : object.items) check(PyList_Append(list.ptr(), make(item).ptr()));
                return list;
            }
            case Kind::Dict: {
                const nb::object dict = made_[ref] = stolen(PyDict_New());
                members(dict, object.items);
                return dict;
            }
            case Kind::Tuple: return tuple(object.items);
            case Kind::Set:
            case Kind::FrozenSet: {
                const nb::object items = tuple(object.items);
                return stolen(object.kind == Kind::Set ? PySet_New(items.ptr()) : PyFrozenSet_New(items.ptr()));
            }
            case Kind::Tensor: {
                const nb::object tensor = maker_.attr("placed")(stolen(to_python(object.tensor)), object.text);
                return object.parameter ? maker_.attr("parameter")(tensor) : tensor;
            }
            case Kind::Global: {
                const std::size_t end = object.text.find('\n');
                return maker_.attr("find")(object.text.substr(0, end), object.text.substr(end + 1));
            }
            case Kind::Call: return call(ref, object);
        }
        return nb::none();
    }

    nb::object big(const std::string& digits) const {
        const nb::object bytes =
            stolen(PyBytes_FromStringAndSize(digits.data(), static_cast<Py_ssize_t>(digits.size())));
        const nb::handle type(reinterpret_cast<PyObject*>(&PyLong_Type));
        return type.attr("from_bytes")(bytes, "little", nb::arg("signed") = true);
    }

    nb::object tuple(const std::vector<Ref>& items) {
        nb::object result = stolen(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
        for (std::size_t i = 0; i < items.size(); ++i)
            check(PyTuple_SetItem(result.ptr(), static_cast<Py_ssize_t>(i), make(items[i]).release().ptr()));
        return result;
    }

    void members(const nb::object& dict, const std::vector<Ref>& items) {
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            const nb::object key = make(items[i]), value = make(items[i + 1]);
            check(PyObject_SetItem(dict.ptr(), key.ptr(), value.ptr()));
        }
    }

    nb::object call(Ref ref, const Object& object) {
        const nb::object callee = make(object.items[0]), arguments = make(object.items[1]);
        const nb::object names = object.items.size() > 2 ? make(object.items[2]) : nb::none();
        const nb::object result = made_[ref] = maker_.attr("call")(callee, arguments, names, object.makes);
        if (!object.changes) return result;
        const io::Changes& changes = *object.changes;
        for (const Ref item : changes.appended) maker_.attr("append")(result, make(item));
        members(result, changes.members);
        for (const Ref state : changes.states) maker_.attr("set_state")(callee, result, make(state));
        return result;
    }

    const Objects& objects_;
    nb::handle maker_;
    std::vector<nb::object> made_;
    std::vector<bool> open_;
};

// ---- to a file -------------------------------------------------------------------------------------------------------

class Taker {
public:
    explicit Taker(nb::handle taker) : taker_(taker) {}

    Objects take(nb::handle root) {
        const Ref ref = add(root.ptr());
        objects_.root = ref;
        return std::move(objects_);
    }

private:
    Ref add(PyObject* object) {
        if (const auto known = known_.find(object); known != known_.end()) return known->second;
        const Nested nested;
        kept_.push_back(nb::borrow(object));
        if (auto plain = simple(object)) return known_[object] = objects_.add(std::move(*plain));
        if (PyTuple_CheckExact(object)) {
            std::vector<Ref> items = elements(object);
            if (const auto known = known_.find(object); known != known_.end())
                return known->second;  // one of them held it
            return known_[object] = objects_.add({.kind = Kind::Tuple, .items = std::move(items)});
        }
        if (PyList_CheckExact(object)) {
            const Ref ref = known_[object] = objects_.add({.kind = Kind::List});
            std::vector<Ref> items = elements(object);
            objects_[ref].items = std::move(items);
            return ref;
        }
        if (PyDict_CheckExact(object)) {
            const Ref ref = known_[object] = objects_.add({.kind = Kind::Dict});
            std::vector<Ref> items = members(nb::handle(object).attr("items")());
            objects_[ref].items = std::move(items);
            return ref;
        }
        return other(object);
    }

    std::optional<Object> simple(PyObject* object) {
        if (object == Py_None) return Object{};
        if (PyBool_Check(object)) return Object{.kind = Kind::Bool, .integer = object == Py_True};
        if (PyLong_CheckExact(object)) return integer(object);
        if (PyFloat_CheckExact(object)) return Object{.kind = Kind::Float, .number = PyFloat_AsDouble(object)};
        if (PyUnicode_CheckExact(object)) {
            Py_ssize_t size = 0;
            const char* text = PyUnicode_AsUTF8AndSize(object, &size);
            if (!text) throw nb::python_error();
            return Object{.kind = Kind::Text, .text = std::string(text, static_cast<std::size_t>(size))};
        }
        if (PyBytes_CheckExact(object)) {
            char* bytes = nullptr;
            Py_ssize_t size = 0;
            check(PyBytes_AsStringAndSize(object, &bytes, &size));
            return Object{.kind = Kind::Bytes, .text = std::string(bytes, static_cast<std::size_t>(size))};
        }
        if (Py_TYPE(object) == tensor_type) return Object{.kind = Kind::Tensor, .tensor = tensor_in(object)};
        return {};
    }

    Object integer(PyObject* object) const {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) return {.kind = Kind::Int, .integer = value};
        const auto bits = nb::cast<std::size_t>(nb::object(nb::handle(object).attr("bit_length")()));
        const nb::object bytes = nb::handle(object).attr("to_bytes")(bits / 8 + 1, "little", nb::arg("signed") = true);
        return {.kind = Kind::BigInt, .text = std::string(PyBytes_AsString(bytes.ptr()), bits / 8 + 1)};
    }

    std::vector<Ref> elements(nb::handle iterable) {
        std::vector<Ref> refs;
        for (const nb::handle item : iterable) refs.push_back(add(item.ptr()));
        return refs;
    }
    std::vector<Ref> members(nb::handle pairs) {
        std::vector<Ref> refs;
        for (const nb::handle pair : pairs) {
            const nb::object key = nb::object(pair[0]), value = nb::object(pair[1]);
            refs.push_back(add(key.ptr()));
            refs.push_back(add(value.ptr()));
        }
        return refs;
    }

    // What the taker knows: a global ("module\nname"), a parameter, or the parts of a call.
    Ref other(PyObject* object) {
        const nb::object parts = taker_.attr("take")(nb::handle(object));
        if (PyUnicode_Check(parts.ptr()))
            return known_[object] = objects_.add({.kind = Kind::Global, .text = nb::cast<std::string>(parts)});
        if (parts.is_none())
            return known_[object] =
                       objects_.add({.kind = Kind::Tensor, .parameter = true, .tensor = tensor_in(object)});
        kept_.push_back(parts);
        const nb::object callee = parts[0], arguments = parts[1], state = parts[2], listed = parts[3],
                         mapped = parts[4];
        std::vector<Ref> items = {add(callee.ptr()), add(arguments.ptr())};
        const Ref ref = known_[object] = objects_.add(
            {.kind = Kind::Call, .makes = nb::cast<bool>(nb::object(parts[5])), .items = std::move(items)});
        io::Changes changes;
        if (!listed.is_none()) changes.appended = elements(listed);
        if (!mapped.is_none()) changes.members = members(mapped);
        if (!state.is_none()) changes.states.push_back(add(state.ptr()));
        objects_[ref].change() = std::move(changes);
        return ref;
    }

    nb::handle taker_;
    Objects objects_;
    std::unordered_map<PyObject*, Ref> known_;
    std::vector<nb::object> kept_;  // so that no other object gets the place of one in memory
};

}  // namespace

nb::object python_object(const Objects& objects, nb::handle maker) { return Maker(objects, maker).make(objects.root); }

Objects plain_objects(nb::handle object, nb::handle taker) { return Taker(taker).take(object); }

}  // namespace weft::python
