// backend/x86/emit_statements.cpp: the function around a kernel: its loops and stores, and how instructions and constants are noted down.
#include "backend/x86/emit_internal.h"

#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::backend::x86 {

using kernel::Buffer;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;
using kernel::Store;

Emitter::Emitter(const kernel::Kernel& kernel, Expanded expanded, bool wide)
    : kernel_(kernel),
      expanded_(std::move(expanded)),
      placement_(kernel_, expanded_),
      wide_(wide),
      lanes_(expanded_.lanes ? expanded_.lanes : 4),
      most_bytes_(wide ? 64 : 32),
      pointers_(kernel.buffers.size()),
      stack_arrays_(kernel.buffers.size(), -1) {
    code_.frame_bytes = kFrameFree;
    for (std::size_t b = 0; b < kernel.buffers.size(); ++b) {
        const LoweredBuffer& lowered = expanded_.buffers[b];
        if (!lowered.used || (lowered.form != LoweredBuffer::Array && lowered.form != LoweredBuffer::LaneArray))
            continue;
        const std::int64_t copies = lowered.form == LoweredBuffer::LaneArray ? lanes_
                                    : lowered.lane_var >= 0                  ? lowered.unit
                                                                             : 1;
        const auto element = static_cast<std::int64_t>(size_of(kernel.buffers[b].dtype));
        stack_arrays_[b] = frame_space(std::max<std::int64_t>(1, kernel.buffers[b].size) * copies * element);
    }
}

Emitted Emitter::run() {
    find_raw(expanded_.body);
    scopes_.emplace_back();
    emit(expanded_.body);
    code_.list = std::move(before_);
    code_.list.insert(code_.list.end(), scopes_.front().code.begin(), scopes_.front().code.end());
    return {std::move(code_), std::move(calls_)};
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
    forget(stored_in(loop.body));
    at_ = innermost();
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

    Scope scope;
    scope.code.reserve(64);
    scope.var = gp_reg();
    scopes_.push_back(std::move(scope));
    placement_.enter(loop, guarded && !parallel);
    emit(loop.body);
    placement_.leave();
    Scope inner = std::move(scopes_.back());
    for (const Node* node : inner.known) {
        const auto drop = [&](auto& known) {
            if (const auto found = known.find(node); found != known.end() && found->second.level == innermost())
                known.erase(found);
        };
        drop(values_);
        drop(broadcasts_);
    }
    scopes_.pop_back();

    at_ = innermost();
    const int head = new_label(), exit = new_label();
    if (parallel) put(Id::kIdMov, {gp(inner.var), frame(kArgBegin, 8)});
    else put(Id::kIdMov, {gp(inner.var), imm(0)});
    if (guarded) {
        put_store(Id::kIdCmp, {gp(inner.var), end});
        put_store(Id::kIdJge, {label(exit)});
    }
    for (const auto& [unit, r] : inner.inductions) {
        if (parallel) put(Id::kIdImul, {gp(r), gp(inner.var), imm(unit)});
        else put(Id::kIdMov, {gp(r), imm(0)});
    }
    put_store(kLoopBegin, {imm(parallel ? kUnknownTurns : loop.extent())});
    bind(head);
    std::vector<Ins>& code = scopes_.back().code;
    code.insert(code.end(), std::make_move_iterator(inner.code.begin()), std::make_move_iterator(inner.code.end()));
    for (const auto& [unit, r] : inner.inductions) put(Id::kIdAdd, {gp(r), imm(unit)}).reads_first = true;
    put(Id::kIdAdd, {gp(inner.var), imm(1)}).reads_first = true;
    if (loop.polls) {  // a loop that is to stop has reached its end
        const Value stop = call_helper({.operand = DType::I64, .result = DType::I64, .polls = true}, {}, {});
        const Reg last = gp_reg();
        put(Id::kIdMov, {gp(last), end});
        put_store(Id::kIdTest, {gp(stop.reg), gp(stop.reg)});
        put(Id::kIdCmovnz, {gp(inner.var), gp(last)}).reads_first = true;
    }
    put_store(Id::kIdCmp, {gp(inner.var), end});
    put_store(Id::kIdJl, {label(head)});
    put(kLoopEnd, {});
    bind(exit);
}

