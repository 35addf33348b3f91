// backend/expand.cpp: writes out unrolled loops and decides where locals live.
#include "backend/expand.h"

#include "backend/linear.h"
#include "kernel/box_copy.h"

#include "core/str.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>
#include <optional>
#include <set>

namespace weft::backend {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using kernel::Body;
using kernel::Buffer;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;
using kernel::Store;

constexpr std::int64_t kMostVariables = 64;          // variables that stand for one local
constexpr std::int64_t kMostKept = 128;              // … of the threads of a block
constexpr std::size_t kMostStackBytes = 256 * 1024;  // of one local

// ---- loops -----------------------------------------------------------------------------------------------------------

bool has_count_of(const Body& body, int var) {
    for (const Stmt& stmt : body)
        if (const Loop* loop = stmt.loop())
            if ((loop->count && ir::depends_on(loop->count, var)) || has_count_of(loop->body, var)) return true;
    return false;
}

class Unroller {
public:
    Unroller(const Kernel& kernel, bool lanes) : kernel_(kernel), simplify_(*kernel.interner) {
        find_serial(kernel.body, !lanes);
    }

    Body operator()(const Body& body) {
        Body result;
        kernel::Substitution with;
        write_out(body, with, result);
        return result;
    }

private:
    // `with` is what the loops around that are written out make of their variables; replaced where statements are reached.
    void write_out(const Body& body, kernel::Substitution& with, Body& result) {
        std::size_t leaf = 0;  // statements up to here are in the result
        const auto flush = [&](std::size_t end) {
            if (leaf == end) return;
            const Body plain(body.begin() + static_cast<std::ptrdiff_t>(leaf),
                             body.begin() + static_cast<std::ptrdiff_t>(end));
            Body fresh = with.empty() ? plain : kernel::substitute(kernel_, plain, with, simplify_);
            std::move(fresh.begin(), fresh.end(), std::back_inserter(result));
        };
        for (std::size_t i = 0; i < body.size(); ++i) {
            const Loop* loop = body[i].loop();
            if (!loop) continue;
            flush(i);
            leaf = i + 1;
            if (written_out(*loop)) {
                for (std::int64_t n = 0; n < loop->extent(); ++n) {
                    with.emplace_back(loop->id(), kernel_.index(n));
                    write_out(loop->body, with, result);
                    with.pop_back();
                }
            } else if (loop->extent() > 0) {
                const LoopKind kind = serial_.contains(loop->id()) ? LoopKind::Serial : loop->kind;
                NodeRef count = loop->count;
                if (count && !with.empty())
                    count = ir::simplify_index(*kernel_.interner, kernel::substitute(kernel_, count, with));
                Body inner;
                write_out(loop->body, with, inner);
                Loop kept = loop->with(std::move(inner));
                kept.kind = kind;
                kept.count = std::move(count);
                result.emplace_back(std::move(kept));
            }
        }
        flush(body.size());
    }

    static bool written_out(const Loop& loop) {
        if (loop.kind == LoopKind::Unrolled) return true;
        return loop.extent() == 1 && loop.kind != LoopKind::Parallel && loop.kind != LoopKind::Block &&
               loop.kind != LoopKind::Thread && !loop.count && !loop.polls && !kernel::is_pipeline(loop);
    }

    // Lanes cannot differ in how often they run an inner loop, and there are no lanes within lanes. Decided before anything
    // is written out: a variable is a lane in all copies of its loop or in none.
    void find_serial(const Body& body, bool in_lanes) {
        for (const Stmt& stmt : body) {
            const Loop* loop = stmt.loop();
            if (!loop) continue;
            bool lanes = loop->kind == LoopKind::Vector && loop->extent() > 1;
            if (lanes && (in_lanes || has_count_of(loop->body, loop->id()))) {
                serial_.insert(loop->id());
                lanes = false;
            }
            find_serial(loop->body, in_lanes || lanes);
        }
    }

