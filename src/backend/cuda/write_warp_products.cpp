// backend/cuda/write_warp_products.cpp: products by the tensor cores of a warp: mma.sync, since compute capability 8.0. A warp has 16 rows of the block's
// tile and all of its columns. ldmatrix brings four matrices of 8 rows by 16 bytes into registers; lane 8 m + r points at row r of matrix m. Slices lie as
// kernel/matrix_product.h says: the pieces of a row are swapped by its number. Sums are in the registers where wgmma would have them.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "kernel/matrix_product.h"

namespace weft::backend::cuda {

using kernel::Loop;
using kernel::MatrixProduct;

namespace {

constexpr std::int64_t kWarpRows = 16, kWarpColumns = 16;  // of one load
constexpr std::int64_t kGroupBytes =
    64 * kFactorRowBytes;  // 64 rows or columns of a factor whose memory runs across the sum

}  // namespace

// Addresses of matrices of a factor, for the lane: at `step` of the instruction's steps, and `column` of the loads beside each other.
struct Writer::Matrices {
    bool contiguous_in_k = false;
    std::string row, piece;  // where the lane's row is; which piece of it, before steps or columns are counted
    std::vector<std::string> known;
};

// Bit `first` of a lane's number is the second half of the rows, or of the columns; `second` that of the step.
Writer::Matrices Writer::matrices_of(const MatrixProduct::Operand& operand, bool is_left) {
    const auto bit = [&](int shift) {
        const std::string moved = op("r", 0, "shr.u32", std::string("%thread"), str(shift));
        return op("r", 0, "and.b32", moved, std::string("1"));
    };
    const std::string in_matrix = op("r", 0, "and.b32", std::string("%thread"), std::string("7")),
                      half = bit(is_left ? 3 : 4), step = bit(is_left ? 4 : 3);
    const Home& home = homes_[static_cast<std::size_t>(operand.local)];
    const auto size =
        static_cast<std::int64_t>(size_of(kernel_.buffers[static_cast<std::size_t>(operand.local)].dtype));
    std::string base = op("r", innermost(), "mad.lo.s32",
                          as_register(cut(value(*operand.first), innermost()), "r", innermost()), str(size), home.base);
    if (home.offset) base = op("r", innermost(), "add.s32", base, str(home.offset));
    Matrices result{.contiguous_in_k = operand.contiguous_in_k};
    std::string row = op("r", 0, "mad.lo.s32", operand.contiguous_in_k ? half : step, std::string("8"), in_matrix);
    std::string piece = operand.contiguous_in_k ? step : half;
    std::string offset;
    if (is_left) {
        const std::string warp = op("r", 0, "shr.u32", std::string("%thread"), std::string("5"));
        if (operand.contiguous_in_k) {
            row = op("r", 0, "mad.lo.s32", warp, str(kWarpRows), row);
        } else {  // four warps have a group of 64 rows
            const std::string in_group = op("r", 0, "and.b32", warp, std::string("3"));
            piece = op("r", 0, "mad.lo.s32", in_group, std::string("2"), piece);
            offset = op("r", 0, "shr.u32", warp, std::string("2"));
        }
    }
    result.piece = op("r", 0, "xor.b32", piece, in_matrix);
    std::string at = op("r", 0, "mul.lo.s32", row, str(kFactorRowBytes));
    if (!offset.empty()) at = op("r", 0, "mad.lo.s32", offset, str(kGroupBytes), at);
    result.row = op("r", innermost(), "add.s32", base, at);
    return result;
}

std::string Writer::matrix_address(Matrices& matrices, std::int64_t step, std::int64_t column) {
    const auto swapped = static_cast<std::size_t>(matrices.contiguous_in_k ? step : column % 4);
    if (matrices.known.size() <= swapped) matrices.known.resize(swapped + 1);
    std::string& known = matrices.known[swapped];
    if (known.empty()) {
        std::string piece = matrices.piece;
        if (swapped) piece = op("r", 0, "xor.b32", piece, str(2 * swapped));
        known = op("r", innermost(), "mad.lo.s32", piece, std::string("16"), matrices.row);
    }
    const std::int64_t offset = matrices.contiguous_in_k
                                    ? column * kWarpColumns * kFactorRowBytes
                                    : column / 4 * kGroupBytes + step * kWarpRows * kFactorRowBytes;
    return offset ? str("[", known, "+", offset, "]") : str("[", known, "]");
}

void Writer::write_warp_product(const Loop& loop) {
    const MatrixProduct& product = *loop.product;
    const DType t = kernel_.buffers[static_cast<std::size_t>(product.left.local)].dtype;
    const std::int64_t each = kProductStepBytes / static_cast<std::int64_t>(size_of(t)), columns = product.right.width;
    const std::string type = t == DType::BF16 ? "bf16" : t == DType::F16 ? "f16" : "tf32";
    Matrices left = matrices_of(product.left, true), right = matrices_of(product.right, false);
    const auto load = [&](Matrices& from, std::int64_t step, std::int64_t column) {
        std::vector<std::string> registers;
        for (int m = 0; m < 4; ++m) registers.push_back(fresh("r"));
        line(str("ldmatrix.sync.aligned.m8n8.x4", from.contiguous_in_k ? "" : ".trans", ".shared.b16 {", registers[0],
                 ", ", registers[1], ", ", registers[2], ", ", registers[3], "}, ",
                 matrix_address(from, step, column)));
        return registers;
    };
    for (std::int64_t step = 0; step < loop.extent() / each; ++step) {
        const std::vector<std::string> a = load(left, step, 0);
        for (std::int64_t column = 0; column < columns / kWarpColumns; ++column) {
            const std::vector<std::string> b = load(right, step, column);
            for (std::int64_t half = 0; half < 2; ++half) {
                const std::int64_t first = 2 * (2 * column + half), below = first + columns / 4;
                const std::string sums =
                    str("{", variable(product.acc, first), ", ", variable(product.acc, first + 1), ", ",
                        variable(product.acc, below), ", ", variable(product.acc, below + 1), "}");
                line(str("mma.sync.aligned.m16n8k", each, ".row.col.f32.", type, ".", type, ".f32 ", sums, ", {", a[0],
                         ", ", a[1], ", ", a[2], ", ", a[3], "}, {", b[2 * half], ", ", b[2 * half + 1], "}, ", sums));
            }
        }
    }
    forget(bit_of(product.acc));
}

}  // namespace weft::backend::cuda
