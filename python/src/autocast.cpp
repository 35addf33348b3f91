// python/src/autocast.cpp: which functions autocast changes (PyTorch's lists for the CPU), and how.
#include "autocast.h"

#include "arguments.h"
#include "topics.h"

#include <algorithm>
#include <iterator>

namespace weft::python {

namespace {

// clang-format off
constexpr std::string_view kLower[] = {
    "_gru", "_gru_cell", "_lstm", "_lstm_cell", "_rnn", "_rnn_cell", "addbmm", "addmm", "baddbmm", "bilinear", "bmm", "chain_matmul", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "einsum", "linear", "matmul", "mm", "multi_dot",
    "multi_head_attention_forward", "prelu", "scaled_dot_product_attention", "tensordot", "vecdot",
};
constexpr std::string_view kFloat32[] = {
    "_cholesky_ex", "_eigh", "_inv_ex", "_lstsq", "_lu_factor", "_lu_factor_ex", "_qr", "_svd", "_tensorsolve", "adaptive_avg_pool3d",
    "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky", "cholesky_inverse",
    "cholesky_solve", "cond", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "eigvalsh", "grid_sample", "hinge_embedding_loss", "huber_loss",
    "inv", "inverse", "kl_div", "l1_loss", "lu_solve", "margin_ranking_loss", "matrix_rank", "max_pool3d", "max_unpool2d", "max_unpool3d",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll_loss", "pinv", "pinverse", "poisson_nll_loss", "prod",
    "quantile", "smooth_l1_loss", "soft_margin_loss", "solve", "svdvals", "tensorinv", "trace", "triplet_margin_loss",
};
constexpr std::string_view kWidest[] = {"cat", "concat", "index_copy", "stack"};
// clang-format on

template <std::size_t n>
bool has(const std::string_view (&names)[n], std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// f64 was asked for by name, and stays.
bool may_be_cast(const Tensor& tensor) { return is_float(tensor.dtype()) && tensor.dtype() != f64; }

// Calls f for each tensor of an argument, in lists and tuples too.
template <class F>
void each_tensor(PyObject* value, F f) {
    if (is_tensor(value)) return f(tensor_in(value));
    if (!PyList_Check(value) && !PyTuple_Check(value)) return;
    const Py_ssize_t size = PySequence_Size(value);
    for (Py_ssize_t i = 0; i < size; ++i) each_tensor(nb::steal(PySequence_GetItem(value, i)).ptr(), f);
}

nb::object cast(PyObject* value, DType type) {
    if (is_tensor(value)) {
        const Tensor& tensor = tensor_in(value);
        if (!may_be_cast(tensor) || tensor.dtype() == type) return nb::borrow(value);
        return nb::steal(to_python(tensor.to(type)));
    }
    if (!PyList_Check(value) && !PyTuple_Check(value)) return nb::borrow(value);
    const Py_ssize_t size = PySequence_Size(value);
    nb::object items = nb::steal(PyTuple_New(size));
    for (Py_ssize_t i = 0; i < size; ++i) {
        const nb::object item = nb::steal(PySequence_GetItem(value, i));
        PyTuple_SetItem(items.ptr(), i, cast(item.ptr(), type).release().ptr());
    }
    return items;
}

}  // namespace

Cast cast_of(std::string_view function) {
    if (has(kLower, function)) return Cast::Lower;
    if (has(kFloat32, function)) return Cast::Float32;
    return has(kWidest, function) ? Cast::Widest : Cast::None;
}

void CastArguments::replace(Cast policy, PyObject** values, std::size_t count) {
    bool on_gpu = false;
    for (std::size_t i = 0; i < count; ++i)
        each_tensor(values[i], [&](const Tensor& tensor) { on_gpu = on_gpu || tensor.device().type() == "cuda"; });
    const std::optional<DType>& wanted = on_gpu ? autocast_types.cuda : autocast_types.cpu;
    if (!wanted) return;
    DType type = policy == Cast::Float32 ? f32 : *wanted;
    if (policy == Cast::Widest)
        for (std::size_t i = 0; i < count; ++i)
            each_tensor(values[i], [&](const Tensor& tensor) {
                if (may_be_cast(tensor)) type = promote(type, tensor.dtype());
            });
    for (std::size_t i = 0; i < count; ++i) {
        bool any = false;
        each_tensor(values[i], [&](const Tensor& tensor) { any |= may_be_cast(tensor) && tensor.dtype() != type; });
        if (any) values[i] = made_.emplace_back(cast(values[i], type)).ptr();
    }
}

namespace {

std::optional<DType>& autocast_on(std::string_view device) {
    return device == "cuda" ? autocast_types.cuda : autocast_types.cpu;
}

}  // namespace

void bind_autocast(nb::module_& m) {
    function(m, "_set_autocast", "dtype, device='cpu'",
             "Sets the type that autocast uses on this thread and device, or None; returns the one before.",
             [](std::optional<DType> type, std::string_view device) {
                 const std::optional<DType> before = std::exchange(autocast_on(device), type);
                 return before ? dtype_object(*before) : nb::none();
             });
    function(m, "_autocast", "device='cpu'", "The type that autocast uses on this thread and device, or None.",
             [](std::string_view device) {
                 const std::optional<DType> type = autocast_on(device);
                 return type ? dtype_object(*type) : nb::none();
             });
}

}  // namespace weft::python
