// python/src/products.cpp: sums of products: matrices, vectors, einsum, and products with something added.
#include "arguments.h"
#include "topics.h"

#include <weft/products.h>

namespace weft::python {

namespace {

// The letter of a number in einsum's form with lists.
char letter_of(std::int64_t label) {
    if (label < 0 || label >= 52)
        throw ValueError("einsum(): a label must be from 0 to 51, not " + std::to_string(label));
    return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26);
}

std::string letters_of(nb::handle list) {
    std::string text;
    for (nb::handle item : list)
        text += item.is(nb::ellipsis()) ? "..." : std::string(1, letter_of(to_int(item.ptr(), {"einsum", "operands"})));
    return text;
}

// einsum("ij,jk", a, b), einsum("ij,jk", [a, b]) and einsum(a, [0, 1], b, [1, 2], [0, 2]).
Tensor einsum_of(nb::handle arguments) {
    const nb::tuple given = nb::cast<nb::tuple>(arguments);
    if (given.size() == 0) raise(PyExc_ValueError, "einsum(): an equation or operands are needed");
    if (nb::isinstance<nb::str>(given[0])) {
        const auto rest = nb::steal<nb::tuple>(PyTuple_GetSlice(given.ptr(), 1, PY_SSIZE_T_MAX));
        nb::object operands = rest;
        if (rest.size() == 1 && !is_tensor(nb::object(rest[0]).ptr())) operands = rest[0];
        return einsum(to_text(nb::object(given[0]).ptr(), {"einsum", "equation"}),
                      Converter<std::vector<Tensor>>(operands.ptr(), {"einsum", "operands"}).get());
    }
    std::string equation;
    std::vector<Tensor> operands;
    std::size_t i = 0;
    for (; i + 1 < given.size(); i += 2) {
        operands.push_back(Converter<Tensor>(nb::object(given[i]).ptr(), {"einsum", "operands"}).get());
        equation += (i ? "," : "") + letters_of(given[i + 1]);
    }
    if (i < given.size()) equation += "->" + letters_of(given[i]);
    return einsum(equation, operands);
}

using Added = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ScaleOptions&);
template <Added added>
void bind_added(nb::module_& m, nb::handle t, const char* name, const char* parameters, const char* doc) {
    const std::string all = std::string(parameters) + ", *, beta=1, alpha=1";
    both(m, t, name, all.c_str(), doc,
         [](const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
             return added(x, a, b, {.beta = beta, .alpha = alpha});
         });
    const std::string in_place = std::string(name) + "_";
    method(t, in_place.c_str(), all.c_str(), "The same, written into the tensor.",
           [](nb::handle self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
               Tensor& x = *nb::inst_ptr<Tensor>(self);
               const Tensor result = added(x, a, b, {.beta = beta, .alpha = alpha});
               if (!(result.shape() == x.shape()))
                   throw ShapeError("the result does not have the shape of the tensor that it is written into");
               x.assign(result);
               return nb::borrow(self);
           });
}

void bind_linear(nb::module_& f) {
    function(
        f, "linear", "input, weight, bias=None", "x times weight transposed, plus bias.",
        [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias) { return linear(x, weight, bias.tensor); });
    function(f, "bilinear", "input1, input2, weight, bias=None", "x1ᵀ W x2 + bias for each W of the weight.",
             [](const Tensor& a, const Tensor& b, const Tensor& weight, const MaybeTensor& bias) {
                 return bilinear(a, b, weight, bias.tensor);
             });
}

}  // namespace

void bind_products(nb::module_& m, nb::module_& f, nb::handle t) {
    function(m, "_set_tf32_products", "on", "Whether factors of matrices on a GPU are rounded to tf32.",
             [](bool on) { set_tf32_products(on); });
    function(m, "_tf32_products", "", "What _set_tf32_products() was given.", [] { return tf32_products(); });
    both(m, t, "matmul", "other", "The matrix product of the last two axes; the axes before them broadcast.",
         [](const Tensor& a, const Tensor& b) { return matmul(a, b); });
    both(m, t, "dot", "tensor", "The product of two 1-d tensors.",
         [](const Tensor& a, const Tensor& b) { return dot(a, b); });
    both(m, t, "outer", "vec2", "All products of two 1-d tensors.",
         [](const Tensor& a, const Tensor& b) { return outer(a, b); });
    bind_linear(f);
    both(m, t, "mm", "mat2", "The product of two matrices.", [](const Tensor& a, const Tensor& b) { return mm(a, b); });
    both(m, t, "bmm", "mat2", "The products of two batches of matrices.",
         [](const Tensor& a, const Tensor& b) { return bmm(a, b); });
    both(m, t, "mv", "vec", "A matrix times a vector.", [](const Tensor& a, const Tensor& b) { return mv(a, b); });
    both(m, t, "vdot", "other", "The product of two 1-d tensors.",
         [](const Tensor& a, const Tensor& b) { return vdot(a, b); });
    both(m, t, "inner", "other", "Sums of products along the last axis of both.",
         [](const Tensor& a, const Tensor& b) { return inner(a, b); });
    function(m, "vecdot", "x, y, *, dim=-1", "The sum of products along one axis, of tensors that broadcast.",
             [](const Tensor& a, const Tensor& b, int dim) { return vecdot(a, b, dim); });
    function(
        m, "tensordot", "a, b, dims=2",
        "Sums of products over pairs of axes: a number (the last of `a` with the first of `b`), or a list for each.",
        [](const Tensor& a, const Tensor& b, nb::handle dims) {
            if (PyLong_Check(dims.ptr())) return tensordot(a, b, to_int(dims.ptr(), {"tensordot", "dims"}));
            if (!PySequence_Check(dims.ptr()) || PySequence_Size(dims.ptr()) != 2)
                raise(PyExc_TypeError, "tensordot(): argument 'dims' must be an int or two lists of ints");
            const nb::object left = nb::steal(PySequence_GetItem(dims.ptr(), 0)),
                             right = nb::steal(PySequence_GetItem(dims.ptr(), 1));
            return tensordot(a, b, to_dims(left.ptr(), {"tensordot", "dims"}),
                             to_dims(right.ptr(), {"tensordot", "dims"}));
        });
    function(
        m, "einsum", "*args",
        "Einstein's sum: einsum('bij,bjk->bik', a, b), or with lists of numbers, einsum(a, [0, 1], b, [1, 2], [0, 2]).",
        [](nb::handle arguments) { return einsum_of(arguments); });
    both(m, t, "cross", "other, dim=None", "The vector product along an axis of size 3; without `dim` the first one.",
         [](const Tensor& a, const Tensor& b, std::optional<int> dim) { return cross(a, b, dim); });
    both(m, t, "trace", "", "The sum of the diagonal of a matrix.", [](const Tensor& x) { return trace(x); });
    bind_added<addmm>(m, t, "addmm", "mat1, mat2", "beta * input + alpha * (mat1 @ mat2).");
    bind_added<addmv>(m, t, "addmv", "mat, vec", "beta * input + alpha * (mat @ vec).");
    bind_added<addr>(m, t, "addr", "vec1, vec2", "beta * input + alpha * outer(vec1, vec2).");
    bind_added<baddbmm>(m, t, "baddbmm", "batch1, batch2", "beta * input + alpha * (batch1 @ batch2).");
    bind_added<addbmm>(m, t, "addbmm", "batch1, batch2",
                       "beta * input + alpha * (batch1 @ batch2), summed over the batch.");
}

}  // namespace weft::python
