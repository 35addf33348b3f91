// backend/x86/allocate.cpp: linear scan over whole live ranges. A range that reaches into a loop from outside lasts to the end of
// that loop. When registers run out, what is used least, counted by loop depth and for its length, lives in the frame for good; constants first,
// since they are read again from memory and never stored. One pass in the common case; if something was spilled, another one
// leaves out as many registers as an instruction needs for its spilled values to pass through.
#include "backend/x86/allocate.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

namespace weft::backend::x86 {
namespace {

// rbx rbp rsi rdi r8 r9 r12-r15. rax, rcx and rdx belong to instructions that insist on them, r10 and r11 to spilled values.
constexpr std::int16_t kGps[] = {6, 7, 8, 9, 3, 5, 12, 13, 14, 15};

constexpr float kRare = 0.01f;  // of the work: so much may borrow registers

struct OpenLoop {
    std::int32_t begin, end;
};

// How often an instruction runs, roughly: by the iterations of the loops around it.
class Weight {
public:
    float at(const Ins& ins) {
        if (ins.id == kLoopBegin) {
            const auto iterations = static_cast<float>(std::clamp<std::int64_t>(ins.o[0].value, 1, 1024));
            outer_.push_back(weight_);
            weight_ *= iterations;
        } else if (ins.id == kLoopEnd) {
            weight_ = outer_.back();
            outer_.pop_back();
        }
        return weight_;
    }

private:
    float weight_ = 1;
    std::vector<float> outer_;
};

// What it costs if a register is none at this place. A constant that an instruction can read from memory is free there.
float worth(const Ins& ins, Reg reg, const RegInfo& r, bool broadcasts) {
    if (!r.constant) return 1;
    int last = ins.count - 1;
    if (ins.o[last].kind == Operand::Kind::Immediate) --last;
    const bool in_memory = ins.element && ins.o[last].reg == reg &&
                           (r.pool_bytes == ins.o[last].bytes || (broadcasts && r.pool_bytes == ins.element));
    return in_memory || ins.id == kMove ? 0.25f : 0.75f;
}

void find_ranges(Code& code, bool broadcasts) {
    const auto count = static_cast<std::int32_t>(code.list.size());
    std::vector<std::int32_t> end_of(count, 0), open;
    for (std::int32_t i = 0; i < count; ++i) {
        if (code.list[i].id == kLoopBegin) open.push_back(i);
        if (code.list[i].id == kLoopEnd) end_of[open.back()] = i, open.pop_back();
    }
    for (RegInfo& r : code.regs) r.first = r.last = -1, r.weight = 0;
    std::vector<OpenLoop> loops;
    Weight weights;
    for (std::int32_t i = 0; i < count; ++i) {
        const Ins& ins = code.list[i];
        const float weight = weights.at(ins);
        if (ins.id == kLoopBegin) loops.push_back({2 * i, 2 * end_of[i] + 1});
        else if (ins.id == kLoopEnd) loops.pop_back();
        for_each_reg(ins, [&](int id, bool writes, bool reads) {
            RegInfo& r = code.regs[id];
            std::int32_t at = 2 * i + (writes ? 1 : 0);
            if (r.first < 0) {
                r.first = at;
                if (reads && !loops.empty()) {  // read first: what an earlier round of a loop left there
                    r.first = loops.front().begin;
                    at = loops.front().end;
                }
            }
            for (const OpenLoop& loop : loops)
                if (loop.begin > r.first) {
                    at = std::max(at, loop.end);
                    break;
                }
            r.last = std::max(r.last, at);
            r.weight += weight * worth(ins, {id}, r, broadcasts);
        });
    }
    for (RegInfo& r : code.regs) r.weight /= static_cast<float>(r.last - r.first + 1);
}

class Scan {
public:
    Scan(Code& code, int vectors, int masks) : code_(code) {
        free_[0].assign(std::rbegin(kGps), std::rend(kGps));
        for (int r = vectors - 1; r >= 0; --r) free_[1].push_back(static_cast<std::int16_t>(r));
        for (int r = masks; r >= 1; --r) free_[2].push_back(static_cast<std::int16_t>(r));
    }

    void run(std::span<const int> order) {
        for (const int id : order) {
            RegInfo& r = code_.regs[id];
            expire(static_cast<int>(r.cls), r.first);
            place(id, r);
        }
    }

private:
    void expire(int cls, std::int32_t now) {
        std::erase_if(active_[cls], [&](int id) {
            if (code_.regs[id].last >= now) return false;
            free_[cls].push_back(code_.regs[id].machine);
            return true;
        });
    }

