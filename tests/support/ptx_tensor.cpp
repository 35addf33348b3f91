// tests/support/ptx_tensor.cpp: tensor cores: matrices of 8 by 8 into and out of registers, products of a warp, and of a warpgroup with operands in
// shared memory. The order in which a product adds is the hardware's own: here it is that of k, in f32.
#include "support/ptx_arithmetic.h"
#include "support/ptx_decode.h"

#include "core/str.h"

#include <array>
#include <cstring>

namespace weft::testing::ptx {
namespace {

// A value, and whether it is there.
struct Cell {
    float value = 0;
    Poison poison = 0;
};

enum Element : std::uint8_t { kBfloat, kHalf, kTf32 };

float decoded(int element, std::uint32_t bits) {
    if (element == kTf32) return std::bit_cast<float>(bits & ~0x1fffu);  // the lower bits are dropped
    return element == kBfloat ? from_bfloat(static_cast<std::uint16_t>(bits))
                              : from_half(static_cast<std::uint16_t>(bits));
}

Element take_element(Decoder& d) {
    const std::size_t which = d.take_index({"bf16", "f16", "tf32"});
    if (!d.take(std::array{"bf16", "f16", "tf32"}[which])) d.fail("has operands of two types");
    return static_cast<Element>(which);
}

std::vector<std::uint32_t> slots_of(Decoder& d, std::size_t operand, std::size_t count, Type type, bool writes) {
    const Operand& vector = d.operand(operand);
    if (vector.kind != Operand::Vector || vector.parts.size() != count) d.fail(str("needs ", count, " registers"));
    std::vector<std::uint32_t> slots;
    for (const Operand& part : vector.parts) slots.push_back(writes ? d.write(part, type) : d.read(part, type));
    return slots;
}

const Instruction* meet_warp(Thread& t, const Instruction& i) {
    if (t.block->lanes_there(t.warp()) != ~0u) t.block->fault(t, i, "needs all 32 lanes of the warp");
    return t.block->meet(t, i, ~0u);
}

// ---- matrices of 8 by 8 ----------------------------------------------------------------------------------------------

constexpr std::uint8_t kTransposed = 1;

// Row r of matrix m is where lane 8 m + r says. A lane holds two neighbours of a row, or of a column.
void load_matrices(Block& block, const Instruction& i, int warp, std::uint32_t) {
    std::uint16_t values[4][8][8];
    Poison poison[4][8][8];
    for (int lane = 0; lane < 8 * i.how; ++lane) {
        const Thread& t = block.thread(warp, lane);
        block.need(t, i, t.p[i.a], "an address");
        const auto from = block.place(t, i, Space::Shared, t.r[i.a] + static_cast<std::uint64_t>(i.offset), 16, false);
        block.touch(t, i, from, 16, Touch::Read);
        std::memcpy(values[lane / 8][lane % 8], from.data, 16);
        for (int c = 0; c < 8; ++c) poison[lane / 8][lane % 8][c] = from.poison[2 * c] | from.poison[2 * c + 1];
    }
    const std::uint32_t* const to = &block.code().lists[i.list];
    for (int lane = 0; lane < 32; ++lane) {
        Thread& t = block.thread(warp, lane);
        for (int m = 0; m < i.how; ++m) {
            const int row = lane / 4, column = lane % 4 * 2;
            const auto at = [&](auto& cells, int k) {
                return i.flags & kTransposed ? cells[m][column + k][row] : cells[m][row][column + k];
            };
            t.r[to[m]] = at(values, 0) | static_cast<std::uint32_t>(at(values, 1)) << 16;
            t.p[to[m]] = at(poison, 0) | at(poison, 1);
        }
    }
}

void store_matrices(Block& block, const Instruction& i, int warp, std::uint32_t) {
    std::uint16_t values[4][8][8];
    Poison poison[4][8][8];
    const std::uint32_t* const from = &block.code().lists[i.list];
    for (int lane = 0; lane < 32; ++lane) {
        const Thread& t = block.thread(warp, lane);
        for (int m = 0; m < i.how; ++m)
            for (int k = 0; k < 2; ++k) {
                const int row = lane / 4, column = lane % 4 * 2 + k;
                const bool transposed = i.flags & kTransposed;
                values[m][transposed ? column : row][transposed ? row : column] =
                    static_cast<std::uint16_t>(t.r[from[m]] >> (16 * k));
                poison[m][transposed ? column : row][transposed ? row : column] = t.p[from[m]];
            }
    }
    for (int lane = 0; lane < 8 * i.how; ++lane) {
        const Thread& t = block.thread(warp, lane);
        block.need(t, i, t.p[i.a], "an address");
        const auto to = block.place(t, i, Space::Shared, t.r[i.a] + static_cast<std::uint64_t>(i.offset), 16, true);
        block.touch(t, i, to, 16, Touch::Write);
        std::memcpy(to.data, values[lane / 8][lane % 8], 16);
        for (int c = 0; c < 8; ++c) to.poison[2 * c] = to.poison[2 * c + 1] = poison[lane / 8][lane % 8][c];
    }
}

template <bool kLoad>
void decode_matrices(Decoder& d) {
    Instruction& out = d.out();
    if (!d.take("sync") || !d.take("aligned") || !d.take("m8n8")) d.fail("is .sync.aligned.m8n8");
    out.how = static_cast<std::uint8_t>(1 << d.take_index({"x1", "x2", "x4"}));
    out.flags = d.take("trans") ? kTransposed : 0;
    if (d.take_space() != Space::Shared || d.take_type() != Type{'b', 16}) d.fail("is .shared.b16");
    d.expect_operands(2);
    d.address(kLoad ? 1 : 0);
    out.list = d.add_list(slots_of(d, kLoad ? 0 : 1, out.how, {'b', 32}, kLoad));
    out.collective = kLoad ? load_matrices : store_matrices;
    out.run = meet_warp;
}

// ---- products of a warp ----------------------------------------------------------------------------------------------

// Lane l holds of A: rows l/4 and l/4 + 8; of B: column l/4; of C and D: those rows, two columns.
void multiply(Block& block, const Instruction& i, int warp, std::uint32_t) {
    const bool wide = i.how == kTf32;
    const int k_count = wide ? 8 : 16, per = wide ? 1 : 2;  // elements of a register
    Cell a[16][16], b[16][8], c[16][8];
    const std::uint32_t* const slots = &block.code().lists[i.list];  // d, a, b, c
    const auto put = [&](Cell& cell, const Thread& t, std::uint32_t slot, int part) {
        const auto bits = static_cast<std::uint32_t>(t.r[slot]) >> (wide ? 0 : 16 * part);
        cell = {decoded(i.how, bits), t.p[slot]};
    };
    for (int lane = 0; lane < 32; ++lane) {
        const Thread& t = block.thread(warp, lane);
        const int group = lane / 4, in_group = lane % 4;
        for (int r = 0; r < 4; ++r)
            for (int part = 0; part < per; ++part)
                put(a[group + r % 2 * 8][in_group * per + part + r / 2 * (k_count / 2)], t, slots[4 + r], part);
        for (int r = 0; r < 2; ++r)
            for (int part = 0; part < per; ++part)
                put(b[in_group * per + part + r * (k_count / 2)][group], t, slots[8 + r], part);
        for (int r = 0; r < 4; ++r)
            c[group + r / 2 * 8][in_group * 2 + r % 2] = {from_slot<float>(t.r[slots[10 + r]]), t.p[slots[10 + r]]};
    }
    for (auto m = 0; m < 16; ++m)
        for (auto n = 0; n < 8; ++n)
            for (int k = 0; k < k_count; ++k) {
                c[m][n].value = std::fma(a[m][k].value, b[k][n].value, c[m][n].value);
                c[m][n].poison |= a[m][k].poison | b[k][n].poison;
            }
    for (int lane = 0; lane < 32; ++lane) {
        Thread& t = block.thread(warp, lane);
        for (int r = 0; r < 4; ++r) {
            const Cell& cell = c[lane / 4 + r / 2 * 8][lane % 4 * 2 + r % 2];
            t.r[slots[r]] = to_slot<float>(cell.value);
            t.p[slots[r]] = cell.poison;
        }
    }
}

void decode_mma(Decoder& d) {
    Instruction& out = d.out();
    if (!d.take("sync") || !d.take("aligned") || !d.take("row") || !d.take("col")) d.fail("is .sync.aligned, .row.col");
    const std::string_view shape = d.take_one({"m16n8k16", "m16n8k8"});
    if (d.take_type() != Type{'f', 32}) d.fail("adds in f32");
    out.how = take_element(d);
    if (d.take_type() != Type{'f', 32} || (shape == "m16n8k8") != (out.how == kTf32))
        d.fail("is not known in this form");
    d.expect_operands(4);
    std::vector<std::uint32_t> all = slots_of(d, 0, 4, {'f', 32}, true);
    for (const auto& [operand, count, type] :
         {std::tuple{1, 4, Type{'b', 32}}, {2, 2, Type{'b', 32}}, {3, 4, Type{'f', 32}}}) {
        const auto more = slots_of(d, static_cast<std::size_t>(operand), static_cast<std::size_t>(count), type, false);
        all.insert(all.end(), more.begin(), more.end());
    }
    out.list = d.add_list(all);
    out.mode = Mode::Keep;
    out.collective = multiply;
    out.run = meet_warp;
}

// ---- products of a warpgroup -----------------------------------------------------------------------------------------

constexpr std::uint8_t kTransposedB = 2;

struct Descriptor {
    std::uint64_t address = 0, leading = 0, stride = 0;  // in bytes
    std::uint32_t swizzle = 0;
    explicit Descriptor(std::uint64_t bits)
        : address((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4) {
        static constexpr std::uint32_t kSwizzles[] = {0, 128, 64, 32};
        swizzle = kSwizzles[bits >> 62];
    }
    // Element k of a row or column: along k it is contiguous; or, transposed, along the other axis, in pieces of as many as a swizzle has.
    std::uint64_t at(int row, int k, std::uint32_t bytes, bool transposed) const {
        const auto r = static_cast<std::uint64_t>(row), c = static_cast<std::uint64_t>(k);
        if (swizzle == 0) {  // pieces of eight times 16 bytes
            const std::uint64_t wide = 16 / bytes;
            return address + (transposed ? r / wide * stride + c / 8 * leading + c % 8 * 16 + r % wide * bytes
                                         : r / 8 * stride + r % 8 * 16 + c / wide * leading + c % wide * bytes);
        }
        const std::uint64_t piece = swizzle / bytes;
        const std::uint64_t offset = transposed
                                         ? r / piece * leading + c / 8 * stride + c % 8 * swizzle + r % piece * bytes
                                         : r / 8 * stride + r % 8 * swizzle + c * bytes;
        return swizzled(address + offset, swizzle);
    }
};

Cell element_at(Block& block, const Toucher& who, const Instruction& i, const Descriptor& from, int row, int k,
                bool transposed) {
    const std::uint32_t bytes = i.how == kTf32 ? 4 : 2;
    const Thread& thread = block.thread(who.me);
    const std::uint64_t address = from.at(row, k, bytes, transposed);
    const auto place = block.place(thread, i, Space::Shared, address, bytes, false);
    block.touch_as(who, i, place, bytes, Touch::Read);
    std::uint32_t bits = 0;
    std::memcpy(&bits, place.data, bytes);
    return {decoded(i.how, bits), static_cast<Poison>(place.poison[0] | place.poison[bytes - 1])};
}

}  // namespace

void Async::multiply(int group, const Product& product) {
    const Instruction& at = *product.at;
    const std::uint32_t* const slots = &block_.code().lists[at.list];
    for (int t = 0; t < 128; ++t) {
        Thread& thread = block_.thread(static_cast<std::size_t>(group * 128 + t));
        for (std::uint32_t r = 0; r < at.c; ++r)
            thread.p[slots[r]] = (product.adds ? thread.p[slots[r]] : 0) | kPendingProduct;
    }
    products_[static_cast<std::size_t>(group)].open.push_back(product);
}

void Async::commit_products(int group) {
    auto& [open, committed] = products_[static_cast<std::size_t>(group)];
    committed.push_back(std::move(open));
    open.clear();
}

void Async::wait_products(int group, std::size_t keep, const Instruction& at) {
    auto& [open, committed] = products_[static_cast<std::size_t>(group)];
    if (!open.empty())
        block_.fault(block_.thread(static_cast<std::size_t>(group * 128)), at, "there is a product that no group has");
    while (committed.size() > keep) {
        const std::vector<Product> now = std::move(committed.front());
        committed.erase(committed.begin());
        for (std::size_t p = 0; p < now.size(); ++p) {
            const auto same = [&](const Product& other) {
                return block_.code().lists[other.at->list] == block_.code().lists[now[p].at->list];
            };
            bool last = true;  // of those that add to its registers
            for (std::size_t q = p + 1; q < now.size(); ++q) last = last && !same(now[q]);
            for (const auto& later : committed)
                for (const Product& other : later) last = last && !same(other);
            finish_product(group, now[p], last);
        }
    }
}

// D is 64 by n: warp w has rows 16 w and on, in registers as mma.sync has them, 8 columns after the other.
void Async::finish_product(int group, const Product& product, bool last) {
    const Instruction& at = *product.at;
    Clocks& clocks = block_.clocks();
    const auto first = static_cast<std::size_t>(group * 128);
    const std::size_t agent = block_.agent(kProducts + static_cast<std::size_t>(group));
    const Toucher who{first, agent, clocks.tick(agent)};
    const Descriptor a(product.a), b(product.b);
    const int n_count = static_cast<int>(at.c) * 2, k_count = at.how == kTf32 ? 8 : 16;
    std::vector<Cell> left(static_cast<std::size_t>(64 * k_count)), right(static_cast<std::size_t>(n_count * k_count));
    for (int row = 0; row < 64; ++row)
        for (int k = 0; k < k_count; ++k)
            left[static_cast<std::size_t>(row * k_count + k)] =
                element_at(block_, who, at, a, row, k, at.flags & kTransposed);
    for (int column = 0; column < n_count; ++column)
        for (int k = 0; k < k_count; ++k)
            right[static_cast<std::size_t>(column * k_count + k)] =
                element_at(block_, who, at, b, column, k, at.flags & kTransposedB);
    const std::uint32_t* const slots = &block_.code().lists[at.list];
    for (int t = 0; t < 128; ++t) {
        Thread& thread = block_.thread(first + static_cast<std::size_t>(t));
        for (std::uint32_t r = 0; r < at.c; ++r) {
            const int row = t / 32 * 16 + t % 32 / 4 + static_cast<int>(r) % 4 / 2 * 8;
            const int column = static_cast<int>(r) / 4 * 8 + t % 4 * 2 + static_cast<int>(r) % 2;
            const std::uint32_t slot = slots[r];
            if (!(thread.p[slot] & kPendingProduct))
                block_.fault(thread, at, "a register of the product was written before it was waited for");
            Cell sum;
            if (product.adds)
                sum = {from_slot<float>(thread.r[slot]), static_cast<Poison>(thread.p[slot] & ~kPendingProduct)};
            for (int k = 0; k < k_count; ++k) {
                const Cell &x = left[static_cast<std::size_t>(row * k_count + k)],
                           &y = right[static_cast<std::size_t>(column * k_count + k)];
                sum.value = std::fma(x.value, y.value, sum.value);
                sum.poison |= x.poison | y.poison;
            }
            thread.r[slot] = to_slot<float>(sum.value);
            thread.p[slot] = static_cast<Poison>(sum.poison | (last ? 0 : kPendingProduct));
        }
    }
    // Who has waited knows that the operands were read.
    for (std::size_t t = first; t < first + 128; ++t) clocks.acquire(t, clocks.joined(nullptr, agent, who.time));
}

namespace {

const Instruction* meet_warpgroup(Thread& t, const Instruction& i) { return t.block->meet_group(t, i); }

void start_product(Block& block, const Instruction& i, int group, std::uint32_t) {
    const Thread& first = block.thread(static_cast<std::size_t>(group * 128));
    Product product{.at = &i};
    for (int t = 0; t < 128; ++t) {
        const Thread& thread = block.thread(static_cast<std::size_t>(group * 128 + t));
        block.need(thread, i, thread.p[i.a] | thread.p[i.b] | thread.p[i.d], "a descriptor");
        if (thread.r[i.a] != first.r[i.a] || thread.r[i.b] != first.r[i.b] || thread.r[i.d] != first.r[i.d])
            block.fault(thread, i, "threads of a warpgroup have different operands");
    }
    product.a = first.r[i.a];
    product.b = first.r[i.b];
    product.adds = first.r[i.d] != 0;
    if (!block.async().fenced(group)) block.fault(first, i, "there is no wgmma.fence before it");
    // The operands are read later; what was written to them must be fenced off now.
    const int k_count = i.how == kTf32 ? 8 : 16;
    const std::uint32_t bytes = i.how == kTf32 ? 4 : 2;
    for (int row = 0; row < 64; ++row)
        for (int k = 0; k < k_count; ++k)
            block.async().need_fence(first, i, Descriptor(product.a).at(row, k, bytes, i.flags & kTransposed), bytes);
    for (int row = 0; row < static_cast<int>(i.c) * 2; ++row)
        for (int k = 0; k < k_count; ++k)
            block.async().need_fence(first, i, Descriptor(product.b).at(row, k, bytes, i.flags & kTransposedB), bytes);
    block.async().multiply(group, product);
}
void fence_products(Block& block, const Instruction&, int group, std::uint32_t) { block.async().fenced(group) = true; }
void commit_products(Block& block, const Instruction&, int group, std::uint32_t) {
    block.async().commit_products(group);
}
void wait_products(Block& block, const Instruction& i, int group, std::uint32_t) {
    block.async().wait_products(group, static_cast<std::size_t>(i.offset), i);
    block.async().fenced(group) = false;
}

// m64n256k16
int columns_of(Decoder& d, bool wide) {
    for (int n = 8; n <= 256; n += 8)
        if (d.take(str("m64n", n, wide ? "k8" : "k16"))) return n;
    d.fail("has another shape");
}

void decode_wgmma(Decoder& d) {
    Instruction& out = d.out();
    const std::string_view what = d.take_one({"fence", "commit_group", "wait_group", "mma_async"});
    if (!d.take("sync") || !d.take("aligned")) d.fail("is .sync.aligned");
    out.run = meet_warpgroup;
    if (what == "fence" || what == "commit_group") {
        d.expect_operands(0);
        out.collective = what == "fence" ? fence_products : commit_products;
        return;
    }
    if (what == "wait_group") {
        d.expect_operands(1);
        out.offset = d.number(0);
        out.mode = Mode::Keep;
        out.collective = wait_products;
        return;
    }
    if (d.take_type() != Type{'f', 32}) d.fail("adds in f32");
    out.how = take_element(d);
    const int n = columns_of(d, out.how == kTf32);
    d.expect_operands(out.how == kTf32 ? 6 : 8);
    out.list = d.add_list(slots_of(d, 0, static_cast<std::size_t>(n / 2), {'f', 32}, true));
    out.c = static_cast<std::uint32_t>(n / 2);
    out.a = d.read(1, {'b', 64});
    out.b = d.read(2, {'b', 64});
    out.d = d.operand(3).kind == Operand::Integer ? d.constant(d.operand(3).bits) : d.read(3, {'p', 1});
    if (d.number(4) != 1 || d.number(5) != 1) d.fail("operands are not negated here");
    if (out.how != kTf32)
        out.flags = static_cast<std::uint8_t>((d.number(6) ? kTransposed : 0) | (d.number(7) ? kTransposedB : 0));
    out.collective = start_product;
}

}  // namespace

std::span<const Family> tensor_instructions() {
    static constexpr Family kTable[] = {
        {"ldmatrix", decode_matrices<true>},
        {"stmatrix", decode_matrices<false>},
        {"mma", decode_mma},
        {"wgmma", decode_wgmma},
    };
    return kTable;
}

}  // namespace weft::testing::ptx