    const Kernel& kernel_;
    ir::IndexSimplifier simplify_;  // copies differ in a few constants
    std::set<int> serial_;
};

// ---- locals ----------------------------------------------------------------------------------------------------------

// How the elements of a local are reached: by constants, by constant + lane, or otherwise.
struct Accesses {
    std::vector<std::int64_t> constants;
    std::vector<std::pair<std::int64_t, int>> lanes;    // constant, extent of the vector loop
    std::vector<std::pair<std::int64_t, int>> columns;  // … of constant + lane * n, of n * n elements
    bool other = false, any = false;
};

class Analyser {
public:
    Analyser(const Kernel& kernel, Expanded& out, const ExpandOptions& options)
        : kernel_(kernel), out_(out), options_(options), accesses_(kernel.buffers.size()) {}

    void run() {
        find_lanes(out_.body);
        if (widest_) out_.lanes = widest_ <= 4 ? 4 : widest_ <= 8 ? 8 : 16;
        scan(out_.body);
        for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
            out_.buffers.push_back(lowered(static_cast<int>(b)));
            out_.buffers.back().used = accesses_[b].any;
        }
    }

private:
    void find_lanes(const Body& body) {
        for (const Stmt& stmt : body)
            if (const Loop* loop = stmt.loop()) {
                if (!options_.threads && (loop->kind == LoopKind::Block || loop->kind == LoopKind::Thread))
                    throw InternalError(str("kernel ", kernel_.name, ": blocks of threads are not for this backend"));
                if (loop->kind == LoopKind::Vector) {
                    if (loop->extent() > kernel::kMaxLanes)
                        throw InternalError(
                            str("kernel ", kernel_.name, ": a vector loop of ", loop->extent(), " lanes"));
                    out_.lane_vars[loop->id()] = static_cast<int>(loop->extent());
                    widest_ = std::max(widest_, static_cast<int>(loop->extent()));
                } else
                    serial_lanes_[loop->id()] =
                        static_cast<int>(std::min<std::int64_t>(loop->extent(), kernel::kMaxLanes));
                find_lanes(loop->body);
            }
    }