    void place(int id, RegInfo& r) {
        const int cls = static_cast<int>(r.cls);
        if (free_[cls].empty()) {
            const auto least = std::min_element(active_[cls].begin(), active_[cls].end(), [&](int a, int b) {
                return code_.regs[a].weight < code_.regs[b].weight;
            });
            if (least == active_[cls].end() || code_.regs[*least].weight >= r.weight) {
                r.machine = -1;
                return;
            }
            r.machine = code_.regs[*least].machine;
            code_.regs[*least].machine = -1;
            *least = id;
            return;
        }
        r.machine = take(cls, r);
        active_[cls].push_back(id);
    }

    // The register that this one is copied from, if that ends here: then the copy is no instruction.
    std::int16_t take(int cls, const RegInfo& r) {
        auto& free = free_[cls];
        const Ins& first = code_.list[r.first / 2];
        if (first.id == kMove && first.o[1].reg.id >= 0) {
            const auto wanted = std::find(free.begin(), free.end(), code_.regs[first.o[1].reg.id].machine);
            if (wanted != free.end()) {
                const std::int16_t machine = *wanted;
                free.erase(wanted);
                return machine;
            }
        }
        const std::int16_t machine = free.back();
        free.pop_back();
        return machine;
    }

    Code& code_;
    std::array<std::vector<std::int16_t>, 3> free_;
    std::array<std::vector<int>, 3> active_;
};

// What instructions need for their spilled values to pass through: how much of the work needs more than i vector registers,
// and how many mask registers at most.
struct Needs {
    std::array<float, 4> beyond{};
    float all = 0;
    int masks = 0;
};

Needs temporaries_needed(const Code& code) {
    Needs needs;
    Weight weights;
    for (const Ins& ins : code.list) {
        const float weight = weights.at(ins);
        if (ins.id == kConstant || ins.id == kKeep) continue;
        int vectors = 0, masks = 0;
        bool result = false;
        for_each_reg(ins, [&](int id, bool writes, bool reads) {
            const RegInfo& r = code.regs[id];
            if (r.machine >= 0) return;
            if (r.cls == Class::Vec && writes && !reads) result = true;
            else (r.cls == Class::Vec ? vectors : masks) += r.cls != Class::Gp;
        });
        if (result && !vectors) vectors = 1;  // else it comes out where a source was
        if (ins.id == kMove) vectors = vectors == 2, masks = masks == 2;
        needs.all += weight;
        for (int i = 0; i < std::min(vectors, 3); ++i) needs.beyond[static_cast<std::size_t>(i)] += weight;
        needs.masks = std::max(needs.masks, std::min(masks, 2));
    }
    return needs;
}

// Places in the frame, used again once their register is dead. Registers come in the order of their first use.
class Slots {
public:
    explicit Slots(std::int64_t& frame_bytes) : end_(frame_bytes) {}

    std::int32_t take(const RegInfo& r) {
        const std::int64_t bytes = r.cls == Class::Vec ? r.bytes : 8;
        auto& known = by_size_[bytes];  // soonest free first
        std::int64_t at;
        if (!known.empty() && known.begin()->first < r.first) {
            at = known.begin()->second;
            known.erase(known.begin());
        } else {
            at = (end_ + bytes - 1) / bytes * bytes;
            end_ = at + bytes;
        }
        known.emplace(r.last, at);
        return static_cast<std::int32_t>(at);
    }

private:
    std::int64_t& end_;
    std::map<std::int64_t, std::multimap<std::int32_t, std::int64_t>> by_size_;
};

}  // namespace

Allocation allocate(Code& code, int vectors) {
    find_ranges(code, vectors == 32);
    std::vector<int> order;
    for (int id = 0; id < static_cast<int>(code.regs.size()); ++id)
        if (code.regs[id].first >= 0) order.push_back(id);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return code.regs[a].first < code.regs[b].first; });
    Allocation result;
    result.vectors = vectors;
    for (;;) {
        Scan(code, vectors - result.vector_temporaries, 7 - result.mask_temporaries).run(order);
        const Needs needs = temporaries_needed(code);
        const float more = needs.beyond[static_cast<std::size_t>(result.vector_temporaries)];
        const bool enough = more == 0 || (result.vector_temporaries > 0 && more < kRare * needs.all);
        if (enough && needs.masks <= result.mask_temporaries) break;
        result.vector_temporaries += !enough;
        result.mask_temporaries += needs.masks > result.mask_temporaries;
    }
    result.borrowed = code.frame_bytes;
    result.frame_bytes = code.frame_bytes + (result.vector_temporaries < 3 ? 3 * 64 : 0);
    Slots slots(result.frame_bytes);
    for (const int id : order) {
        RegInfo& r = code.regs[id];
        if (r.machine < 0 && !r.constant) r.slot = slots.take(r);
        else if (r.machine >= 0 && r.cls == Class::Gp) result.gps |= 1u << r.machine;
    }
    result.frame_bytes = (result.frame_bytes + 63) / 64 * 64;
    return result;
}

}  // namespace weft::backend::x86
