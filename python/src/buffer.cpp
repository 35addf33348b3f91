// python/src/buffer.cpp: memory shared with other libraries through Python's buffer protocol, both ways and without a copy. NumPy's
// arrays speak it, so nothing here needs NumPy.
#include "buffer.h"

#include "convert.h"
#include "errors.h"
#include "interrupt.h"
#include "lifetime.h"

#include <weft/shared_memory.h>

#include <bit>
#include <memory>

namespace weft::python {

namespace {

struct Format {
    DType dtype;
    const char* code;
};
// clang-format off
constexpr Format kFormats[] = {
    {bool_, "?"}, {u8, "B"}, {u16, "H"}, {u32, "I"}, {u64, "Q"}, {i8, "b"}, {i16, "h"}, {i32, "i"}, {i64, "q"},
    {f16, "e"}, {f32, "f"}, {f64, "d"},
    {u64, "L"}, {i64, "l"},  // as NumPy writes them where long has 64 bits
};
// clang-format on
static_assert(sizeof(long) == 8 && std::endian::native == std::endian::little);

const char* format_of(DType dtype) {
    for (const Format& format : kFormats)
        if (format.dtype == dtype) return format.code;
    return nullptr;
}

std::optional<DType> dtype_in(const Py_buffer& view) {
    const char* code = view.format ? view.format : "B";
    if (*code == '<' || *code == '=' || *code == '@') ++code;
    for (const Format& format : kFormats)
        if (code[0] == format.code[0] && code[1] == 0) return format.dtype;
    return {};
}

}  // namespace

bool has_buffer(PyObject* object) { return PyObject_CheckBuffer(object) && !PyBytes_Check(object); }

Tensor tensor_from_buffer(PyObject* object, bool copy, const Site& site) {
    settle();
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object, view.get(), PyBUF_RECORDS_RO) != 0) throw nb::python_error();
    const std::shared_ptr<Py_buffer> owner(view.release(), [](Py_buffer* buffer) {
        put_aside([buffer] {
            PyBuffer_Release(buffer);
            delete buffer;
        });
    });
    const std::optional<DType> dtype = dtype_in(*owner);
    if (!dtype)
        raise(PyExc_TypeError, std::string(site.function) +
                                   "(): there is no element type for an array of the format '" +
                                   (owner->format ? owner->format : "") + "'");
    const auto item = static_cast<std::int64_t>(size_of(*dtype));
    Shape shape;
    Dims strides;
    bool whole = true;  // strides that are no multiple of the element's size need a copy
    for (int axis = 0; axis < owner->ndim; ++axis) {
        shape.push_back(owner->shape[axis]);
        const Py_ssize_t bytes = owner->strides[axis];
        whole = whole && bytes % item == 0;
        strides.push_back(bytes / item);
    }
    const bool aligned = reinterpret_cast<std::uintptr_t>(owner->buf) % static_cast<std::uintptr_t>(item) == 0;
    if (!copy && whole && aligned)
        return owner->readonly ? from_memory(owner->buf, shape, strides, *dtype, owner)
                               : from_shared_memory(owner->buf, shape, strides, *dtype, owner);
    std::vector<std::byte> dense(static_cast<std::size_t>(owner->len));
    if (PyBuffer_ToContiguous(dense.data(), owner.get(), owner->len, 'C') != 0) throw nb::python_error();
    return from_bytes(dense.data(), *dtype, shape);
}

// ---- a tensor's own memory -------------------------------------------------------------------------------------------

namespace {

struct Export {
    MemoryView memory;
    std::vector<Py_ssize_t> shape, strides;
};

}  // namespace

int export_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
    const auto refuse = [&](const char* reason) {
        PyErr_SetString(PyExc_BufferError, reason);
        view->obj = nullptr;
        return -1;
    };
    auto result = std::make_unique<Export>();
    bool writable = false;
    if (!guarded([&] {
            const Tensor tensor = tensor_in(self);
            if (tensor.device() != cpu)
                raise(PyExc_TypeError,
                      "a tensor on " + tensor.device().name() + " has no memory that NumPy can read; use cpu() first");
            const std::optional<MemoryView> lent = without_gil([&] { return lend_memory(tensor); });
            writable = lent.has_value();
            result->memory = lent ? *lent : without_gil([&] { return tensor.memory(); });
            return Py_None;
        })) {
        view->obj = nullptr;
        return -1;
    }
    const MemoryView& memory = result->memory;
    if ((flags & PyBUF_WRITABLE) && !writable)
        return refuse("elements of this tensor share their places in memory, so it is read-only; write to a copy");
    const char* format = format_of(memory.dtype);
    if (!format) return refuse("bfloat16 has no buffer format; convert with .float() first");
    const auto item = static_cast<Py_ssize_t>(size_of(memory.dtype));
    for (const std::int64_t size : memory.shape) result->shape.push_back(size);
    for (const std::int64_t stride : memory.strides) result->strides.push_back(stride * item);
    const bool dense = memory.strides == row_major_strides(memory.shape) || numel(memory.shape) <= 1;
    if (!dense && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) return refuse("the tensor is not contiguous");

    Py_INCREF(self);
    view->obj = self;
    view->buf = const_cast<void*>(memory.data);
    view->itemsize = item;
    view->len = numel(memory.shape) * item;
    view->readonly = !writable;
    view->ndim = static_cast<int>(memory.shape.size());
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = flags & PyBUF_ND ? result->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? result->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = result.release();
    return 0;
}

void release_buffer(PyObject*, Py_buffer* view) noexcept { delete static_cast<Export*>(view->internal); }

}  // namespace weft::python
