// kernel/block_tiles.cpp: see block_tiles.h.
#include "kernel/block_tiles.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"
#include "kernel/block_loops.h"
#include "kernel/nest.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace weft::kernel {

using ir::Op;

namespace {

constexpr std::int64_t kMostBlocks = 65535;  // along the second and third axis of blocks
constexpr std::int64_t kRasterRows =
    8;  // tiles below each other whose blocks follow each other: they share columns in the cache
constexpr std::int64_t kPad = 4;  // elements between rows of sums in shared memory: they begin in other banks

}  // namespace

std::vector<NodeRef> of_side(const ContractionNest& nest, LoopRole side) {
    std::vector<NodeRef> vars;
    for (std::size_t v = 0; v < nest.rows.size(); ++v)
        if (nest.sides[v] == side) vars.push_back(nest.rows[v]);
    return vars;
}

BlockTiles::BlockTiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile)
    : kernel_(kernel),
      nest_(nest),
      tile_(tile),
      m_(of_side(nest, LoopRole::M)),
      n_(of_side(nest, LoopRole::N)),
      batch_(of_side(nest, LoopRole::Batch)),
      row_(kernel.new_var(product(m_))),
      column_(kernel.new_var(product(n_))) {
    Substitution with = counted(kernel_, m_, row_);
    const Substitution columns = counted(kernel_, n_, column_);
    with.insert(with.end(), columns.begin(), columns.end());
    epilogue_ = substitute(kernel_, nest_.epilogue, with);
}

Stmt BlockTiles::operator()() {
    const std::vector<NodeRef> blocks = place();
    Body body = sums();
    append(body, tile_.epilogue_in_registers ? epilogue_in_registers() : epilogue_in_memory());
    for (std::size_t b = blocks.size(); b-- > 0;)
        body = Body{Loop{blocks[b], LoopKind::Block, std::move(body), true, nullptr}};
    return std::move(body[0]);
}

// ---- helpers ---------------------------------------------------------------------------------------------------------

int BlockTiles::local(std::string name, DType dtype, std::int64_t size, Buffer::MemoryType memory) {
    const int made = kernel_.new_local(std::move(name), dtype, size);
    kernel_.buffers.back().memory = memory;
    return made;
}

int BlockTiles::per_thread(std::string name) {
    const int made = registers(std::move(name), nest_.accumulate, tile_.thread_rows * tile_.thread_columns);
    kernel_.buffers.back().per_thread = true;
    return made;
}

NodeRef BlockTiles::simplified(const NodeRef& index) const { return ir::simplify_index(*kernel_.interner, index); }
NodeRef BlockTiles::times(const NodeRef& a, std::int64_t by) const {
    return simplified(kernel_.mul(a, kernel_.index(by)));
}
NodeRef BlockTiles::plus(const NodeRef& a, const NodeRef& b) const { return simplified(kernel_.add(a, b)); }
NodeRef BlockTiles::minus(const NodeRef& a, const NodeRef& b) const {
    return simplified(kernel_.binary(Op::Sub, a, b));
}
NodeRef BlockTiles::quotient(const NodeRef& a, std::int64_t by) const {
    return simplified(kernel_.binary(Op::IDiv, a, kernel_.index(by)));
}
NodeRef BlockTiles::remainder(const NodeRef& a, std::int64_t by) const {
    return simplified(kernel_.binary(Op::Mod, a, kernel_.index(by)));
}
NodeRef BlockTiles::least(const NodeRef& a, const NodeRef& b) const {
    return simplified(kernel_.binary(Op::Min, a, b));
}
Store BlockTiles::zero(int local, std::int64_t e) const {
    return {local, kernel_.index(e), kernel_.constant(nest_.accumulate, 0)};
}

std::int64_t BlockTiles::down() const { return ceil_div(product(m_), tile_.rows); }
std::int64_t BlockTiles::across() const { return ceil_div(product(n_), tile_.columns); }

