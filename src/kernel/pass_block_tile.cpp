// kernel/pass_block_tile.cpp: the "block_tile" pass: on processors with thousands of threads, a contraction's output is cut into tiles, one
// for each block. The threads of a block bring the factors of some steps of the sum into shared memory, and each multiplies and adds those of
// a tile of its own, in registers. An element's products are added by one thread, in the order of the plain loops.
//
//     block over the tiles
//       threads: acc = 0
//       steps of the sum, by `depth`
//         threads: left, right = factors                  (rows and columns beyond the output repeat the last one)
//         threads: for each step: acc += left * right
//       threads: one row of their tiles after the other: out = acc; threads: the epilogue of out
#include "kernel/block_loops.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "ir/symbolic.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <span>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kEnoughBlocks = 132;  // so that every multiprocessor has one
constexpr std::int64_t kSmallestTile = 16;   // rows, columns or steps below: threads have elements of their own instead

// Of blocks and of threads: each divides evenly among them.
struct TileShape {
    std::int64_t rows, columns, thread_rows, thread_columns, depth;
};
constexpr std::array<TileShape, 4> kShapes = {TileShape{128, 128, 8, 8, 16}, TileShape{64, 64, 4, 4, 16},
                                              TileShape{32, 64, 2, 4, 16}, TileShape{32, 32, 2, 2, 16}};

std::vector<NodeRef> of_side(const ContractionNest& nest, LoopRole side) {
    std::vector<NodeRef> vars;
    for (std::size_t v = 0; v < nest.rows.size(); ++v)
        if (nest.sides[v] == side) vars.push_back(nest.rows[v]);
    return vars;
}

// Loads with gates, of padded images: that they stay inside is proven of loops over rows and columns, not of a number that counts through
// both.
bool has_gates(const ContractionNest& nest) {
    Uses uses;
    collect_uses(nest.left, uses);
    collect_uses(nest.right, uses);
    return !uses.gates.empty();
}

std::optional<BlockTile> choose(const ContractionNest& nest, int statement) {
    if (has_gates(nest)) return {};
    const std::int64_t m = product(of_side(nest, LoopRole::M)), n = product(of_side(nest, LoopRole::N)),
                       batches = product(of_side(nest, LoopRole::Batch)), steps = product(nest.inner);
    if (m < kSmallestTile || n < kSmallestTile || steps < kSmallestTile) return {};
    const TileShape* shape = &kShapes.back();
    for (const TileShape& each : kShapes) {
        const bool doubles = nest.accumulate == DType::F64 && each.thread_rows * each.thread_columns > 16;
        if (doubles || batches * ceil_div(m, each.rows) * ceil_div(n, each.columns) < kEnoughBlocks) continue;
        shape = &each;
        break;
    }
    return BlockTile{statement, shape->rows, shape->columns, shape->thread_rows, shape->thread_columns, shape->depth};
}

class Tiles {
public:
    Tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile)
        : kernel_(kernel),
          nest_(nest),
          tile_(tile),
          m_(of_side(nest, LoopRole::M)),
          n_(of_side(nest, LoopRole::N)),
          batch_(of_side(nest, LoopRole::Batch)) {
        left_ = shared("left", tile.depth * (tile.rows + 1));
        right_ = shared("right", tile.depth * (tile.columns + 1));
        row_ = shared("rows", tile.rows / tile.thread_rows * tile.columns);
        acc_ = per_thread("acc");
        total_ = nest.outer.empty() ? acc_ : per_thread("total");
    }

    Stmt operator()() {
        const std::int64_t down = ceil_div(product(m_), tile_.rows), across = ceil_div(product(n_), tile_.columns);
        const NodeRef block = kernel_.new_var(product(batch_) * down * across);
        const NodeRef tile = simplified(kernel_.binary(Op::Mod, block, kernel_.index(down * across)));
        append(with_,
               counted(kernel_, batch_, simplified(kernel_.binary(Op::IDiv, block, kernel_.index(down * across)))));
        first_row_ = times(kernel_.binary(Op::IDiv, tile, kernel_.index(across)), tile_.rows);
        first_column_ = times(kernel_.binary(Op::Mod, tile, kernel_.index(across)), tile_.columns);

        Body body;
        if (nest_.outer.empty()) {
            body = sums();
        } else {
            body.push_back(fill(total_));
            std::vector<NodeRef> outer;
            for (const NodeRef& var : nest_.outer) {
                outer.push_back(kernel_.new_var(extent_of(var)));
                with_.emplace_back(id_of(var), outer.back());
            }
            Body inside = sums();
            inside.push_back(threads([&](const NodeRef&) {
                return each_element([&](std::int64_t e) {
                    return Store{total_, kernel_.index(e), kernel_.add(element(total_, e), element(acc_, e))};
                });
            }));
            append(body, nested(outer, std::move(inside), false));
        }
        append(body, epilogue());
        return Loop{block, LoopKind::Block, std::move(body), true, nullptr};
    }

