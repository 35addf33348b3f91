// backend/cuda/write_products.cpp: products by tensor cores: wgmma, of compute capability 9.0. Four warps compute 64 rows; both factors are read from
// shared memory. A product is under way while threads go on: at the end of their loop they wait for the one before it, and who uses the sums for all.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "kernel/matrix_product.h"

#include <algorithm>

namespace weft::backend::cuda {

using kernel::Loop;
using kernel::LoopKind;
using kernel::MatrixProduct;
using kernel::Stmt;

namespace {

constexpr std::int64_t kRows = 64;  // of one instruction

bool has_product(const kernel::Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) { return stmt.loop() && stmt.loop()->product; });
}

}  // namespace

// Where a factor lies, as the instruction wants it: address and distances in units of 16 bytes, and that rows of 128 bytes are swizzled. Along the
// sum there is one row; else there are groups of eight rows (along the sum), and of 64 columns.
std::string Writer::matrix_descriptor(const MatrixProduct::Operand& operand, bool is_left) {
    const Home& home = homes_[static_cast<std::size_t>(operand.local)];
    const Value first = value(*operand.first);
    const std::string size = str(size_of(kernel_.buffers[static_cast<std::size_t>(operand.local)].dtype));
    std::string at =
        op("r", innermost(), "mad.lo.s32", as_register(cut(first, innermost()), "r", innermost()), size, home.base);
    if (home.offset) at = op("r", innermost(), "add.s32", at, str(home.offset));
    if (is_left && threads_ > kWarpgroup) {
        const std::string group = op("r", innermost(), "div.u32", std::string("%thread"), str(kWarpgroup));
        at = op("r", innermost(), "mad.lo.s32", group, str(kRows * kFactorRowBytes), at);
    }
    at = op("r", innermost(), "shr.u32", at, "4");
    constexpr std::uint64_t kSwizzled = std::uint64_t{1} << 62, kGroupOfRows = kFactorRowBytes * kernel::kPiece / 16,
                            kGroupOfColumns = kFactorRowBytes * kernel::kSliceSteps / 16;
    const std::uint64_t shape = kSwizzled | kGroupOfRows << 32 | (operand.contiguous_in_k ? 1 : kGroupOfColumns) << 16;
    return op("l", innermost(), "add.s64", op("l", innermost(), "cvt.u64.u32", at), str(shape));
}

void Writer::write_product(const Loop& loop) {
    const MatrixProduct& product = *loop.product;
    const std::int64_t depth = loop.extent(), columns = product.right.width;
    const DType t = kernel_.buffers[static_cast<std::size_t>(product.left.local)].dtype;
    const std::string type = t == DType::BF16 ? "bf16" : t == DType::F16 ? "f16" : "tf32";
    const std::int64_t each = kProductStepBytes / static_cast<std::int64_t>(size_of(t));  // steps of an instruction
    std::string sums;  // element (i, j) of a thread is number j / 2 * 4 + i * 2 + j % 2 of the instruction
    for (std::int64_t q = 0; q < columns / 2; ++q)
        sums += str(q ? ", " : "", variable(product.acc, q / 2 % 2 * (columns / 4) + q / 4 * 2 + q % 2));
    const std::string left = matrix_descriptor(product.left, true), right = matrix_descriptor(product.right, false),
                      yes = fresh("p");
    line(str("setp.eq.u32 ", yes, ", 0, 0"));
    line("wgmma.fence.sync.aligned");
    for (std::int64_t step = 0; step < depth; step += each) {
        const auto moved = [&](const std::string& descriptor, const MatrixProduct::Operand& operand) {
            const std::int64_t bytes =
                operand.contiguous_in_k ? step / each * kProductStepBytes : step * kFactorRowBytes;
            return step ? op("l", innermost(), "add.s64", descriptor, str(bytes / 16)) : descriptor;
        };
        const std::string a = moved(left, product.left), b = moved(right, product.right);
        std::string transposed;  // of tf32 there is only one way
        if (is_half(t))
            for (const auto* operand : {&product.left, &product.right})
                transposed += operand->contiguous_in_k ? ", 0" : ", 1";
        line(str("wgmma.mma_async.sync.aligned.m64n", columns, "k", each, ".f32.", type, ".", type, " {", sums, "}, ",
                 a, ", ", b, ", ", yes, ", 1, 1", transposed));
    }
    line("wgmma.commit_group.sync.aligned");
    products_ = true;
    forget(bit_of(product.acc));
}

// What threads have stored in shared memory is there for tensor cores, too; what they have added is there for threads.
void Writer::wait_for_products(const kernel::Body& body) {
    if (pipeline_ || by_warps()) return;  // it has waited, or is never ahead
    if (has_product(body)) return line("fence.proxy.async.shared::cta");
    const auto uses = [&](const auto& self, const kernel::Body& statements) -> bool {
        return std::ranges::any_of(statements, [&](const Stmt& stmt) {
            if (stmt.loop()) return self(self, stmt.loop()->body);
            return stmt.store() && std::ranges::any_of(sums_, [&](int b) {
                       return (placement_.facts(*stmt.store()->value).buffers & bit_of(b)) != 0;
                   });
        });
    };
    if (uses(uses, body)) line("wgmma.wait_group.sync.aligned 0");
}

}  // namespace weft::backend::cuda
