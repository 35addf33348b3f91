// schedule/verify_plan.cpp: one walk over the steps collects who reads and writes which value and when; each rule is a function.
#include "schedule/verify_plan.h"

#include "core/str.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace weft::schedule {
namespace {

using ir::Node;
using ir::Op;
using Where = PlanValue::Where;

struct Use {
    int step, param;
};

// Where a value lies in its whole, in the whole's coordinates.
struct Box {
    Dims start, size;
};

class PlanVerifier {
public:
    PlanVerifier(const Plan& plan, const Captured& captured, std::span<const NodeRef> roots)
        : plan_(plan), captured_(captured), roots_(roots), writes_(plan.values.size()), reads_(plan.values.size()) {}

    void run() {
        for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) note_step(s);
        for (int v = 0; v < count(); ++v) check_value(v);
        for (int v = 0; v < count(); ++v) check_reads(v);
        for (auto& [whole, values] : inside_) check_parts(whole, values);
        check_arena();
        check_outputs();
    }

private:
    int count() const { return static_cast<int>(plan_.values.size()); }
    const PlanValue& value(int v) const { return plan_.values[static_cast<std::size_t>(v)]; }
    std::vector<Use>& writes(int v) { return writes_[static_cast<std::size_t>(v)]; }
    std::vector<Use>& reads(int v) { return reads_[static_cast<std::size_t>(v)]; }

    template <class... Parts>
    void require(bool holds, int v, const Parts&... what) const {
        if (!holds) throw InternalError(str("plan: value ", v, ", ", name(v), ": ", str(what...)));
    }
    std::string name(int v) const {
        const PlanValue& info = value(v);
        constexpr std::string_view kWhere[] = {"leaf", "output", "donated leaf", "arena", "part"};
        return str(kWhere[static_cast<int>(info.where)], info.leaf >= 0 ? str(" ", info.leaf) : "", " ", info.dtype,
                   info.shape);
    }

    // ---- who touches what ---------------------------------------------------------------------------------------------

    void note_step(int s) {
        const PlanStep& step = plan_.steps[static_cast<std::size_t>(s)];
        for (const int v : step.values)
            if (v < 0 || v >= count()) throw InternalError(str("plan: step ", s, " uses value ", v, " of ", count()));
        if (step.kernel.custom) {
            const std::size_t sources = step.kernel.custom->sources.size();
            for (std::size_t p = 0; p < step.values.size(); ++p)
                (p < sources ? reads_ : writes_)[static_cast<std::size_t>(step.values[p])].push_back(
                    {s, static_cast<int>(p)});
            return;
        }
        const ir::KernelGraph& graph = step.kernel.graph;
        if (step.values.size() != graph.params.size())
            throw InternalError(
                str("plan: step ", s, " has ", step.values.size(), " values for ", graph.params.size(), " parameters"));
        std::vector<NodeRef> values;
        for (const ir::KernelGraph::Output& output : graph.outputs) {
            values.push_back(output.value);
            if (output.param < 0 || output.param >= static_cast<int>(step.values.size()) ||
                !graph.params[static_cast<std::size_t>(output.param)].output)
                throw InternalError(
                    str("plan: step ", s, " stores to parameter ", output.param, ", which is no output"));
            note_write(s, output, step);
        }
        for (const Node* node : ir::topological_order(values)) {
            if (node->op != Op::Param) continue;
            const int p = node->as<ir::SlotArg>().slot;
            if (p < 0 || p >= static_cast<int>(step.values.size()))
                throw InternalError(str("plan: step ", s, " reads parameter ", p, ", which it does not have"));
            const int v = step.values[static_cast<std::size_t>(p)];
            const std::vector<Use>& before = reads(v);
            if (before.empty() || before.back().step != s || before.back().param != p) reads(v).push_back({s, p});
            check_place(s, v, graph.params[static_cast<std::size_t>(p)].size);
        }
    }

