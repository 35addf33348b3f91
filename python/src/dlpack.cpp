// python/src/dlpack.cpp: memory shared with other tensor libraries through DLPack, both ways. The structures are those of the DLPack
// standard, version 1.0. Weft's memory is handed out read-only, which only version 1 can say; a consumer that does not ask for it
// gets a copy. A GPU's memory is handed over in the order of streams: nobody waits but the GPU.
#include "arguments.h"
#include "interrupt.h"
#include "lifetime.h"
#include "topics.h"

#include <weft/creation.h>
#include <weft/cuda.h>
#include <weft/error.h>
#include <weft/shared_memory.h>

#include <memory>
#include <utility>

namespace weft::python {

namespace {

struct Device1 {
    std::int32_t type, id;
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
constexpr std::int32_t kCpu = 1, kCuda = 2, kPinned = 3;  // types of devices
constexpr std::int64_t kDefaultStream = 1, kNoStream = -1;
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

Device1 device_of(const Tensor& tensor) {
    const Device device = tensor.device();
    return device.type() == "cuda" ? Device1{kCuda, device.index()} : Device1{kCpu, 0};
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
    std::int64_t stream = kNoStream;  // that a GPU's memory is used in
    ~Export() {
        if (memory.device != cpu) cuda::take_back(memory.device, static_cast<std::uintptr_t>(stream));
    }
};

template <class M>
nb::object capsule_of(const Tensor& tensor, bool is_copy, std::int64_t stream, const char* name,
                      PyCapsule_Destructor destructor) {
    auto result = std::make_unique<Export<M>>();
    const std::optional<MemoryView> lent = without_gil([&] { return lend_memory(tensor); });  // NumPy may write it, too
    result->memory = lent ? *lent : without_gil([&] { return tensor.memory(); });
    result->stream = stream;
    if (tensor.device() != cpu && stream != kNoStream)
        cuda::run_before(tensor.device(), static_cast<std::uintptr_t>(stream));
    result->shape.assign(result->memory.shape.begin(), result->memory.shape.end());
    result->strides.assign(result->memory.strides.begin(), result->memory.strides.end());
    M& managed = result->managed;
    managed.array = {const_cast<void*>(result->memory.data),
                     device_of(tensor),
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

// The stream of a GPU that a consumer names: None is the default stream.
std::int64_t stream_in(nb::handle stream) {
    if (stream.is_none()) return kDefaultStream;
    const std::int64_t number = to_int(stream.ptr(), {"__dlpack__", "stream"});
    return number == 0 ? kDefaultStream : number;
}

struct Wishes {
    nb::handle stream, max_version, device;
    std::optional<bool> copy;
};

nb::object exported(Tensor self, const Wishes& wishes) {
    if (self.requires_grad() && grad_enabled())
        throw GradError("__dlpack__(): the tensor requires a gradient; use detach()");
    const auto whole = [](nb::handle pair, const char* name) {
        return to_dims(nb::steal(PySequence_Tuple(pair.ptr())).ptr(), {"__dlpack__", name}).front();
    };
    if (!wishes.device.is_none() && whole(wishes.device, "dl_device") != device_of(self).type) {
        if (whole(wishes.device, "dl_device") != kCpu || wishes.copy == false)
            raise(PyExc_BufferError, "__dlpack__(): the tensor is on " + self.device().name() + "; use to() first");
        self = self.to(cpu);
    }
    if (self.device() != cpu && self.device().type() != "cuda")
        raise(PyExc_BufferError, "__dlpack__(): the tensor is on " + self.device().name() + "; use cpu() first");
    const bool versioned = !wishes.max_version.is_none() && whole(wishes.max_version, "max_version") >= 1;
    if (!versioned && wishes.copy == false)
        raise(PyExc_BufferError,
              "__dlpack__(): Weft's memory is read-only, which only DLPack 1.0 can say; without a copy, ask for "
              "max_version=(1, 0)");
    const std::int64_t stream = self.device() == cpu ? kNoStream : stream_in(wishes.stream);
    const bool copies = !versioned || wishes.copy.value_or(false);
    const Tensor tensor = !copies                ? self
                          : self.device() == cpu ? from_bytes(without_gil([&] { return self.data_ptr(); }),
                                                              self.dtype(), self.shape(), cpu)
                                                 : without_gil([&] { return cuda::copy(self); });
    if (versioned)
        return capsule_of<Versioned>(tensor, copies, stream, "dltensor_versioned",
                                     [](PyObject* capsule) { drop<Versioned>(capsule, "dltensor_versioned"); });
    return capsule_of<Managed>(tensor, copies, stream, "dltensor",
                               [](PyObject* capsule) { drop<Managed>(capsule, "dltensor"); });
}

// What Numba, CuPy and others read without a library between them: https://numba.readthedocs.io, "CUDA Array Interface", version 3.
nb::object array_interface(const Tensor& self) {
    const std::string name = "__cuda_array_interface__: ";
    if (self.device().type() != "cuda")
        raise(PyExc_AttributeError, name + "the tensor is on " + self.device().name() + ", not on a GPU");
    if (self.dtype() == bf16)
        raise(PyExc_AttributeError, name + "there is no bfloat16 in it; use float() or from_dlpack()");
    if (self.requires_grad() && grad_enabled()) throw GradError(name + "the tensor requires a gradient; use detach()");
    const MemoryView memory = without_gil([&] { return self.memory(); });
    const auto item = static_cast<std::int64_t>(size_of(memory.dtype));
    nb::list shape, strides;
    for (const std::int64_t size : memory.shape) shape.append(size);
    for (const std::int64_t stride : memory.strides) strides.append(stride * item);
    const Type type = type_of(memory.dtype);
    const char kind = type.code == kBool ? 'b' : type.code == kUInt ? 'u' : type.code == kInt ? 'i' : 'f';
    nb::dict result;
    result["shape"] = nb::tuple(shape);
    result["strides"] = nb::tuple(strides);
    result["typestr"] = (item == 1 ? "|" : "<") + std::string(1, kind) + std::to_string(item);
    result["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(memory.data), true);  // read-only
    result["version"] = 3;
    result["stream"] = cuda::stream(self.device());
    return result;
}

// ---- in --------------------------------------------------------------------------------------------------------------

// What keeps a library's memory: it gets it back when a GPU has used it.
template <class M>
struct Import {
    M* managed;
    std::unique_ptr<cuda::Sharing> sharing;  // null: the CPU's memory
    explicit Import(M* managed) : managed(managed) {
        const Device1 device = managed->array.device;
        if (device.type == kCuda)
            sharing = std::make_unique<cuda::Sharing>(Device("cuda:" + std::to_string(device.id)));
    }
    ~Import() {
        if (!managed->deleter) return;
        std::shared_ptr<cuda::Event> used;
        try {
            if (sharing) used = std::make_shared<cuda::Event>(cuda::Event::behind_launched(sharing->device()));
        } catch (const Error&) {
            return;  // no driver answers any more: the program ends, or is a fork
        }
        put_aside([managed = managed, used] {
            try {
                if (used) used->wait();
            } catch (const Error&) {
                return;
            }
            managed->deleter(managed);
        });
    }
};

template <class M>
std::shared_ptr<void> take_over(PyObject* capsule, const char* name, const char* used, const Array*& array) {
    auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, name));
    if (!managed) throw nb::python_error();
    const std::int32_t type = managed->array.device.type;
    if (type != kCpu && type != kPinned && type != kCuda)
        raise(PyExc_RuntimeError,
              "from_dlpack(): the tensor is neither in the CPU's memory nor in that of an NVIDIA GPU");
    if (type == kCuda) check_available(Device("cuda:" + std::to_string(managed->array.device.id)));
    if (PyCapsule_SetName(capsule, used) != 0) throw nb::python_error();
    array = &managed->array;
    return std::make_shared<Import<M>>(managed);
}

[[noreturn]] void needs_a_copy(const std::string& why) {
    raise(PyExc_BufferError, "from_dlpack(): " + why + ", which needs a copy, and copy=False forbids it");
}

// A producer's capsule; of a GPU's memory it comes in the order of our stream.
nb::object capsule_from(nb::handle source, std::optional<bool> copy) {
    if (!nb::hasattr(source, "__dlpack__"))
        wrong_type({"from_dlpack", "ext_tensor"}, "an object with __dlpack__()", source.ptr());
    nb::dict wishes;
    if (nb::hasattr(source, "__dlpack_device__")) {
        const Dims device =
            to_dims(nb::steal(PySequence_Tuple(nb::object(source.attr("__dlpack_device__")()).ptr())).ptr(),
                    {"from_dlpack", "__dlpack_device__"});
        if (device.size() == 2 && device[0] == kCuda)
            wishes["stream"] = cuda::stream(to_device(nb::int_(device[1]).ptr(), {"from_dlpack", "ext_tensor"}));
    }
    const nb::object method = source.attr("__dlpack__");
    wishes["max_version"] = nb::make_tuple(1, 0);
    if (copy == false) wishes["copy"] = false;  // a copy that was asked for is made here
    try {
        return method(**wishes);
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_TypeError)) throw;
    }
    PyDict_DelItemString(wishes.ptr(), "max_version");  // older than version 1: shares its memory, or raises
    if (copy == false) PyDict_DelItemString(wishes.ptr(), "copy");
    return method(**wishes);
}

// A tensor over what a capsule holds, and whether the producer says that this is a copy.
std::pair<Tensor, bool> imported(nb::handle source, std::optional<bool> copy) {
    settle();
    const bool is_capsule = PyCapsule_CheckExact(source.ptr());
    const nb::object capsule = is_capsule ? nb::borrow(source) : capsule_from(source, copy);
    const Array* array = nullptr;
    std::shared_ptr<void> owner;
    std::uint64_t flags = 0;
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
        owner = take_over<Versioned>(capsule.ptr(), "dltensor_versioned", "used_dltensor_versioned", array);
        flags = static_cast<const Import<Versioned>*>(owner.get())->managed->flags;
    } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor"))
        owner = take_over<Managed>(capsule.ptr(), "dltensor", "used_dltensor", array);
    else raise(PyExc_ValueError, "from_dlpack(): the capsule holds no tensor, or it was used before");
    const Device device = array->device.type == kCuda ? Device("cuda:" + std::to_string(array->device.id)) : cpu;
    if (is_capsule && device != cpu) cuda::run_after(device, kDefaultStream);  // nobody has named a stream
    const std::optional<DType> dtype = dtype_in(array->type);
    if (!dtype) raise(PyExc_TypeError, "from_dlpack(): Weft has no such element type");
    const Shape shape(array->shape, array->shape + array->rank);
    const Dims strides = array->strides ? Dims(array->strides, array->strides + array->rank) : row_major_strides(shape);
    void* const elements = static_cast<std::byte*>(array->data) + array->byte_offset;
    const auto over = (flags & kReadOnly) != 0 ? from_memory : from_shared_memory;
    return {over(elements, shape, strides, *dtype, std::move(owner), device), (flags & kCopied) != 0};
}

// The array API's meaning of `device` and `copy`: none shares memory where that is possible, and copies where it is not.
Tensor imported_to(nb::handle source, const std::optional<Device>& device, std::optional<bool> copy) {
    const auto [tensor, is_copy] = imported(source, copy);
    if (copy == false && is_copy) needs_a_copy("the producer shares no memory");
    if (device && *device != tensor.device()) {
        if (copy == false) needs_a_copy("the memory is on " + tensor.device().name() + ", not on " + device->name());
        return tensor.to(*device);
    }
    return copy.value_or(false) && !is_copy ? tensor.clone() : tensor;
}

}  // namespace

