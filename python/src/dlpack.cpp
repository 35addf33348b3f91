// python/src/dlpack.cpp: memory shared with other tensor libraries through DLPack, both ways. The structures are those of the DLPack
// standard, version 1.0. Weft's memory is handed out read-only, which only version 1 can say; a consumer that does not ask for it
// gets a copy.
#include "arguments.h"
#include "interrupt.h"
#include "lifetime.h"
#include "topics.h"

#include <weft/creation.h>
#include <weft/shared_memory.h>

#include <memory>

namespace weft::python {

namespace {

struct Device1 {
    std::int32_t type, id;  // type 1: CPU
};
struct Type {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
struct Array {
    void* data;
    Device1 device;
    std::int32_t rank;
    Type type;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};
struct Managed {  // before version 1: "dltensor"
    Array array;
    void* context;
    void (*deleter)(Managed*);
};
struct Versioned {  // from version 1: "dltensor_versioned"
    std::uint32_t major, minor;
    void* context;
    void (*deleter)(Versioned*);
    std::uint64_t flags;  // 1: read-only, 2: a copy
    Array array;
};
constexpr std::int32_t kCpu = 1;
constexpr std::uint64_t kReadOnly = 1, kCopied = 2;
enum Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

Type type_of(DType dtype) {
    const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
    const Code code = is_bool(dtype)       ? kBool
                      : dtype == bf16      ? kBFloat
                      : is_float(dtype)    ? kFloat
                      : is_unsigned(dtype) ? kUInt
                                           : kInt;
    return {code, bits, 1};
}

std::optional<DType> dtype_in(const Type& type) {
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        const Type each = type_of(dtype);
        if (each.code == type.code && each.bits == type.bits && type.lanes == 1) return dtype;
    }
    return {};
}

// ---- out -------------------------------------------------------------------------------------------------------------

template <class M>
struct Export {
    M managed{};
    MemoryView memory;
    std::vector<std::int64_t> shape, strides;
};

template <class M>
nb::object capsule_of(const Tensor& tensor, bool is_copy, const char* name, PyCapsule_Destructor destructor) {
    auto result = std::make_unique<Export<M>>();
    result->memory = without_gil([&] { return tensor.memory(); });
    result->shape.assign(result->memory.shape.begin(), result->memory.shape.end());
    result->strides.assign(result->memory.strides.begin(), result->memory.strides.end());
    M& managed = result->managed;
    managed.array = {const_cast<void*>(result->memory.data),
                     {kCpu, 0},
                     static_cast<std::int32_t>(result->shape.size()),
                     type_of(result->memory.dtype),
                     result->shape.data(),
                     result->strides.data(),
                     0};
    managed.context = result.get();
    managed.deleter = [](M* self) { delete static_cast<Export<M>*>(self->context); };
    if constexpr (std::is_same_v<M, Versioned>) {
        managed.major = 1;
        managed.flags = is_copy ? kCopied : kReadOnly;
    }
    nb::object capsule = nb::steal(PyCapsule_New(&managed, name, destructor));
    if (!capsule.is_valid()) throw nb::python_error();
    result.release();
    return capsule;
}

// A capsule that nobody has taken over still has its name.
template <class M>
void drop(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) return;
    auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
}

nb::object exported(const Tensor& self, nb::handle max_version, std::optional<bool> copy) {
    if (self.requires_grad() && grad_enabled())
        throw GradError("__dlpack__(): the tensor requires a gradient; use detach()");
    if (self.device() != cpu)
        raise(PyExc_BufferError, "__dlpack__(): the tensor is on " + self.device().name() + "; use cpu() first");
    bool versioned = false;
    if (!max_version.is_none())
        versioned =
            to_dims(nb::steal(PySequence_Tuple(max_version.ptr())).ptr(), {"__dlpack__", "max_version"}).front() >= 1;
    if (!versioned && copy == false)
        raise(PyExc_BufferError,
              "__dlpack__(): Weft's memory is read-only, which only DLPack 1.0 can say; without a copy, ask for "
              "max_version=(1, 0)");
    const bool copies = !versioned || copy.value_or(false);
    const Tensor tensor =
        copies ? from_bytes(without_gil([&] { return self.data_ptr(); }), self.dtype(), self.shape()) : self;
    if (versioned)
        return capsule_of<Versioned>(tensor, copies, "dltensor_versioned",
                                     [](PyObject* capsule) { drop<Versioned>(capsule, "dltensor_versioned"); });
    return capsule_of<Managed>(tensor, copies, "dltensor",
                               [](PyObject* capsule) { drop<Managed>(capsule, "dltensor"); });
}

// ---- in --------------------------------------------------------------------------------------------------------------

template <class M>
std::shared_ptr<void> take_over(PyObject* capsule, const char* name, const char* used, const Array*& array) {
    auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
    if (!managed || PyCapsule_SetName(capsule, used) != 0) throw nb::python_error();
    array = &managed->array;
    return {managed, [](void* object) {
                auto* self = static_cast<M*>(object);
                if (self->deleter) put_aside([self] { self->deleter(self); });
            }};
}

Tensor imported(nb::handle source) {
    settle();
    nb::object capsule = nb::borrow(source);
    if (!PyCapsule_CheckExact(source.ptr())) {
        if (!nb::hasattr(source, "__dlpack__"))
            wrong_type({"from_dlpack", "ext_tensor"}, "an object with __dlpack__()", source.ptr());
        try {
            capsule = source.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_TypeError)) throw;
            capsule = source.attr("__dlpack__")();  // older than version 1
        }
    }
    const Array* array = nullptr;
    std::shared_ptr<void> owner;
    bool read_only = false;
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
        owner = take_over<Versioned>(capsule.ptr(), "dltensor_versioned", "used_dltensor_versioned", array);
        read_only = static_cast<const Versioned*>(owner.get())->flags & kReadOnly;
    } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor"))
        owner = take_over<Managed>(capsule.ptr(), "dltensor", "used_dltensor", array);
    else raise(PyExc_ValueError, "from_dlpack(): the capsule holds no tensor, or it was used before");
    if (array->device.type != kCpu) raise(PyExc_RuntimeError, "from_dlpack(): the tensor is not in the CPU's memory");
    const std::optional<DType> dtype = dtype_in(array->type);
    if (!dtype) raise(PyExc_TypeError, "from_dlpack(): Weft has no such element type");
    const Shape shape(array->shape, array->shape + array->rank);
    const Dims strides = array->strides ? Dims(array->strides, array->strides + array->rank) : row_major_strides(shape);
    void* const elements = static_cast<std::byte*>(array->data) + array->byte_offset;
    return (read_only ? from_memory : from_shared_memory)(elements, shape, strides, *dtype, std::move(owner));
}

}  // namespace

void bind_dlpack(nb::module_& m, nb::handle tensor) {
    method(tensor, "__dlpack__", "*, stream=None, max_version=None, dl_device=None, copy=None",
           "For other libraries' from_dlpack(). The memory is read-only. Runs the graph.",
           [](const Tensor& self, nb::handle, nb::handle max_version, nb::handle, std::optional<bool> copy) {
               return exported(self, max_version, copy);
           });
    method(tensor, "__dlpack_device__", "", "The CPU, as DLPack names it.",
           [](const Tensor&) { return nb::object(nb::make_tuple(kCpu, 0)); });
    function(m, "from_dlpack", "ext_tensor",
             "A tensor over another library's memory, which is read when the graph runs and never written.",
             [](nb::handle source) { return imported(source); });
}

}  // namespace weft::python