    // An output that takes over what its kernel reads is bound to the parameter that is read, which has the leaf's value.
    void note_write(int s, const ir::KernelGraph::Output& output, const PlanStep& step) {
        const int bound = step.values[static_cast<std::size_t>(output.param)];
        check_place(s, bound, step.kernel.graph.params[static_cast<std::size_t>(output.param)].size);
        if (value(bound).where != Where::Leaf) {
            writes(bound).push_back({s, output.param});
            return;
        }
        for (const int v : step.values)
            if (value(v).where == Where::Donated && value(v).leaf == value(bound).leaf) {
                writes(v).push_back({s, output.param});
                return;
            }
        require(false, bound, "step ", s, " writes it, though it was not donated");
    }

    // ---- places -------------------------------------------------------------------------------------------------------

    static std::int64_t reach(const Shape& shape, const Dims& strides) {
        std::int64_t size = numel(shape) ? 1 : 0;
        for (std::size_t d = 0; d < strides.size() && size; ++d) size += std::abs(strides[d]) * (shape[d] - 1);
        return size;
    }

    void check_place(int s, int v, std::int64_t size) const {
        const PlanValue& info = value(v);
        const std::int64_t there = info.first_constant >= 0 ? numel(info.shape) : reach(info.shape, info.strides);
        require(size <= there, v, "step ", s, " may touch ", size, " elements of ", there);
    }

    void check_value(int v) {
        const PlanValue& info = value(v);
        const auto bytes_of = [&](const PlanValue& x) {
            return reach(x.shape, x.strides) * static_cast<std::int64_t>(size_of(x.dtype));
        };
        require(writes(v).size() <= 1, v, "written by ", writes(v).size(), " steps");
        switch (info.where) {
            case Where::Leaf:
                require(info.leaf >= 0 && info.leaf < static_cast<int>(captured_.leaves.size()), v, "no such leaf");
                require(writes(v).empty(), v, "a leaf that a step writes");
                break;
            case Where::Donated: check_donated(v); break;
            case Where::Output: require(bytes_of(info) <= info.bytes, v, "larger than its memory"); break;
            case Where::Arena:
                require(bytes_of(info) <= info.bytes && info.arena_offset >= 0 &&
                            info.arena_offset + info.bytes <= static_cast<std::int64_t>(plan_.arena_bytes),
                        v, "beyond the arena of ", plan_.arena_bytes, " bytes");
                break;
            case Where::Inside: {
                require(info.whole >= 0 && info.whole < count() && value(info.whole).where != Where::Inside, v,
                        "part of no whole");
                const PlanValue& whole = value(info.whole);
                require(whole.where == Where::Output || whole.where == Where::Arena, v, "part of a leaf");
                require(info.dtype == whole.dtype && info.offset >= 0 &&
                            info.offset + reach(info.shape, info.strides) <= numel(whole.shape),
                        v, "beyond its whole, ", name(info.whole));
                inside_[info.whole].push_back(v);
                break;
            }
        }
    }

    // ---- donation -----------------------------------------------------------------------------------------------------

    void check_donated(int v) {
        const PlanValue& info = value(v);
        require(info.leaf >= 0 && info.leaf < static_cast<int>(captured_.leaves.size()), v, "no such leaf");
        const StorageView& view = captured_.leaf(info.leaf);
        require(captured_.leaves[static_cast<std::size_t>(info.leaf)].donatable, v, "somebody still sees this leaf");
        require(ir::is_dense(view), v, "this leaf is not dense");
        require(numel(info.shape) * size_of(info.dtype) <= numel(view.shape) * size_of(view.dtype), v,
                "larger than the leaf");
        for (int l = 0; l < static_cast<int>(captured_.leaves.size()); ++l)
            require(l == info.leaf || captured_.leaf(l).storage != view.storage, v, "leaf ", l,
                    " has the same storage");
        for (const Use& write : writes(v)) {
            const int& first = donated_.try_emplace(info.leaf, v).first->second;
            require(first == v, v, "the leaf was donated to value ", first, " as well");
            for (std::size_t s = static_cast<std::size_t>(write.step); s < plan_.steps.size(); ++s)
                require(!plan_.steps[s].kernel.checks && !plan_.steps[s].kernel.custom, v, "step ", write.step,
                        " writes it, and step ", s, " may raise");
        }
        require(info.first_constant < 0 || !writes(v).empty(), v, "a box that nobody writes");
    }

    // ---- reads --------------------------------------------------------------------------------------------------------