void Emitter::emit(const Store& store) {
    at_ = innermost();
    emit_depths(store.value);
    const LoweredBuffer& lowered = expanded_.buffers[store.buffer];
    const int index_lane = facts(*store.index).lane;
    const bool private_lanes = lowered.form == LoweredBuffer::LaneArray;
    if (in_variables(store.buffer)) variable_store(store, value(*store.value));
    else if (private_lanes || index_lane >= 0) {
        if (!half_store(store))
            lane_store(store, index_lane >= 0 ? index_lane : kernel_.buffers[store.buffer].lane_loop,
                       vector_value(*store.value));
    } else {
        Value v = value(*store.value);
        if (v.vector) v = last_lane(v, store.value->dtype, expanded_.lane_vars.at(facts(*store.value).lane));
        const DType t = store.value->dtype;
        scalar_store(t, address(store.buffer, *store.index, static_cast<int>(size_of(t))), v);
    }
    forget(bit_of(store.buffer));
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

void Emitter::forget(std::uint64_t buffers) {
    for (std::uint64_t rest = buffers; rest; rest &= rest - 1) {
        std::vector<const Node*>& nodes = loading_[static_cast<std::size_t>(std::countr_zero(rest))];
        for (const Node* node : nodes) {
            values_.erase(node);
            broadcasts_.erase(node);
        }
        nodes.clear();
    }
    if (!(loading_addresses_ & buffers)) return;
    for (Scope& scope : scopes_)
        std::erase_if(scope.addresses, [&](const auto& entry) {
            return std::any_of(entry.first.second.begin(), entry.first.second.end(),
                               [&](const auto& term) { return term.first && (facts(*term.first).buffers & buffers); });
        });
}

// A stored value is raw; so is what an op that computes nothing passes on, if its own result is.
void Emitter::find_raw(const kernel::Body& body) {
    std::vector<NodeRef> stored;
    std::vector<const kernel::Body*> bodies{&body};
    while (!bodies.empty()) {
        const kernel::Body& next = *bodies.back();
        bodies.pop_back();
        for (const Stmt& stmt : next) {
            if (const Loop* loop = stmt.loop()) {
                bodies.push_back(&loop->body);
                if (loop->count) stored.push_back(loop->count);
            } else if (stmt.prefetch()) {
                stored.push_back(stmt.prefetch()->load);
            } else {
                stored.push_back(stmt.store()->value);
                stored.push_back(stmt.store()->index);
            }
        }
    }
    for (const NodeRef& root : stored) seen_raw_.insert(root.get());
    const std::vector<const Node*> order = ir::topological_order(stored);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
        switch ((*node)->op) {
            case Op::Add:
            case Op::Sub:
            case Op::Mul:
            case Op::Div:
            case Op::Fma:
            case Op::Scale:
            case Op::Sqrt:
            case Op::Recip:
            case Op::CmpLt:
            case Op::CmpLe:
            case Op::CmpEq: break;
            case Op::Max:
            case Op::Min:
                if (!seen_raw_.contains(*node)) break;
                [[fallthrough]];
            default:
                for (const NodeRef& source : (*node)->sources) seen_raw_.insert(source.get());
        }
    }
}

// ---- instructions ----------------------------------------------------------------------------------------------------

Ins& Emitter::put(std::uint32_t id, std::initializer_list<Operand> operands) {
    std::vector<Ins>& code = at_ == kBefore ? before_ : scopes_[static_cast<std::size_t>(at_)].code;
    Ins& ins = code.emplace_back();
    ins.id = id;
    for (const Operand& o : operands) ins.o[ins.count++] = o;
    return ins;
}

Ins& Emitter::arithmetic(std::uint32_t id, int element, std::initializer_list<Operand> operands) {
    Ins& ins = put(id, operands);
    ins.element = static_cast<std::uint8_t>(element);
    return ins;
}