    void scan(const Body& body) {
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop()) {
                if (loop->count) scan(loop->count);
                scan(loop->body);
            } else if (stmt.prefetch()) {
                scan(stmt.prefetch()->load);
            } else {
                const Store& store = *stmt.store();
                scan(store.index);
                scan(store.value);
                access(store.buffer, store.index);
            }
        }
    }

    void scan(const NodeRef& root) {
        std::vector<const Node*> pending{root.get()};
        while (!pending.empty()) {
            const Node* node = pending.back();
            pending.pop_back();
            if (++out_.uses[node] > 1) continue;
            if (node->op == Op::Load) access(node->as<ir::LoadArg>().buffer, node->sources[0]);
            for (const NodeRef& source : node->sources) pending.push_back(source.get());
        }
    }

    void access(int b, const NodeRef& index) {
        Accesses& accesses = accesses_[b];
        accesses.any = true;
        if (kernel_.buffers[b].role != Buffer::Role::Local) return;
        if (index->op == Op::Const) {
            accesses.constants.push_back(static_cast<std::int64_t>(index->as<ir::ConstArg>().value));
            return;
        }
        const Linear sum = linear(*index);
        if (sum.terms.size() == 1 && sum.terms[0].first->op == Op::LoopVar) {
            const auto [var, stride] = sum.terms[0];
            const auto lane = out_.lane_vars.find(var->as<ir::LoopArg>().id);
            const bool down = stride > 1 && stride * stride == kernel_.buffers[b].size;
            if (lane != out_.lane_vars.end() && (stride == 1 || down)) {
                (down ? accesses.columns : accesses.lanes).emplace_back(sum.constant, lane->second);
                return;
            }
        }
        accesses.other = true;
    }

    LoweredBuffer lowered(int b) const {
        const Buffer& buffer = kernel_.buffers[b];
        if (buffer.role != Buffer::Role::Local || buffer.memory == Buffer::MemoryType::Shared) return {};
        const Accesses& accesses = accesses_[b];
        if (is_block(buffer, accesses)) return {.form = LoweredBuffer::Vectors, .unit = out_.lanes, .transposed = true};
        const bool other = accesses.other || !accesses.columns.empty();
        const bool kept = buffer.per_thread && buffer.memory == Buffer::MemoryType::Scratch;
        const bool few = buffer.size <= (buffer.per_thread ? kMostKept : kMostVariables) && !other && !kept;
        if (buffer.lane_loop >= 0 && out_.lane_vars.contains(buffer.lane_loop)) {
            if (few && accesses.lanes.empty()) return {.form = LoweredBuffer::LaneVectors};
            return on_stack(buffer, {.form = LoweredBuffer::LaneArray}, static_cast<std::size_t>(out_.lanes));
        }
        if (const auto serial = serial_lanes_.find(buffer.lane_loop); serial != serial_lanes_.end())
            return on_stack(buffer, {.form = LoweredBuffer::Array, .unit = serial->second, .lane_var = serial->first},
                            static_cast<std::size_t>(serial->second));
        if (few && accesses.lanes.empty()) return {.form = LoweredBuffer::Scalars};
        if (!other && !kept)
            if (const int unit = unit_of(accesses, buffer.size))
                return {.form = LoweredBuffer::Vectors, .unit = unit, .reach = reach_of(accesses, buffer.size, unit)};
        if (buffer.memory == Buffer::MemoryType::Scratch && !kept) return {.form = LoweredBuffer::Pointer};
        return on_stack(buffer, {.form = LoweredBuffer::Array}, 1);
    }

    bool is_block(const Buffer& buffer, const Accesses& accesses) const {
        const std::int64_t edge = out_.lanes;
        const auto in_row = [&](const auto& at) { return at.first % edge == 0; };
        return options_.transposes && !accesses.columns.empty() && buffer.memory == Buffer::MemoryType::Register &&
               buffer.lane_loop < 0 && !accesses.other && accesses.constants.empty() && buffer.size == edge * edge &&
               std::all_of(accesses.lanes.begin(), accesses.lanes.end(), in_row);
    }

    LoweredBuffer on_stack(const Buffer& buffer, LoweredBuffer lowered, std::size_t copies) const {
        if (static_cast<std::size_t>(buffer.size) * copies * size_of(buffer.dtype) > kMostStackBytes)
            throw InternalError(str("kernel ", kernel_.name, ": local ", buffer.name, " is too large for the stack"));
        return lowered;
    }

    // The number of elements per vector variable such that no access crosses two of them, and not too many of them; 0 if there is none.
    int unit_of(const Accesses& accesses, std::int64_t size) const {
        int widest = 0;
        for (const auto& [at, extent] : accesses.lanes) widest = std::max(widest, extent);
        for (const int unit : {widest, out_.lanes})
            if (size <= unit * kMostVariables &&
                std::none_of(accesses.lanes.begin(), accesses.lanes.end(), [&](const auto& access) {
                    return access.first < 0 || access.first % unit + access.second > unit;
                }))
                return unit;
        return 0;
    }

    static std::vector<int> reach_of(const Accesses& accesses, std::int64_t size, int unit) {
        std::vector<int> reach(static_cast<std::size_t>((size + unit - 1) / unit), 0);
        const auto note = [&](std::int64_t at, int extent) {
            int& last = reach[static_cast<std::size_t>(at / unit)];
            last = std::max(last, static_cast<int>(at % unit) + extent);
        };
        for (const auto& [at, extent] : accesses.lanes) note(at, extent);
        for (const std::int64_t at : accesses.constants) note(at, 1);
        return reach;
    }

    const Kernel& kernel_;
    Expanded& out_;
    const ExpandOptions options_;
    std::vector<Accesses> accesses_;
    std::unordered_map<int, int> serial_lanes_;  // other loops: a vector loop that had to become one may own locals
    int widest_ = 0;
};

}  // namespace

Expanded expand(const Kernel& kernel, const ExpandOptions& options) {
    Expanded result;
    result.body = Unroller(kernel, options.lanes)(kernel.body);
    Analyser(kernel, result, options).run();
    return result;
}

}  // namespace weft::backend
