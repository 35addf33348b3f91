// kernel/matrix_product.cpp: see matrix_product.h.
#include "kernel/matrix_product.h"

#include "ir/symbolic.h"

namespace weft::kernel {
namespace {

using ir::Op;

class Indices {
public:
    explicit Indices(const Kernel& kernel) : kernel_(kernel) {}
    NodeRef simplified(const NodeRef& index) const { return ir::simplify_index(*kernel_.interner, index); }
    NodeRef times(const NodeRef& a, std::int64_t by) const { return simplified(kernel_.mul(a, kernel_.index(by))); }
    NodeRef plus(const NodeRef& a, const NodeRef& b) const { return simplified(kernel_.add(a, b)); }
    NodeRef plus(const NodeRef& a, std::int64_t b) const { return plus(a, kernel_.index(b)); }
    NodeRef quotient(const NodeRef& a, std::int64_t by) const {
        return simplified(kernel_.binary(Op::IDiv, a, kernel_.index(by)));
    }
    NodeRef remainder(const NodeRef& a, std::int64_t by) const {
        return simplified(kernel_.binary(Op::Mod, a, kernel_.index(by)));
    }

private:
    const Kernel& kernel_;
};

}  // namespace

NodeRef place_in_slice(const Kernel& kernel, const MatrixProduct::Operand& operand, const NodeRef& at,
                       const NodeRef& step) {
    const Indices k(kernel);
    const std::int64_t each = operand.piece, size = row_size(operand);
    // Element `inside` of a row.
    const auto in_row = [&](const NodeRef& row, const NodeRef& inside) {
        const NodeRef piece = kernel.binary(Op::Xor, k.quotient(inside, each), k.remainder(row, kPieces));
        return k.plus(k.plus(k.times(row, size), k.times(piece, each)), k.remainder(inside, each));
    };
    if (operand.contiguous_in_k) return in_row(at, step);
    return k.plus(k.times(k.quotient(at, size), size * size), in_row(step, k.remainder(at, size)));
}

NodeRef tensor_row(const Kernel& kernel, const NodeRef& y, std::int64_t i) {
    const Indices k(kernel);
    return k.plus(k.plus(k.times(k.quotient(y, kPiece), 2 * kPiece), k.remainder(y, kPiece)), i * kPiece);
}

NodeRef tensor_column(const Kernel& kernel, const NodeRef& x, std::int64_t j) {
    const Indices k(kernel);
    return k.plus(k.times(x, 2), j / 2 * kPiece + j % 2);
}

Body steps_of(const Kernel& kernel, const MatrixProduct& product, const NodeRef& step) {
    const Indices k(kernel);
    const Buffer& acc = kernel.buffers[static_cast<std::size_t>(product.acc)];
    const std::int64_t columns = acc.size / 2;
    const auto factor = [&](const MatrixProduct::Operand& operand, const NodeRef& at) {
        const NodeRef place = k.plus(operand.first, place_in_slice(kernel, operand, at, step));
        return kernel.cast(kernel.load(operand.local, place), acc.dtype);
    };
    Body body;
    for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            const NodeRef e = kernel.index(i * columns + j);
            const NodeRef a = factor(product.left, tensor_row(kernel, product.y, i)),
                          b = factor(product.right, tensor_column(kernel, product.x, j));
            body.emplace_back(Store{product.acc, e, kernel.fma(a, b, kernel.load(product.acc, e))});
        }
    return body;
}

}  // namespace weft::kernel