void Emitter::put_store(std::uint32_t id, std::initializer_list<Operand> operands) {
    put(id, operands).writes_first = false;
}

void Emitter::move(Reg to, Reg from) {
    const int bytes = to.id >= 0 ? code_.regs[to.id].bytes : 8;
    put(kMove, {gp(to, bytes), gp(from, bytes)});
}

void Emitter::bind(int number) { put_store(kBind, {label(number)}); }

std::int64_t Emitter::frame_space(std::int64_t bytes) {
    const std::int64_t at = code_.frame_bytes;
    code_.frame_bytes += (bytes + 63) / 64 * 64;
    return at;
}

std::int64_t Emitter::lane_slot(int number) {
    if (lane_slot_ < 0) lane_slot_ = frame_space(3 * kLaneSlot);
    return lane_slot_ + number * kLaneSlot;
}

// ---- constants: made before all loops; see kConstant -----------------------------------------------------------------

std::int32_t Emitter::pool_bytes(const void* data, std::size_t size) {
    std::size_t at = (code_.constants.size() + size - 1) / size * size;
    code_.constants.resize(at + size);
    std::memcpy(code_.constants.data() + at, data, size);
    return static_cast<std::int32_t>(at);
}

Reg Emitter::constant(std::vector<std::int64_t> key, Class cls, int bytes, const void* data, int size) {
    const auto [found, fresh] = constants_.try_emplace(std::move(key));
    if (!fresh) return found->second;
    const Reg r = code_.make(cls, bytes);
    RegInfo& info = code_.regs[r.id];
    info.constant = true;
    if (cls == Class::Mask) std::memcpy(&info.pool_offset, data, 4);
    else {
        info.pool_bytes = static_cast<std::uint8_t>(size);
        if (size) info.pool_offset = pool_bytes(data, static_cast<std::size_t>(size));
    }
    const AtLevel level(*this, kBefore);
    put(kConstant, {gp(r, bytes)});
    return found->second = r;
}

Reg Emitter::constant_vector(Word bits, int lane_bytes, int bytes) {
    if (lane_bytes == 4) bits &= 0xffffffff;
    if (!wide_ && bits) {  // whole, since AVX2 has no operands that are broadcast from memory
        const Word both = lane_bytes == 4 ? bits << 32 | bits : bits;
        const std::array<Word, 4> whole{both, both, both, both};
        return constant({0, static_cast<std::int64_t>(bits), lane_bytes, bytes}, Class::Vec, bytes, whole.data(),
                        bytes);
    }
    return constant({0, static_cast<std::int64_t>(bits), lane_bytes, bytes}, Class::Vec, bytes, &bits,
                    bits ? lane_bytes : 0);
}

Reg Emitter::constant_lanes(const std::vector<std::int64_t>& lanes, int lane_bytes) {
    std::vector<std::int64_t> key = lanes;
    key.push_back(lane_bytes);
    key.push_back(1);
    std::byte data[64] = {};
    for (std::size_t i = 0; i < lanes.size(); ++i)
        std::memcpy(data + i * static_cast<std::size_t>(lane_bytes), &lanes[i], static_cast<std::size_t>(lane_bytes));
    const int bytes = width(lane_bytes);
    return constant(std::move(key), Class::Vec, bytes, data, bytes);
}

Reg Emitter::lane_mask(int used, int lane_bytes) {
    if (wide_) return constant_mask((1u << used) - 1);
    std::vector<std::int64_t> ones(static_cast<std::size_t>(lanes_), 0);
    std::fill(ones.begin(), ones.begin() + used, -1);
    return constant_lanes(ones, lane_bytes);
}

Reg Emitter::constant_mask(std::uint32_t lanes) { return constant({2, lanes}, Class::Mask, 8, &lanes, 4); }

Reg Emitter::constant_gp(std::int64_t number) {
    const Reg r = gp_reg();
    put(Id::kIdMov, {gp(r), imm(number)});
    return r;
}

}  // namespace weft::backend::x86
