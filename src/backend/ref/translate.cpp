// backend/ref/translate.cpp: loop IR to the form that `ref` interprets. Nothing is moved or reordered: a statement
// evaluates its whole expression each time. Only sums of multiples of loop variables, which most indices are, become a
// single instruction.
#include "backend/ref/code.h"
#include "core/str.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace weft::backend::ref {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;

// constant + sum of factor * variable, all modulo 2^64, by variable slot
struct SlotSum {
    Word constant = 0;
    std::map<int, Word> factors;
};

class Translator {
public:
    explicit Translator(const kernel::Kernel& kernel) : kernel_(kernel) {
        code_.name = kernel.name;
        for (const ir::CheckArg& check : kernel.checks) code_.checks.push_back({check.low, check.high});
        for (std::size_t s = 0; s < kernel.scalars.size(); ++s) code_.scalar_slots.push_back(new_slot());
        for (const kernel::Buffer& buffer : kernel.buffers) {
            const bool local = buffer.role == kernel::Buffer::Role::Local;
            const bool own = local && (buffer.memory != kernel::Buffer::MemoryType::Scratch || buffer.lane_loop >= 0 ||
                                       buffer.per_thread);
            code_.memories.push_back({.name = buffer.name,
                                      .dtype = buffer.dtype,
                                      .role = buffer.role,
                                      .own = own,
                                      .size = buffer.size,
                                      .scratch_offset = buffer.scratch_offset,
                                      .lanes = buffer.per_thread ? kernel::kMaxThreads : 1,
                                      .lane_var = buffer.per_thread ? -1 : 0,
                                      .of_block = own});
        }
    }

    Code run() {
        code_.body = translate(kernel_.body);
        code_.parallel = code_.body.size() == 1 && kernel_.body[0].loop() &&
                         (kernel_.body[0].loop()->kind == kernel::LoopKind::Parallel ||
                          kernel_.body[0].loop()->kind == kernel::LoopKind::Block);
        return std::move(code_);
    }

private:
    std::vector<Step> translate(const kernel::Body& body) {
        std::vector<Step> steps;
        for (const kernel::Stmt& stmt : body)
            if (!stmt.prefetch()) steps.push_back(stmt.loop() ? translate(*stmt.loop()) : translate(*stmt.store()));
        return steps;
    }

    Step translate(const kernel::Loop& loop) {
        Step step{.kind = Step::Loop,
                  .extent = loop.extent(),
                  .polls = loop.polls,
                  .block = loop.kind == kernel::LoopKind::Block,
                  .thread = loop.kind == kernel::LoopKind::Thread};
        if (loop.count) step.count = evaluate(std::span(&loop.count, 1), step)[0];
        step.var = var_slot(loop.id());
        for (std::size_t b = 0; b < kernel_.buffers.size(); ++b)
            if (kernel_.buffers[b].lane_loop == loop.id()) {
                code_.memories[b].lanes = loop.extent();
                code_.memories[b].lane_var = step.var;
            }
        step.body = translate(loop.body);
        return step;
    }

    Step translate(const kernel::Store& store) {
        Step step{.kind = Step::Store, .buffer = store.buffer};
        const NodeRef roots[] = {store.index, store.value};
        const std::vector<int> slots = evaluate(roots, step);
        step.index = slots[0];
        step.value = slots[1];
        return step;
    }

    // Appends the instructions that compute the roots, and returns the roots' slots.
    std::vector<int> evaluate(std::span<const NodeRef> roots, Step& step) {
        slots_.clear();
        linear_.clear();
        step.first = static_cast<int>(code_.instructions.size());
        for (const Node* node : ir::topological_order(roots)) {
            if (std::optional<SlotSum> linear = as_linear(*node)) linear_.emplace(node, *std::move(linear));
            else slots_.emplace(node, translate(*node));
        }
        std::vector<int> result;
        for (const NodeRef& root : roots) result.push_back(slot_of(*root));
        step.last = static_cast<int>(code_.instructions.size());
        return result;
    }