Stmt BlockTiles::threads(const std::function<Body(const NodeRef&, const NodeRef&)>& body) {
    const NodeRef y = kernel_.new_var(high_), x = kernel_.new_var(wide_);
    Body inner{Loop{x, LoopKind::Thread, body(y, x), true, nullptr}};
    return Loop{y, LoopKind::Thread, std::move(inner), true, nullptr};
}
Body BlockTiles::each_element(const std::function<Store(std::int64_t)>& store) const {
    Body body;
    for (std::int64_t e = 0; e < tile_.thread_rows * tile_.thread_columns; ++e) body.emplace_back(store(e));
    return body;
}

// The loops over blocks, outermost first, and which tile of the output each one has. Blocks that follow each other go down some rows of
// tiles, then to the next column.
std::vector<NodeRef> BlockTiles::place() {
    const std::int64_t groups = product(batch_) * down() / kRasterRows;
    NodeRef batch, row, column;
    std::vector<NodeRef> blocks;
    if (down() % kRasterRows == 0 && groups <= kMostBlocks && across() <= kMostBlocks) {
        blocks = {kernel_.new_var(groups), kernel_.new_var(across()), kernel_.new_var(kRasterRows)};
        batch = quotient(blocks[0], down() / kRasterRows);
        row = plus(times(remainder(blocks[0], down() / kRasterRows), kRasterRows), blocks[2]);
        column = blocks[1];
    } else if (product(batch_) > 1 && product(batch_) <= kMostBlocks && down() <= kMostBlocks) {
        blocks = {kernel_.new_var(product(batch_)), kernel_.new_var(down()), kernel_.new_var(across())};
        batch = blocks[0];
        row = blocks[1];
        column = blocks[2];
    } else {
        blocks = {kernel_.new_var(product(batch_) * down() * across())};
        const NodeRef tile = remainder(blocks[0], down() * across());
        batch = quotient(blocks[0], down() * across());
        row = quotient(tile, across());
        column = remainder(tile, across());
    }
    const Substitution with = counted(kernel_, batch_, batch);
    with_.insert(with_.end(), with.begin(), with.end());
    first_row_ = times(row, tile_.rows);
    first_column_ = times(column, tile_.columns);
    return blocks;
}

// ---- the sum ---------------------------------------------------------------------------------------------------------

std::int64_t BlockTiles::steps_of_block() const { return product(nest_.inner); }
std::int64_t BlockTiles::slices_of_block() const { return ceil_div(steps_of_block(), tile_.depth); }

// The block of the sum that slice s is in, and the first step in it.
Substitution BlockTiles::of_block(const NodeRef& s) const {
    Substitution with = with_;
    const Substitution outer = counted(kernel_, nest_.outer, quotient(s, slices_of_block()));
    with.insert(with.end(), outer.begin(), outer.end());
    return with;
}
NodeRef BlockTiles::first_step(const NodeRef& s) const { return times(remainder(s, slices_of_block()), tile_.depth); }

// Steps of the block of the sum: all, or fewer in the last one.
NodeRef BlockTiles::limit(const Substitution& with) const {
    if (!nest_.inner_count) return kernel_.index(steps_of_block());
    const std::int64_t first = extent_of(nest_.inner[0]);
    const NodeRef count = substitute(kernel_, nest_.inner_count, with);
    return times(kernel_.binary(Op::Min, kernel_.index(first), count), steps_of_block() / first);
}
bool BlockTiles::is_even() const {
    return !nest_.inner_count && steps_of_block() % tile_.depth == 0;
}  // all slices are full

std::int64_t BlockTiles::all_slices() const { return slices_of_block() * product(nest_.outer); }

// Does memory run along the sum, and not along the side?
bool BlockTiles::is_contiguous_in_k(const NodeRef& factor, const std::vector<NodeRef>& side) const {
    Uses uses;
    collect_uses(factor, uses);
    for (const NodeRef& load : uses.loads) {
        const auto along = ir::stride_of(*kernel_.interner, load->sources[0], id_of(nest_.inner.back()));
        const auto across = ir::stride_of(*kernel_.interner, load->sources[0], id_of(side.back()));
        if (across && *across == 1) return false;
        if (along && *along == 1) return true;
    }
    return false;
}

