// backend/x86/emit_statements.cpp: the function around a kernel: its loops and stores.
#include "backend/x86/emit_internal.h"

#include "backend/x86/raw_nodes.h"
#include "ir/walk.h"

namespace weft::backend::x86 {

using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;
using kernel::Store;

Emitter::Emitter(const kernel::Kernel& kernel, Expanded expanded, bool wide)
    : Buffers(kernel, std::move(expanded), wide),
      placement_(kernel_, expanded_),
      loops_(1),
      seen_raw_(raw_nodes(expanded_.body)) {}

Emitted Emitter::run() {
    emit(expanded_.body);
    return {finish(), take_calls()};
}

// ---- loops and stores ------------------------------------------------------------------------------------------------

void Emitter::emit(const kernel::Body& body) {
    for (const Stmt& stmt : body) {
        if (stmt.loop()) emit(*stmt.loop());
        else if (stmt.store()) emit(*stmt.store());
        else emit(*stmt.prefetch());
    }
}

void Emitter::emit(const Loop& loop) {
    if (loop.kind == LoopKind::Vector) return emit(loop.body);  // lanes: no loop
    known_.forget(stored_in(loop.body));
    go_to_innermost();
    const bool parallel = loop.kind == LoopKind::Parallel, guarded = parallel || loop.count;
    Operand end = imm(loop.extent());
    if (parallel) end = frame(kArgEnd, 8);
    else if (loop.count) {
        const Reg most = constant_gp(loop.extent()), count = value(*loop.count).reg, r = gp_reg();
        move(r, count);
        put_store(Id::kIdCmp, {gp(most), gp(r)});
        put(Id::kIdCmovl, {gp(r), gp(most)}).reads_first = true;
        end = gp(r);
    } else if (!fits32(loop.extent())) end = gp(constant_gp(loop.extent()));

    const Reg counter = gp_reg();
    open_level();
    known_.open_level();
    loops_.push_back({counter, {}});
    placement_.enter(loop, guarded && !parallel);
    emit(loop.body);
    placement_.leave();
    const LoopRegs regs = std::move(loops_.back());
    loops_.pop_back();
    known_.close_level();
    std::vector<Ins> body = close_level();

    go_to_innermost();
    const int head = new_label(), exit = new_label();
    if (parallel) put(Id::kIdMov, {gp(counter), frame(kArgBegin, 8)});
    else put(Id::kIdMov, {gp(counter), imm(0)});
    if (guarded) {
        put_store(Id::kIdCmp, {gp(counter), end});
        put_store(Id::kIdJge, {label(exit)});
    }
    for (const auto& [unit, r] : regs.inductions) {
        if (parallel) put(Id::kIdImul, {gp(r), gp(counter), imm(unit)});
        else put(Id::kIdMov, {gp(r), imm(0)});
    }
    put_store(kLoopBegin, {imm(parallel ? kUnknownTurns : loop.extent())});
    bind(head);
    append(std::move(body));
    for (const auto& [unit, r] : regs.inductions) put(Id::kIdAdd, {gp(r), imm(unit)}).reads_first = true;
    put(Id::kIdAdd, {gp(counter), imm(1)}).reads_first = true;
    if (loop.polls) {  // a loop that is to stop has reached its end
        const Value stop = call_helper({.operand = DType::I64, .result = DType::I64, .polls = true}, {}, {});
        const Reg last = gp_reg();
        put(Id::kIdMov, {gp(last), end});
        put_store(Id::kIdTest, {gp(stop.reg), gp(stop.reg)});
        put(Id::kIdCmovnz, {gp(counter), gp(last)}).reads_first = true;
    }
    put_store(Id::kIdCmp, {gp(counter), end});
    put_store(Id::kIdJl, {label(head)});
    put(kLoopEnd, {});
    bind(exit);
}

void Emitter::emit(const Store& store) {
    go_to_innermost();
    emit_depths(store.value);
    const int index_lane = facts(*store.index).lane;
    const bool private_lanes = is_lane_array(store.buffer);
    if (in_variables(store.buffer)) variable_store(store, value(*store.value));
    else if (private_lanes || index_lane >= 0) {
        if (!half_store(store))
            lane_store(store, index_lane >= 0 ? index_lane : kernel_.buffers[store.buffer].lane_loop,
                       vector_value(*store.value));
    } else {
        Value v = value(*store.value);
        if (v.vector) v = last_lane(v, store.value->dtype, used_lanes(facts(*store.value).lane));
        const DType t = store.value->dtype;
        scalar_store(t, address(store.buffer, *store.index, static_cast<int>(size_of(t))), v);
    }
    known_.forget(bit_of(store.buffer));
}

// A long chain is emitted in pieces, from the bottom: value() calls itself, and the stack may be small. What only a rare branch
// needs is left to it.
void Emitter::emit_depths(const NodeRef& root) {
    constexpr int kPiece = 32;
    if (facts(*root).height < kPiece) return;
    const std::vector<const Node*> order = ir::topological_order(std::span(&root, 1));
    std::unordered_set<const Node*> needed{root.get()};
    const auto is_rare = [](const Node& node) { return std::holds_alternative<ir::RareArg>(node.arg); };
    for (auto node = order.rbegin(); node != order.rend(); ++node)
        if (needed.contains(*node))
            for (std::size_t i = 0; i < (*node)->sources.size(); ++i)
                if (i != 1 || !is_rare(**node)) needed.insert((*node)->sources[i].get());
    for (const Node* node : order) {
        const bool piece = facts(*node).height % kPiece == kPiece - 1 || is_rare(*node);
        if (piece && needed.contains(node) && is_float(node->dtype) && node->op != Op::Load) value(*node);
    }
}

}  // namespace weft::backend::x86
