// kernel/pass_columns.cpp: the "columns" pass: reductions of which memory runs along the kept axis (a sum over axis 0, a vector times a
// matrix). The loop over columns moves inside the summed loops, for a strip of columns at a time, so that memory is read along its rows;
// what a column keeps in a register is an array then, in L1. Eight steps of a sum are added per visit to that array.
//
//   strips of columns
//     columns:  sum[c] = 0
//     serial k by 8
//       columns:  sum[c] = ((sum[c] + x[k, c]) + x[k + 1, c]) + …
//     columns:  store what follows from sum[c]
//
// Each column's sum has the order that it had: a sum in lanes has a loop per chain (kernel/reduce.cpp), and an array of their sums per column.
// A scatter of whole rows is the same without an array: its columns are in memory.
#include "kernel/lower_special.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kFewestColumns = 2, kFewestSteps = 16;
constexpr std::int64_t kNarrowestStrip = 32, kWidestStrip = 2048;  // columns: 8 KB per array
constexpr std::int64_t kMostBytes = 96 << 10;  // of all arrays of a strip: most of a second-level cache is left
constexpr std::int64_t kSteps = 8;             // of a sum per visit of its column
constexpr std::int64_t kStrips = 4;            // for threads, where there is no other loop for them

class ChooseColumns {
public:
    explicit ChooseColumns(const Kernel& kernel) : kernel_(kernel) {}

    std::optional<ColumnStrips> operator()() {
        const auto [loops, body] = perfect_nest(kernel_.body);
        if (loops.empty() || extent_of(loops.back()) < kFewestColumns) return {};
        column_ = loops.back();
        if (!suits(*body) || steps_ < kFewestSteps || along_ == 0) return {};
        return ColumnStrips{.column = column_,
                            .width = width(product(loops) / extent_of(column_)),
                            .lanes = lanes_for(kernel_, *body),
                            .steps = kSteps,
                            .arrays = {locals_.begin(), locals_.end()}};
    }

private:
    // Every access runs along the columns or stands still, locals are the same for all columns, and all columns take the same steps.
    bool suits(const Body& body) {
        for (const Stmt& stmt : body) {
            if (stmt.prefetch()) return false;
            if (const Store* store = stmt.store()) {
                const Buffer& buffer = kernel_.buffers[store->buffer];
                const bool local = buffer.role == Buffer::Role::Local;
                if (local ? buffer.lane_loop >= 0 || stride(store->index) != 0 : stride(store->index) != 1)
                    return false;
                if (local) locals_.insert(store->buffer);
                if (!suits(store->index) || !suits(store->value)) return false;
                continue;
            }
            const Loop& loop = *stmt.loop();
            if (loop.kind != LoopKind::Serial || (loop.count && ir::depends_on(loop.count, id_of(column_))))
                return false;
            steps_ = std::max(steps_, loop.extent());
            if (!suits(loop.body)) return false;
        }
        return true;
    }

    bool suits(const NodeRef& root) {
        for (const ir::Node* node : ir::topological_order(std::span(&root, 1))) {
            if (node->op == Op::Check && ir::depends_on(NodeRef(node), id_of(column_)))
                return false;  // failures are reported in the order of the loops
            if (node->op != Op::Load) continue;
            const auto step = stride(node->sources[0]);
            if (!step || (*step != 0 && *step != 1)) return false;
            if (kernel_.buffers[node->as<ir::LoadArg>().buffer].role != Buffer::Role::Local) along_ += *step == 1;
            else if (*step != 0) return false;
        }
        return true;
    }

    std::optional<std::int64_t> stride(const NodeRef& index) const {
        return ir::stride_of(*kernel_.interner, index, id_of(column_));
    }

    // Of a strip, where that many iterations of other loops are around it.
    std::int64_t width(std::int64_t around) const {
        const std::int64_t columns = extent_of(column_), strips = around >= kStrips ? 1 : kStrips;
        std::int64_t bytes = 0;  // per column
        for (const int local : locals_)
            bytes += kernel_.buffers[local].size * static_cast<std::int64_t>(size_of(kernel_.buffers[local].dtype));
        const std::int64_t widest =
            std::min({kWidestStrip, kMostBytes / std::max<std::int64_t>(1, bytes), ceil_div(columns, strips)});
        return std::min(columns, std::max(kNarrowestStrip, ceil_div(widest, kMaxLanes) * kMaxLanes));
    }

    const Kernel& kernel_;
    NodeRef column_;
    std::set<int> locals_;
    std::int64_t steps_ = 0, along_ = 0;  // of the longest loop, and loads that run along the columns
};