    void check_reads(int v) {
        const PlanValue& info = value(v);
        for (const Use& read : reads(v)) {
            if (numel(info.shape) == 0) continue;
            if (info.where == Where::Leaf) check_leaf_read(v, read);
            else if (info.where == Where::Donated) {
                const auto found = donated_.find(info.leaf);  // the box, for who reads the whole array
                require(found != donated_.end() && writes(found->second)[0].step < read.step, v, "step ", read.step,
                        " reads it before it is written");
            } else if (info.where != Where::Inside && !inside_.contains(v)) {
                require(!writes(v).empty() && writes(v)[0].step < read.step, v, "step ", read.step,
                        " reads it before it is written");
            }
        }
    }

    void check_leaf_read(int v, const Use& read) {
        const auto found = donated_.find(value(v).leaf);
        if (found == donated_.end()) return;
        const Use& write = writes(found->second)[0];
        const bool in_place = write.step == read.step && write.param == read.param;
        require(read.step < write.step || in_place, v, "step ", read.step, " reads it, and step ", write.step,
                " has written value ", found->second, " there");
    }

    // ---- parts --------------------------------------------------------------------------------------------------------

    Box box_of(int v, int whole) const {
        const PlanValue &info = value(v), &outer = value(whole);
        Box box{Dims::filled(outer.shape.size(), 0), Dims::filled(outer.shape.size(), 1)};
        const Dims strides = row_major_strides(outer.shape);
        if (v == whole) {
            box.size = Dims(outer.shape.begin(), outer.shape.end());
            return box;
        }
        std::int64_t left = info.offset;
        for (std::size_t d = 0; d < strides.size(); ++d) {
            if (outer.shape[d] == 1 || strides[d] == 0) continue;
            box.start[d] = left / strides[d];
            left %= strides[d];
        }
        std::size_t axis = strides.size();
        for (std::size_t d = info.shape.size(); d-- > 0;) {
            if (info.shape[d] == 1) continue;
            do require(axis > 0, v, "its strides are not those of its whole, ", name(whole));
            while (outer.shape[--axis] == 1 || strides[axis] != info.strides[d]);
            box.size[axis] = info.shape[d];
        }
        for (std::size_t d = 0; d < strides.size(); ++d)
            require(box.start[d] + box.size[d] <= outer.shape[d], v, "beyond its whole, ", name(whole));
        return box;
    }

    static std::int64_t common(const Box& a, const Box& b) {
        std::int64_t size = 1;
        for (std::size_t d = 0; d < a.start.size(); ++d) {
            const std::int64_t length =
                std::min(a.start[d] + a.size[d], b.start[d] + b.size[d]) - std::max(a.start[d], b.start[d]);
            if (length <= 0) return 0;
            size *= length;
        }
        return size;
    }