bool BlockTiles::are_neighbours(const NodeRef& factor, const std::vector<NodeRef>& counters, std::int64_t count) const {
    if (product(counters) % count) return false;
    const NodeRef group =
        kernel_.make(Op::LoopVar, DType::I64, {}, ir::LoopArg{kernel_.next_var, product(counters) / count});
    Uses uses;
    collect_uses(factor, uses);
    const auto at = [&](const NodeRef& index, std::int64_t z) {
        return simplified(substitute(kernel_, index, counted(kernel_, counters, plus(times(group, count), z))));
    };
    return uses.gates.empty() && std::ranges::all_of(uses.indices, [&](const NodeRef& index) {
               const NodeRef start = at(index, 0);
               const auto step = ir::stride_of(*kernel_.interner, start, kernel_.next_var);
               for (std::int64_t z = 1; z < count; ++z)
                   if (at(index, z) != plus(start, z)) return false;
               return !step || *step % count == 0;
           });
}

bool BlockTiles::sum_comes_in_pieces(const NodeRef& factor, std::int64_t piece) const {
    if (product(nest_.inner) % piece) return false;
    if (nest_.inner_count) {  // the last block may be shorter
        if (nest_.inner.size() > 1) return false;
        const Substitution last = counted(kernel_, nest_.outer, kernel_.index(product(nest_.outer) - 1));
        const NodeRef count = simplified(substitute(kernel_, nest_.inner_count, last));
        if (count->op != Op::Const || static_cast<std::int64_t>(count->as<ir::ConstArg>().value) % piece) return false;
    }
    return are_neighbours(factor, nest_.inner, piece);
}

// Loads with gates, of padded images: the lowered kernel has a proof that they stay inside where the gate holds, but it speaks of loops over
// rows and columns, not of a number that counts through both. Elsewhere the address does not matter: it is moved inside. So are those of
// steps beyond the last block of a sum, if several loops count them or there is a batch.
NodeRef BlockTiles::in_bounds(const NodeRef& factor) const {
    const bool uneven = nest_.inner_count && (nest_.inner.size() > 1 || !batch_.empty());
    return ir::rebuild(std::span(&factor, 1), [&](const ir::Node& node, const ir::Sources& sources) {
        if (node.op == Op::Load && (sources.size() > 1 || uneven)) {
            const int b = node.as<ir::LoadArg>().buffer;
            const NodeRef last = kernel_.index(kernel_.buffers[static_cast<std::size_t>(b)].size - 1);
            const NodeRef inside = kernel_.binary(Op::Min, kernel_.binary(Op::Max, sources[0], kernel_.index(0)), last);
            return kernel_.load(b, inside, sources.size() > 1 ? sources[1] : nullptr);
        }
        return sources == node.sources ? NodeRef(&node)
                                       : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
    })[0];
}

// ---- what becomes of the sums ----------------------------------------------------------------------------------------

// The epilogue of the element at a place of the block's tile, for a sum in this local.
Body BlockTiles::one_element(const NodeRef& row, const NodeRef& column, int sum) {
    Substitution with = with_;
    with.emplace_back(id_of(row_), plus(first_row_, row));
    with.emplace_back(id_of(column_), plus(first_column_, column));
    return copy(kernel_, own_locals(redirected(kernel_, epilogue_, nest_.total, sum)), with);
}
Body BlockTiles::if_row(Body body, const NodeRef& row) {
    if (product(m_) % tile_.rows == 0) return body;
    return when(kernel_, minus(kernel_.index(product(m_)), plus(first_row_, row)), std::move(body));
}
Body BlockTiles::if_column(Body body, const NodeRef& column) {
    if (product(n_) % tile_.columns == 0) return body;
    return when(kernel_, minus(kernel_.index(product(n_)), plus(first_column_, column)), std::move(body));
}
bool BlockTiles::columns_together() const { return product(n_) % group_ == 0; }

