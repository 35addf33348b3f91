// backend/x86/split_registers.cpp: unrolled code stores to the same variables again and again. Where a vector is written whole, without a
// look at what it held, the new value is a register of its own: what is between its uses is free for others, and nothing waits for
// the old value's last reader. Straight-line code alone, and only registers that nothing outside of it uses. Runs before all other steps on the
// list.
#include "backend/x86/split_registers.h"

#include <algorithm>

namespace weft::backend::x86 {
namespace {

bool is_block_end(const Ins& ins) {
    if (ins.id == kBind || ins.id == kLoopBegin || ins.id == kLoopEnd) return true;
    return std::any_of(ins.o, ins.o + ins.count, [](const Operand& o) { return o.kind == Operand::Kind::Label; });
}

class Splitting {
public:
    explicit Splitting(Code& code) : code_(code), uses_(code.regs.size(), 0), state_(code.regs.size()) {
        for (const Ins& ins : code.list) for_each_reg(ins, [&](int id, bool, bool) { ++uses_[at(id)]; });
    }

    void run() {
        for (std::size_t begin = 0; begin < code_.list.size();) {
            std::size_t end = begin;
            while (end < code_.list.size() && !is_block_end(code_.list[end])) ++end;
            block(begin, end);
            begin = end + 1;
        }
    }

private:
    struct State {
        int seen = 0;             // uses in this block
        int writes = 0;           // of those
        bool written = false;     // so far
        bool read_first = false;  // what came before the block
        int now = -1;             // the register that it is called by
    };
    static std::size_t at(int id) { return static_cast<std::size_t>(id); }

    void block(std::size_t begin, std::size_t end) {
        const auto for_each = [&](const Ins& ins, auto f) {
            for_each_reg(ins, [&](int id, bool writes, bool reads) {
                if (at(id) < state_.size() && code_.regs[at(id)].cls == Class::Vec) f(state_[at(id)], writes, reads);
            });
        };
        for (std::size_t i = begin; i < end; ++i) for_each(code_.list[i], [](State& state, bool, bool) { state = {}; });
        for (std::size_t i = begin; i < end; ++i) {
            for_each(code_.list[i], [](State& state, bool, bool reads) {
                ++state.seen;
                state.read_first |= reads && !state.written;
            });
            for_each(code_.list[i], [](State& state, bool writes, bool reads) {
                state.written |= writes;
                state.writes += writes && !reads;
            });
        }
        for (std::size_t i = begin; i < end; ++i) rename(code_.list[i]);
    }

    bool splits(Reg r) const {
        if (r.id < 0 || at(r.id) >= state_.size() || code_.regs[at(r.id)].cls != Class::Vec) return false;
        const State& state = state_[at(r.id)];
        return state.writes > 1 && !state.read_first && state.seen == uses_[at(r.id)];
    }

    // What is read comes first: the instruction may write its own operand anew.
    void rename(Ins& ins) {
        const bool writes = ins.count > 0 && ins.o[0].kind == Operand::Kind::Register && ins.writes_first &&
                            !reads_result(ins) && splits(ins.o[0].reg);
        const auto read = [&](Reg& r) {
            if (splits(r)) r.id = state_[at(r.id)].now;
        };
        for (int i = writes ? 1 : 0; i < ins.count; ++i) {
            read(ins.o[i].reg);
            read(ins.o[i].index);
        }
        if (!writes) return;
        State& state = state_[at(ins.o[0].reg.id)];
        state.now = state.now < 0 ? ins.o[0].reg.id : code_.make(Class::Vec, code_.regs[at(ins.o[0].reg.id)].bytes).id;
        ins.o[0].reg.id = state.now;
    }

    Code& code_;
    std::vector<int> uses_;  // of each register, in all the code
    std::vector<State> state_;
};

}  // namespace

void split_registers(Code& code) { Splitting(code).run(); }

}  // namespace weft::backend::x86