void bind_dlpack(nb::module_& m, nb::handle tensor) {
    method(
        tensor, "__dlpack__", "*, stream=None, max_version=None, dl_device=None, copy=None",
        "For other libraries' from_dlpack(). The memory is read-only. Runs the graph.",
        [](const Tensor& self, nb::handle stream, nb::handle max_version, nb::handle device, std::optional<bool> copy) {
            return exported(self, {stream, max_version, device, copy});
        });
    method(tensor, "__dlpack_device__", "", "The device, as DLPack names it: (1, 0) is the CPU, (2, 0) the first GPU.",
           [](const Tensor& self) {
               const Device1 device = device_of(self);
               return nb::object(nb::make_tuple(device.type, device.id));
           });
    static PyGetSetDef interface = {
        "__cuda_array_interface__",
        [](PyObject* self, void*) { return guarded([&] { return array_interface(tensor_in(self)).release().ptr(); }); },
        nullptr, "A GPU's memory, for Numba, CuPy and others. Runs the graph.", nullptr};
    property(tensor, interface);
    function(
        m, "from_dlpack", "ext_tensor, *, device=None, copy=None",
        "A tensor over another library's memory, of the CPU or of a GPU. `copy`: True makes a copy, False never does "
        "(BufferError where one is needed), None does for another `device` only.",
        [](nb::handle source, const OnDevice& on, std::optional<bool> copy) {
            return imported_to(source, on.wanted, copy);
        });
}

}  // namespace weft::python