private:
    int shared(std::string name, std::int64_t size) {
        const int local = kernel_.new_local(std::move(name), nest_.accumulate, size);
        kernel_.buffers.back().memory = Buffer::MemoryType::Shared;
        return local;
    }
    int per_thread(std::string name) {
        const int local =
            kernel_.new_local(std::move(name), nest_.accumulate, tile_.thread_rows * tile_.thread_columns);
        kernel_.buffers.back().memory = Buffer::MemoryType::Register;
        kernel_.buffers.back().per_thread = true;
        return local;
    }
    NodeRef simplified(const NodeRef& index) const { return ir::simplify_index(*kernel_.interner, index); }
    NodeRef times(const NodeRef& a, std::int64_t by) const { return simplified(kernel_.mul(a, kernel_.index(by))); }
    NodeRef plus(const NodeRef& a, const NodeRef& b) const { return simplified(kernel_.add(a, b)); }
    NodeRef element(int local, std::int64_t e) const { return kernel_.load(local, kernel_.index(e)); }

    std::int64_t thread_count() const {
        return tile_.rows / tile_.thread_rows * (tile_.columns / tile_.thread_columns);
    }
    Stmt threads(const std::function<Body(const NodeRef&)>& body) {
        const NodeRef t = kernel_.new_var(thread_count());
        return Loop{t, LoopKind::Thread, body(t), true, nullptr};
    }
    Body each_element(const std::function<Store(std::int64_t)>& store) const {
        Body body;
        for (std::int64_t e = 0; e < tile_.thread_rows * tile_.thread_columns; ++e) body.emplace_back(store(e));
        return body;
    }
    Stmt fill(int local) {
        return threads([&](const NodeRef&) {
            return each_element([&](std::int64_t e) {
                return Store{local, kernel_.index(e), kernel_.constant(nest_.accumulate, 0)};
            });
        });
    }

    // ---- the sum ----

    // Steps of a block of the sum: all, or fewer in the last one.
    NodeRef steps() const {
        const std::int64_t all = product(nest_.inner);
        if (!nest_.inner_count) return kernel_.index(all);
        const std::int64_t first = extent_of(nest_.inner[0]);
        const NodeRef count = substitute(kernel_, nest_.inner_count, with_);
        return times(kernel_.binary(Op::Min, kernel_.index(first), count), all / first);
    }

    Body sums() {
        Body body{fill(acc_)};
        const std::int64_t all = product(nest_.inner);
        const bool exact = !nest_.inner_count && all % tile_.depth == 0;
        const NodeRef limit = steps(), part = kernel_.new_var(ceil_div(all, tile_.depth)),
                      start = times(part, tile_.depth);
        Body inside;
        inside.push_back(threads([&](const NodeRef& t) {
            Body copies = staged(nest_.left, left_, m_, first_row_, tile_.rows, start, exact ? nullptr : limit, t);
            append(copies,
                   staged(nest_.right, right_, n_, first_column_, tile_.columns, start, exact ? nullptr : limit, t));
            return copies;
        }));
        inside.push_back(threads([&](const NodeRef& t) {
            return multiplied(t, exact ? nullptr : simplified(kernel_.binary(Op::Sub, limit, start)));
        }));
        Loop loop{part, LoopKind::Serial, std::move(inside), false, nullptr};
        if (nest_.inner_count)
            loop.count = simplified(kernel_.binary(Op::IDiv, kernel_.add(limit, kernel_.index(tile_.depth - 1)),
                                                   kernel_.index(tile_.depth)));
        body.emplace_back(std::move(loop));
        return body;
    }

    // Does memory run along the sum, and not along the side?
    bool runs_along_sum(const NodeRef& factor, const std::vector<NodeRef>& side) const {
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

    // One thread's part of a factor: neighbours in memory are neighbours in the block. Steps beyond the last one are not used.
    Body staged(const NodeRef& factor, int local, const std::vector<NodeRef>& side, const NodeRef& first,
                std::int64_t width, const NodeRef& start, const NodeRef& limit, const NodeRef& t) {
        const bool along = runs_along_sum(factor, side);
        const NodeRef q = kernel_.new_var(width * tile_.depth / thread_count()),
                      number = plus(times(q, thread_count()), t);
        const NodeRef fast = kernel_.index(along ? tile_.depth : width);
        const NodeRef inner = simplified(kernel_.binary(Op::Mod, number, fast)),
                      outer = simplified(kernel_.binary(Op::IDiv, number, fast));
        const NodeRef step = along ? inner : outer, at = along ? outer : inner;
        NodeRef k = plus(start, step), position = plus(first, at);
        if (limit) k = kernel_.binary(Op::Min, k, kernel_.binary(Op::Sub, limit, kernel_.index(1)));
        if (product(side) % width) position = kernel_.binary(Op::Min, position, kernel_.index(product(side) - 1));
        Substitution with = with_;
        append(with, counted(kernel_, side, simplified(position)));
        append(with, counted(kernel_, nest_.inner, simplified(k)));
        Body copy{Store{local, plus(times(step, width + 1), at), substitute(kernel_, factor, with)}};
        return Body{Loop{q, LoopKind::Unrolled, std::move(copy), true, nullptr}};
    }

    // Rows of a thread's tile are as far apart as there are threads along them, so that neighbours load neighbours.
    NodeRef row_of(const NodeRef& t, std::int64_t i) const {
        const std::int64_t apart = tile_.rows / tile_.thread_rows;
        return plus(simplified(kernel_.binary(Op::IDiv, t, kernel_.index(tile_.columns / tile_.thread_columns))),
                    kernel_.index(i * apart));
    }
    NodeRef column_of(const NodeRef& t, std::int64_t j) const {
        const std::int64_t apart = tile_.columns / tile_.thread_columns;
        return plus(simplified(kernel_.binary(Op::Mod, t, kernel_.index(apart))), kernel_.index(j * apart));
    }

    Body multiplied(const NodeRef& t, const NodeRef& left) {
        const NodeRef k = kernel_.new_var(tile_.depth);
        const int a = registers("a", tile_.thread_rows), b = registers("b", tile_.thread_columns);
        Body step;
        for (std::int64_t i = 0; i < tile_.thread_rows; ++i)
            step.emplace_back(
                Store{a, kernel_.index(i), kernel_.load(left_, plus(times(k, tile_.rows + 1), row_of(t, i)))});
        for (std::int64_t j = 0; j < tile_.thread_columns; ++j)
            step.emplace_back(
                Store{b, kernel_.index(j), kernel_.load(right_, plus(times(k, tile_.columns + 1), column_of(t, j)))});
        for (std::int64_t j = 0; j < tile_.thread_columns; ++j)
            for (std::int64_t i = 0; i < tile_.thread_rows; ++i) {
                const std::int64_t e = i * tile_.thread_columns + j;
                step.emplace_back(
                    Store{acc_, kernel_.index(e), kernel_.fma(element(a, i), element(b, j), element(acc_, e))});
            }
        return Body{Loop{k, LoopKind::Serial, std::move(step), false, left}};
    }
    int registers(std::string name, std::int64_t size) {
        const int local = kernel_.new_local(std::move(name), nest_.accumulate, size);
        kernel_.buffers.back().memory = Buffer::MemoryType::Register;
        return local;
    }

    // ---- what becomes of the sums ----

    Body epilogue() {
        Body body;
        const std::int64_t height = tile_.rows / tile_.thread_rows, count = height * tile_.columns;
        for (std::int64_t i = 0; i < tile_.thread_rows; ++i) {
            body.push_back(threads([&](const NodeRef& t) {
                Body stores;
                for (std::int64_t j = 0; j < tile_.thread_columns; ++j)
                    stores.emplace_back(Store{row_, plus(times(row_of(t, 0), tile_.columns), column_of(t, j)),
                                              element(total_, i * tile_.thread_columns + j)});
                return stores;
            }));
            body.push_back(threads([&](const NodeRef& t) {
                const NodeRef q = kernel_.new_var(count / thread_count());
                return Body{Loop{q, LoopKind::Serial, one_element(plus(times(q, thread_count()), t), i * height), true,
                                 nullptr}};
            }));
        }
        return body;
    }

    // The epilogue of an element of `row_`, if it is one of the output.
    Body one_element(const NodeRef& number, std::int64_t first) {
        const NodeRef columns = kernel_.index(tile_.columns);
        const NodeRef row = plus(plus(first_row_, kernel_.index(first)),
                                 simplified(kernel_.binary(Op::IDiv, number, columns))),
                      column = plus(first_column_, simplified(kernel_.binary(Op::Mod, number, columns)));
        Substitution with = with_;
        append(with, counted(kernel_, m_, row));
        append(with, counted(kernel_, n_, column));
        const int sum = registers("sum", 1);
        Body body{Store{sum, kernel_.index(0), kernel_.load(row_, number)}};
        append(body, copy(kernel_, own_locals(redirected(kernel_, nest_.epilogue, nest_.total, sum)), with));
        if (product(n_) % tile_.columns) body = when(kernel_, difference(product(n_), column), std::move(body));
        if (product(m_) % tile_.rows) body = when(kernel_, difference(product(m_), row), std::move(body));
        return body;
    }

    // Every copy of the epilogue has locals of its own.
    Body own_locals(Body epilogue) {
        std::set<int> stored;
        for_each_store(epilogue, [&](const Store& store, std::span<const Loop* const>) {
            if (kernel_.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Local)
                stored.insert(store.buffer);
        });
        for (const int b : stored) epilogue = with_own_local(kernel_, epilogue, b);
        return epilogue;
    }
    NodeRef difference(std::int64_t end, const NodeRef& at) const {
        return simplified(kernel_.binary(Op::Sub, kernel_.index(end), at));
    }

    static void append(Substitution& to, const Substitution& more) { to.insert(to.end(), more.begin(), more.end()); }
    static void append(Body& to, Body more) { kernel::append(to, std::move(more)); }

    Kernel& kernel_;
    const ContractionNest& nest_;
    const BlockTile tile_;
    const std::vector<NodeRef> m_, n_, batch_;
    Substitution with_;  // what the block says of the variables of the contraction
    NodeRef first_row_, first_column_;
    int left_ = -1, right_ = -1, row_ = -1, acc_ = -1, total_ = -1;
};

}  // namespace

Decisions choose_block_tiles(const Kernel& kernel, const Target&) {
    Decisions chosen;
    int statement = 0;
    for (const ContractionNest& nest : contractions_of(kernel)) {
        if (std::optional<BlockTile> tile = choose(nest, statement)) chosen.emplace_back(*tile);
        ++statement;
    }
    return chosen;
}

Kernel tile_for_blocks(Kernel kernel, const Decisions& chosen) {
    const std::vector<ContractionNest> nests = contractions_of(kernel);
    for (const Decision& decision : chosen) {
        const auto& tile = std::get<BlockTile>(decision);
        kernel.body[static_cast<std::size_t>(tile.statement)] =
            Tiles(kernel, nests[static_cast<std::size_t>(tile.statement)], tile)();
    }
    return kernel;
}

}  // namespace weft::kernel