class StripLoops {
public:
    StripLoops(Kernel& kernel, const ColumnStrips& strips)
        : kernel_(kernel),
          column_(strips.column),
          width_(strips.width),
          steps_each_(strips.steps),
          lanes_(strips.lanes) {
        const Body* body = nullptr;
        std::tie(outer_, body) = perfect_nest(kernel_.body);
        outer_.pop_back();
        body_ = *body;
        in_strip_ = kernel_.new_var(width_);
        for (const int local : strips.arrays) {
            const Buffer buffer = kernel_.buffers[local];
            const int array = kernel_.new_local(buffer.name, buffer.dtype, buffer.size * width_);
            kernel_.buffers[array].memory = Buffer::MemoryType::Scratch;
            arrays_.emplace(local, array);
        }
    }

    Body operator()() {
        const std::int64_t columns = extent_of(column_), whole = columns / width_, tail = columns % width_;
        const NodeRef s = kernel_.new_var(whole + (tail > 0));
        const NodeRef start = kernel_.mul(s, kernel_.index(width_));
        Body inside = spread({simple(start), width_}, body_);
        if (tail > 0) {  // the last strip is narrower: a condition is a loop that runs once or not at all
            const NodeRef before = kernel_.binary(Op::Sub, kernel_.index(whole), s);
            const NodeRef last = kernel_.binary(Op::Sub, s, kernel_.index(whole - 1));
            Body narrow = spread({kernel_.index(whole * width_), tail}, body_);
            Body both{Loop{kernel_.new_var(1), LoopKind::Serial, std::move(inside), false, before}};
            both.emplace_back(Loop{kernel_.new_var(1), LoopKind::Serial, std::move(narrow), false, last});
            inside = std::move(both);
        }
        Body strips{Loop{s, LoopKind::Serial, std::move(inside), true, nullptr}};
        return nested(outer_, std::move(strips), true);
    }

private:
    NodeRef simple(const NodeRef& e) const { return ir::simplify_index(*kernel_.interner, e); }

    // Element `index` of a local, of the column in the strip.
    NodeRef in_array(const NodeRef& index) const {
        return simple(kernel_.add(kernel_.mul(index, kernel_.index(width_)), in_strip_));
    }