    void check_parts(int whole, std::vector<int> values) {
        if (numel(value(whole).shape) == 0) return;
        values.push_back(whole);
        std::vector<std::pair<int, Box>> written, read;
        for (const int v : values) {
            if (numel(value(v).shape) == 0) continue;
            if (!writes(v).empty()) written.emplace_back(v, box_of(v, whole));
            if (!reads(v).empty() || is_output(v)) read.emplace_back(v, box_of(v, whole));
        }
        for (std::size_t i = 0; i < written.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                require(common(written[i].second, written[j].second) == 0, written[i].first,
                        "has elements in common with value ", written[j].first, ", ", name(written[j].first));
        for (const auto& [v, box] : read) {
            int first = is_output(v) ? static_cast<int>(plan_.steps.size()) : INT32_MAX;
            for (const Use& use : reads(v)) first = std::min(first, use.step);
            std::int64_t there = 0;
            for (const auto& [w, part] : written)
                if (writes(w)[0].step < first) there += common(box, part);
            require(there == numel(value(v).shape), v, "step ", first, " reads it when ", there, " elements of ",
                    numel(value(v).shape), " are written");
        }
    }

    // ---- the arena ----------------------------------------------------------------------------------------------------

    void check_arena() {
        struct Life {
            int first = INT32_MAX, last = -1;
        };
        std::unordered_map<int, Life> lives;
        for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s)
            for (const int used : plan_.steps[static_cast<std::size_t>(s)].values) {
                const int v = value(used).where == Where::Inside ? value(used).whole : used;
                if (value(v).where != Where::Arena || value(v).bytes == 0) continue;
                Life& life = lives[v];
                life.first = std::min(life.first, s);
                life.last = std::max(life.last, s);
            }
        std::vector<std::pair<int, int>> starts, ends;  // (step, value)
        for (const auto& [v, life] : lives) {
            starts.emplace_back(life.first, v);
            ends.emplace_back(life.last, v);
        }
        std::sort(starts.begin(), starts.end());
        std::sort(ends.begin(), ends.end());
        std::map<std::int64_t, int> alive;  // by offset
        std::size_t ended = 0;
        for (const auto& [step, v] : starts) {
            for (; ended < ends.size() && ends[ended].first < step; ++ended)
                alive.erase(value(ends[ended].second).arena_offset);
            const auto [at, fresh] = alive.emplace(value(v).arena_offset, v);
            const auto end_of = [&](int w) { return value(w).arena_offset + value(w).bytes; };
            const auto next = std::next(at);
            const int other = !fresh                                                             ? at->second
                              : next != alive.end() && next->first < end_of(v)                   ? next->second
                              : at != alive.begin() && end_of(std::prev(at)->second) > at->first ? std::prev(at)->second
                                                                                                 : -1;
            require(other < 0, v, "lies where value ", other, ", ", name(std::max(0, other)), ", is alive in step ",
                    step);
        }
    }

    // ---- outputs ------------------------------------------------------------------------------------------------------

    bool is_output(int v) const {
        return std::find(plan_.outputs.begin(), plan_.outputs.end(), v) != plan_.outputs.end();
    }

    // A copy has the value of what it copies: both may be stored as one array.
    static const Node& stored_value(const Node& root) {
        return root.op == Op::Contiguous ? stored_value(root.source()) : root;
    }

    void check_outputs() {
        if (plan_.outputs.size() != captured_.outputs.size() || roots_.size() != plan_.outputs.size())
            throw InternalError(str("plan: ", plan_.outputs.size(), " outputs of ", captured_.outputs.size()));
        std::unordered_map<int, std::size_t> seen;
        for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
            const int v = plan_.outputs[i];
            if (v < 0 || v >= count()) throw InternalError(str("plan: output ", i, " has no value"));
            const Node& asked = *captured_.outputs[i];
            require(value(v).shape == asked.shape && value(v).dtype == asked.dtype, v, "output ", i, " is ",
                    asked.dtype, asked.shape);
            require(value(v).where != Where::Arena, v, "output ", i, " ends with the run");
            if (value(v).where == Where::Inside)
                require(value(value(v).whole).where != Where::Arena, v, "output ", i, " is part of a temporary");
            require(value(v).where != Where::Leaf || !donated_.contains(value(v).leaf), v, "output ", i,
                    " is memory that was donated");
            const auto [found, fresh] = seen.try_emplace(v, i);
            require(fresh || &stored_value(*roots_[found->second]) == &stored_value(*roots_[i]), v, "outputs ",
                    found->second, " and ", i, " are two values in one place");
            if (value(v).where == Where::Output && numel(value(v).shape) > 0 && !inside_.contains(v))
                require(!writes(v).empty(), v, "output ", i, " is never written");
            require(value(v).where != Where::Donated || !writes(v).empty(), v, "output ", i, " is never written");
        }
        for (const auto& [item, v] : plan_.kept) {
            const int home = value(v).where == Where::Inside ? value(v).whole : v;
            require(value(home).where == Where::Output || value(home).where == Where::Donated, v,
                    "kept for a gradient, but ends with the run");
        }
    }

    const Plan& plan_;
    const Captured& captured_;
    std::span<const NodeRef> roots_;
    std::vector<std::vector<Use>> writes_, reads_;  // by value
    std::unordered_map<int, int> donated_;          // leaf -> the value that is written there
    std::map<int, std::vector<int>> inside_;        // whole -> what lies in it
};

}  // namespace

void verify_plan(const Plan& plan, const Captured& captured, std::span<const NodeRef> roots) {
    PlanVerifier(plan, captured, roots).run();
}

}  // namespace weft::schedule