    int translate(const Node& node) {
        if (node.op == Op::Const) return constant_slot(node.as<ir::ConstArg>().value);
        if (node.op == Op::ScalarParam) return code_.scalar_slots[node.as<ir::SlotArg>().slot];
        Instruction i{.dtype = node.dtype, .operand = node.sources.back()->dtype};
        for (std::size_t s = 0; s < node.sources.size(); ++s) i.sources[s] = slot_of(node.source(static_cast<int>(s)));
        switch (node.op) {
            case Op::Cast: i.kind = Instruction::Cast; break;
            case Op::Bitcast: i.kind = Instruction::Bitcast; break;
            case Op::Load:
                i.kind = Instruction::Load;
                i.buffer = node.as<ir::LoadArg>().buffer;
                if (node.sources.size() == 1) i.sources[1] = -1;
                break;
            case Op::Check:
                i.kind = Instruction::Check;
                i.buffer = check_number(node.as<ir::CheckArg>());
                break;
            case Op::Lookup:
                i.kind = Instruction::Lookup;
                i.table = node.as<ir::TableArg>().entries;
                break;
            default:
                i.eval = ir::info(node.op).eval;
                if (!i.eval)
                    throw InternalError(str("kernel ", kernel_.name, ": ref cannot evaluate ", ir::name_of(node.op)));
        }
        i.result = new_slot();
        code_.instructions.push_back(i);
        return i.result;
    }

    std::optional<SlotSum> as_linear(const Node& node) {
        if (node.dtype != DType::I64) return {};
        if (node.op == Op::LoopVar) return SlotSum{0, {{var_slot(node.as<ir::LoopArg>().id), 1}}};
        if (node.op == Op::Const) return SlotSum{node.as<ir::ConstArg>().value, {}};
        if (node.op != Op::Add && node.op != Op::Sub && node.op != Op::Mul) return {};
        const auto left = linear_.find(&node.source(0)), right = linear_.find(&node.source(1));
        if (left == linear_.end() || right == linear_.end()) return {};
        SlotSum a = left->second, b = right->second;
        if (node.op == Op::Mul) {
            if (!a.factors.empty()) std::swap(a, b);
            if (!a.factors.empty()) return {};
            return plus_multiple({}, b, a.constant);
        }
        return plus_multiple(std::move(a), b, node.op == Op::Add ? 1 : ~Word(0));
    }

    static SlotSum plus_multiple(SlotSum sum, const SlotSum& other, Word factor) {
        sum.constant += other.constant * factor;
        for (const auto& [var, by] : other.factors) sum.factors[var] += by * factor;
        return sum;
    }

    int slot_of(const Node& node) {
        if (const auto found = slots_.find(&node); found != slots_.end()) return found->second;
        const SlotSum& linear = linear_.at(&node);
        int slot = 0;
        if (linear.factors.empty()) slot = constant_slot(linear.constant);
        else if (node.op == Op::LoopVar) slot = var_slot(node.as<ir::LoopArg>().id);
        else {
            slot = new_slot();
            const int first = static_cast<int>(code_.terms.size());
            for (const auto& [var, factor] : linear.factors) code_.terms.push_back({var, factor});
            code_.instructions.push_back({.kind = Instruction::Affine,
                                          .result = slot,
                                          .sources = {first, static_cast<int>(code_.terms.size()), 0},
                                          .constant = linear.constant});
        }
        slots_.emplace(&node, slot);
        return slot;
    }

    int check_number(const ir::CheckArg& check) const {
        for (std::size_t c = 0; c < kernel_.checks.size(); ++c)
            if (ir::equal(kernel_.checks[c], check)) return static_cast<int>(c);
        throw InternalError(str("kernel ", kernel_.name, " has a check that it does not list: ", check.what));
    }

    int new_slot() {
        code_.frame.push_back(0);
        return static_cast<int>(code_.frame.size()) - 1;
    }
    int var_slot(int id) {
        const auto [found, fresh] = vars_.try_emplace(id, 0);
        if (fresh) found->second = new_slot();
        return found->second;
    }
    int constant_slot(Word value) {
        const auto [found, fresh] = constants_.try_emplace(value, 0);
        if (fresh) {
            found->second = new_slot();
            code_.frame.back() = value;
        }
        return found->second;
    }

    const kernel::Kernel& kernel_;
    Code code_;
    std::unordered_map<int, int> vars_;  // by loop variable id
    std::unordered_map<Word, int> constants_;
    std::unordered_map<const Node*, int> slots_;       // of the statement in hand
    std::unordered_map<const Node*, SlotSum> linear_;  // likewise
};

}  // namespace

Code translate(const kernel::Kernel& kernel) { return Translator(kernel).run(); }

}  // namespace weft::backend::ref