    NodeRef with_arrays(const NodeRef& root) const {
        return ir::rebuild(std::span(&root, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == Op::Load)
                if (const auto found = arrays_.find(node.as<ir::LoadArg>().buffer); found != arrays_.end())
                    return kernel_.load(found->second, in_array(sources[0]));
            return sources == node.sources ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }

    Store with_arrays(const Store& store) const {
        const auto found = arrays_.find(store.buffer);
        const NodeRef index = with_arrays(store.index);
        return found == arrays_.end() ? Store{store.buffer, index, with_arrays(store.value)}
                                      : Store{found->second, in_array(index), with_arrays(store.value)};
    }

    struct Strip {
        NodeRef start;
        std::int64_t width;
    };

    // Stores of one column for all columns of the strip: vectors, and a shorter one for the tail.
    void for_columns(const Strip& strip, const Body& stores, Body& result) {
        const auto lanes = [&](const NodeRef& at) {
            return substitute(kernel_, stores,
                              {{id_of(column_), simple(kernel_.add(strip.start, at))}, {id_of(in_strip_), simple(at)}});
        };
        const std::int64_t whole = strip.width / lanes_, tail = strip.width % lanes_;
        if (whole > 0) {
            const NodeRef v = kernel_.new_var(whole), l = kernel_.new_var(lanes_);
            Body vector{
                Loop{l, LoopKind::Vector, lanes(kernel_.add(kernel_.mul(v, kernel_.index(lanes_)), l)), true, nullptr}};
            result.emplace_back(Loop{v, LoopKind::Serial, std::move(vector), false, nullptr});
        }
        if (tail > 0) {
            const NodeRef l = kernel_.new_var(tail);
            result.emplace_back(
                Loop{l, LoopKind::Vector, lanes(kernel_.add(kernel_.index(whole * lanes_), l)), true, nullptr});
        }
    }

    Body spread(const Strip& strip, const Body& body) {
        Body result, stores;
        for (const Stmt& stmt : body) {
            if (const Store* store = stmt.store()) {
                stores.emplace_back(with_arrays(*store));
                continue;
            }
            if (!stores.empty()) for_columns(strip, std::exchange(stores, {}), result);
            if (is_chain(*stmt.loop())) append(result, chain(strip, *stmt.loop()));
            else {
                const Loop& loop = *stmt.loop();
                const NodeRef var = kernel_.new_var(loop.extent());
                const Body inner = substitute(kernel_, loop.body, {{loop.id(), var}});
                result.emplace_back(Loop{var, LoopKind::Serial, spread(strip, inner), false, loop.count});
            }
        }
        if (!stores.empty()) for_columns(strip, stores, result);
        return result;
    }

    // A loop that only adds to locals of one element, each of which depends on no other.
    bool is_chain(const Loop& loop) const {
        std::set<int> stored;
        for (const Stmt& stmt : loop.body) {
            if (!stmt.store() || !arrays_.contains(stmt.store()->buffer) ||
                kernel_.buffers[stmt.store()->buffer].size != 1)
                return false;
            if (!stored.insert(stmt.store()->buffer).second) return false;
        }
        for (const Stmt& stmt : loop.body) {
            Uses uses;
            collect_uses(stmt.store()->value, uses);
            for (const NodeRef& load : uses.loads)
                if (const int b = load->as<ir::LoadArg>().buffer; b != stmt.store()->buffer && stored.contains(b))
                    return false;
        }
        return !loop.body.empty();
    }

    // `count` steps from `start` on as one store: each step's sum stands in the next one's expression.
    Body steps(const Loop& loop, const NodeRef& start, std::int64_t count) const {
        Body result;
        for (const Stmt& stmt : loop.body) {
            const Store store = with_arrays(*stmt.store());
            NodeRef value = kernel_.load(store.buffer, in_strip_);
            for (std::int64_t s = 0; s < count; ++s) {
                const NodeRef at = simple(kernel_.add(start, kernel_.index(s)));
                const NodeRef step = substitute(kernel_, store.value, {{loop.id(), at}});
                value = ir::rebuild(std::span(&step, 1), [&](const ir::Node& node, const ir::Sources& sources) {
                    if (node.op == Op::Load && node.as<ir::LoadArg>().buffer == store.buffer) return value;
                    return sources == node.sources ? NodeRef(&node)
                                                   : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
                })[0];
            }
            result.emplace_back(Store{store.buffer, store.index, value});
        }
        return result;
    }

    Body chain(const Strip& strip, const Loop& loop) {
        Body result;
        const auto visit = [&](const NodeRef& start, std::int64_t count) {
            Body columns;
            for_columns(strip, steps(loop, start, count), columns);
            return columns;
        };
        const NodeRef group = kernel_.new_var(loop.extent() / steps_each_);
        const NodeRef start = kernel_.mul(group, kernel_.index(steps_each_));
        if (!loop.count) {
            if (loop.extent() >= steps_each_)
                result.emplace_back(Loop{group, LoopKind::Serial, visit(start, steps_each_), false, nullptr});
            if (const std::int64_t tail = loop.extent() % steps_each_)
                append(result, visit(kernel_.index(loop.extent() - tail), tail));
            return result;
        }
        // How many steps there are is known at run time: what is left of whole groups goes one by one.
        const NodeRef count = kernel_.binary(Op::Max, kernel_.index(0),
                                             kernel_.binary(Op::Min, loop.count, kernel_.index(loop.extent())));
        const NodeRef whole = kernel_.binary(Op::IDiv, count, kernel_.index(steps_each_));
        const NodeRef done = kernel_.mul(whole, kernel_.index(steps_each_)), left = kernel_.new_var(steps_each_);
        if (loop.extent() >= steps_each_)
            result.emplace_back(Loop{group, LoopKind::Serial, visit(start, steps_each_), false, simple(whole)});
        result.emplace_back(Loop{left, LoopKind::Serial, visit(kernel_.add(done, left), 1), false,
                                 simple(kernel_.binary(Op::Sub, count, done))});
        return result;
    }

    Kernel& kernel_;
    const NodeRef column_;
    const std::int64_t width_;  // of a strip
    const std::int64_t steps_each_;
    const int lanes_;
    std::vector<NodeRef> outer_;  // loops around the columns
    NodeRef in_strip_;            // the place of a column in its strip
    Body body_;                   // of one column
    std::map<int, int> arrays_;   // local -> one per column
};

}  // namespace

Decisions choose_columns(const Kernel& kernel, const Target&) {
    Decisions chosen;
    if (std::optional<ColumnStrips> strips = ChooseColumns(kernel)()) chosen.emplace_back(std::move(*strips));
    return chosen;
}

Kernel sum_columns(Kernel kernel, const Decisions& chosen) {
    kernel.body = StripLoops(kernel, std::get<ColumnStrips>(chosen[0]))();
    return kernel;
}

}  // namespace weft::kernel