// Several elements beside each other: what they store comes last, so that neighbours are stored together.
Body BlockTiles::neighbours(const NodeRef& row, const std::function<NodeRef(std::int64_t)>& column, std::int64_t count,
                            const std::function<int(std::int64_t)>& sum) {
    Body values;
    std::vector<Body> stores;
    for (std::int64_t z = 0; z < count; ++z) {
        std::size_t s = 0;
        for (Stmt& stmt : one_element(row, column(z), sum(z))) {
            const Store& store = *stmt.store();
            if (kernel_.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Local) {
                values.push_back(std::move(stmt));
                continue;
            }
            const int value = registers("value", store.value->dtype, 1);
            values.emplace_back(Store{value, kernel_.index(0), store.value});
            if (stores.size() <= s) stores.emplace_back();
            stores[s++].emplace_back(Store{store.buffer, store.index, kernel_.load(value, kernel_.index(0))});
        }
    }
    for (Body& each : stores) append(values, std::move(each));
    return values;
}

Body BlockTiles::epilogue_in_registers() {
    return Body{threads([&](const NodeRef& y, const NodeRef& x) {
        Body body;
        const std::int64_t group = group_;
        const bool together = columns_together();
        for (std::int64_t i = 0; i < tile_.thread_rows; ++i) {
            Body row;
            for (std::int64_t j = 0; j < tile_.thread_columns; j += together ? group : 1) {
                const auto sum = [&](std::int64_t z) {
                    const int local = registers("sum", nest_.accumulate, 1);
                    row_sums_.emplace_back(
                        Store{local, kernel_.index(0), element(total_, i * tile_.thread_columns + j + z)});
                    return local;
                };
                Body some = neighbours(
                    row_of(y, i), [&](std::int64_t z) { return column_of(x, j + z); }, together ? group : 1, sum);
                Body sums = std::exchange(row_sums_, {});
                append(sums, std::move(some));
                append(row, if_column(std::move(sums), column_of(x, j)));
            }
            append(body, if_row(std::move(row), row_of(y, i)));
        }
        return body;
    })};
}

// An expensive epilogue is written once, in a loop: the sums pass through shared memory.
Body BlockTiles::epilogue_in_memory() {
    const std::int64_t pitch = tile_.columns + pad_;
    const int sums = local("sums", nest_.accumulate, tile_.rows * pitch, Buffer::MemoryType::Shared);
    Body body{threads([&](const NodeRef& y, const NodeRef& x) {
        Body stores;
        for (std::int64_t i = 0; i < tile_.thread_rows; ++i)
            for (std::int64_t j = 0; j < tile_.thread_columns; ++j)
                stores.emplace_back(Store{sums, plus(times(row_of(y, i), pitch), column_of(x, j)),
                                          element(total_, i * tile_.thread_columns + j)});
        return stores;
    })};
    body.push_back(threads([&](const NodeRef& y, const NodeRef& x) {
        std::int64_t each = most_together_;
        while (product(n_) % each || tile_.rows * tile_.columns / each % thread_count()) each /= 2;
        const std::int64_t groups = tile_.columns / each;
        const NodeRef q = kernel_.new_var(tile_.rows * groups / thread_count());
        const NodeRef number = plus(times(q, thread_count()), plus(times(y, wide_), x));
        const NodeRef row = quotient(number, groups), first = times(remainder(number, groups), each);
        const auto sum = [&](std::int64_t z) {
            const int local = registers("sum", nest_.accumulate, 1);
            row_sums_.emplace_back(
                Store{local, kernel_.index(0), kernel_.load(sums, plus(times(row, pitch), plus(first, z)))});
            return local;
        };
        Body some = neighbours(
            row, [&](std::int64_t z) { return plus(first, z); }, each, sum);
        Body inside = std::exchange(row_sums_, {});
        append(inside, std::move(some));
        return Body{Loop{q, LoopKind::Serial, if_row(if_column(std::move(inside), first), row), true, nullptr}};
    }));
    return body;
}

// Every copy of the epilogue has locals of its own.
Body BlockTiles::own_locals(Body epilogue) {
    std::set<int> stored;
    for_each_store(epilogue, [&](const Store& store, std::span<const Loop* const>) {
        if (kernel_.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Local)
            stored.insert(store.buffer);
    });
    for (const int b : stored) epilogue = with_own_local(kernel_, epilogue, b);
    return epilogue;
}

}  // namespace weft::kernel
