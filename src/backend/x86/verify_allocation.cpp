// backend/x86/verify_allocation.cpp: one walk over the list that notes which virtual register's value each place (a machine's register, eight
// bytes of the frame) holds. A read must find its own register's value. At a label only what all jumps to it agree on is known; at the end of
// a loop, what its iterations read from before must still lie where it did.
#include "backend/x86/verify_allocation.h"

#include "core/str.h"

#include <weft/error.h>

#include <asmjit/x86.h>

#include <algorithm>

namespace weft::backend::x86 {
namespace {

namespace Id = asmjit::x86::Inst;

constexpr int kNobody = -1;
constexpr std::size_t kVectors = 16, kMasks = kVectors + 32,
                      kSlots = kMasks + 8;  // places: general registers come first
constexpr std::uint32_t kAssignable =
    0xf3e8;  // all but rax rcx rdx rsp, and r10 r11, which spilled values pass through

// It leaves the other lanes of its result as they were.
bool writes_in_part(const Ins& ins) {
    if (ins.count < 2 || !ins.writes_first || ins.o[0].kind != Operand::Kind::Register) return false;
    const bool blends = ins.id == Id::kIdVblendps || ins.id == Id::kIdVblendpd;
    return blends ? ins.o[0].reg == ins.o[1].reg : ins.lanes.id >= 0 && !ins.reads_first && reads_result(ins);
}

class Walk {
public:
    Walk(const Code& code, const Allocation& allocation, std::string_view kernel)
        : code_(code),
          allocation_(allocation),
          kernel_(kernel),
          held_(kSlots + static_cast<std::size_t>(allocation.frame_bytes / 8)),
          known_(code.regs.size(), Known::Never),
          carried_in_(code.regs.size(), -1),
          labels_(static_cast<std::size_t>(code.labels)) {}

    void run() {
        check_places();
        for (const Ins& ins : code_.list)
            for_each_reg(ins, [&](int id, bool writes, bool) {
                if (writes) known_[index(id)] = Known::NotYet;
            });
        for (; at_ < static_cast<int>(code_.list.size()); ++at_) step(code_.list[index(at_)]);
    }

private:
    // Of some registers only lanes are written, or some of the rows of a block: what is read of the others does not matter.
    enum class Known : std::uint8_t { Never, NotYet, InPart, Whole };

    struct Held {
        int reg = kNobody;
        int since = -1;  // instruction
    };
    struct Change {
        std::size_t place;
        Held before;
    };
    struct OpenLoop {
        int begin;
        std::vector<int> carried;  // what its iterations read from before, or from each other
    };
    struct Label {
        bool bound = false;
        std::vector<std::size_t> jumps;  // to here: how many changes there were
    };
    struct Places {
        std::size_t begin, end;
    };

    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    const RegInfo& info(int id) const { return code_.regs[index(id)]; }
    [[noreturn]] void fail(std::string_view what, int id) const {
        throw InternalError(str("x86: kernel ", kernel_, ": ", what, " (register ", id, ", instruction ", at_, ")"));
    }

    // A constant without a register is made anew wherever it is read.
    bool has_place(int id) const { return info(id).machine >= 0 || info(id).slot >= 0; }

    Places places_of(int id) const {
        const RegInfo& r = info(id);
        if (r.machine < 0) {
            const std::size_t first = kSlots + static_cast<std::size_t>(r.slot / 8);
            return {first, first + (r.cls == Class::Vec ? r.bytes / 8 : 1)};
        }
        const std::size_t base = r.cls == Class::Gp ? 0 : r.cls == Class::Vec ? kVectors : kMasks;
        return {base + static_cast<std::size_t>(r.machine), base + static_cast<std::size_t>(r.machine) + 1};
    }

    void check_places() const {
        const std::int64_t first_slot = code_.frame_bytes + (allocation_.vector_temporaries < 3 ? 3 * 64 : 0);
        for (int id = 0; id < static_cast<int>(code_.regs.size()); ++id) {
            const RegInfo& r = info(id);
            if (r.first < 0) continue;
            if (r.machine >= 0) {
                const bool free = r.cls == Class::Gp ? kAssignable >> r.machine & 1
                                  : r.cls == Class::Vec
                                      ? r.machine < allocation_.vectors - allocation_.vector_temporaries
                                      : r.machine >= 1 && r.machine <= 7 - allocation_.mask_temporaries;
                if (!free) fail("a register of the machine that is not to be had", id);
            } else if (!r.constant) {
                const std::int64_t bytes = r.cls == Class::Vec ? r.bytes : 8;
                if (r.slot < first_slot || r.slot % 8 || r.slot + bytes > allocation_.frame_bytes)
                    fail("a place beyond the frame's own", id);
            }
        }
    }

    void change(std::size_t place, Held now) {
        changes_.push_back({place, held_[place]});
        held_[place] = now;
    }

    void write(int id) {
        if (known_[index(id)] == Known::NotYet) known_[index(id)] = Known::Whole;
        if (!has_place(id)) return;
        const Places places = places_of(id);
        for (std::size_t p = places.begin; p < places.end; ++p) change(p, {id, at_});
    }

    void forget(int id) {
        const Places places = places_of(id);
        for (std::size_t p = places.begin; p < places.end; ++p) change(p, {kNobody, at_});
    }

    // A register that is read before it is written may hold what an earlier iteration left: nobody else has its place in between.
    void begin_in_part(int id) {
        known_[index(id)] = Known::InPart;
        const Places places = places_of(id);
        for (std::size_t p = places.begin; p < places.end; ++p) {
            if (!loops_.empty() && held_[p].since >= loops_.front().begin)
                fail("another value is where this one should be", id);
            change(p, {id, -1});
        }
    }

    bool holds(std::size_t place, int id) const {
        const int reg = held_[place].reg;
        return reg == id || (reg == kNobody && known_[index(id)] == Known::InPart);
    }

    void read(int id) {
        if (!has_place(id) || known_[index(id)] == Known::Never) return;
        if (known_[index(id)] == Known::NotYet) begin_in_part(id);
        const Places places = places_of(id);
        int since = at_;
        for (std::size_t p = places.begin; p < places.end; ++p) {
            if (!holds(p, id)) fail("another value is where this one should be", id);
            since = std::min(since, held_[p].since);
        }
        if (loops_.empty() || since >= loops_.back().begin || carried_in_[index(id)] == loops_.back().begin) return;
        carried_in_[index(id)] = loops_.back().begin;
        for (auto loop = loops_.rbegin(); loop != loops_.rend() && since < loop->begin; ++loop)
            loop->carried.push_back(id);
    }

    // A variable of another loop, which may not have run: on that way its lanes were never written, and nobody asks for them.
    void allow_part(int id) {
        const Places places = places_of(id);
        for (std::size_t p = places.begin; p < places.end; ++p)
            if (held_[p].reg == kNobody && known_[index(id)] == Known::Whole) known_[index(id)] = Known::InPart;
    }

    void step(const Ins& ins) {
        switch (ins.id) {
            case kBind: return bind(labels_[index(static_cast<int>(ins.o[0].value))]);
            case kLoopBegin: loops_.push_back({at_, {}}); return;
            case kLoopEnd: return end_loop();
            case kKeep: return;
            default: break;
        }
        if (is_gather_or_scatter(ins)) check_different(ins);
        check_widths(ins);
        if (writes_in_part(ins) && has_place(ins.o[0].reg.id)) allow_part(ins.o[0].reg.id);
        for_each_reg(ins, [&](int id, bool, bool reads) {
            if (reads) read(id);
        });
        for_each_reg(ins, [&](int id, bool writes, bool) {
            if (writes) write(id);
        });
        if (is_gather_or_scatter(ins)) {
            if (ins.lanes.id >= 0) forget_mask(ins.lanes.id);
            else if (ins.count > 2) forget_mask(ins.o[2].reg.id);
        }
        if (ins.count > 0 && ins.o[0].kind == Operand::Kind::Label) jump(ins);
    }

    // A spilled one passes through a temporary: its place keeps what it was.
    void forget_mask(int id) {
        if (info(id).machine >= 0) forget(id);
    }

    void check_different(const Ins& ins) const {
        std::vector<std::size_t> used;
        for_each_reg(ins, [&](int id, bool, bool) {
            if (info(id).machine >= 0 && info(id).cls != Class::Gp) used.push_back(places_of(id).begin);
        });
        std::sort(used.begin(), used.end());
        if (std::adjacent_find(used.begin(), used.end()) != used.end())
            fail("a gather's registers are one", ins.o[0].reg.id);
    }

    // What is wider than its register would lose the rest in the frame.
    void check_widths(const Ins& ins) const {
        for (int i = 0; i < ins.count; ++i) {
            const Operand& o = ins.o[i];
            if (o.kind == Operand::Kind::Register && o.reg.id >= 0 && info(o.reg.id).cls == Class::Vec &&
                o.bytes > info(o.reg.id).bytes)
                fail("a register is wider here than it is", o.reg.id);
        }
    }

    void end_loop() {
        const OpenLoop loop = std::move(loops_.back());
        loops_.pop_back();
        for (const int id : loop.carried) {
            const Places places = places_of(id);
            for (std::size_t p = places.begin; p < places.end; ++p)
                if (!holds(p, id)) fail("the next iteration of a loop needs a value that is gone", id);
        }
    }

    void jump(const Ins& ins) {
        Label& label = labels_[index(static_cast<int>(ins.o[0].value))];
        if (!label.bound) label.jumps.push_back(changes_.size());  // else a loop's, whose end follows
        if (ins.id == Id::kIdJmp) reachable_ = false;
    }

    void bind(Label& label) {
        label.bound = true;
        for (const std::size_t before : label.jumps) {
            const std::size_t count = changes_.size();
            std::vector<std::pair<std::size_t, Held>> then;  // what was there at the jump, of what changed since
            for (std::size_t c = before; c < count; ++c) {
                const std::size_t place = changes_[c].place;
                if (seen_.size() < held_.size()) seen_.resize(held_.size(), 0);
                if (seen_[place] == stamp_) continue;
                seen_[place] = stamp_;
                then.emplace_back(place, changes_[c].before);
            }
            ++stamp_;
            for (const auto& [place, held] : then) {
                if (!reachable_) change(place, held);
                else if (held_[place].reg != held.reg) change(place, {kNobody, at_});
                else if (held.since < held_[place].since) change(place, held);
            }
            reachable_ = true;
        }
        reachable_ = true;
    }

    const Code& code_;
    const Allocation& allocation_;
    const std::string_view kernel_;
    std::vector<Held> held_;       // by place
    std::vector<Change> changes_;  // all of them, in order
    std::vector<Known> known_;     // by register, so far
    std::vector<int> carried_in_;  // by register: the innermost loop that knows that it reads this from before
    std::vector<Label> labels_;
    std::vector<OpenLoop> loops_;
    std::vector<int> seen_;  // by place: noted at this bind
    int stamp_ = 1;
    int at_ = 0;
    bool reachable_ = true;
};

}  // namespace

void verify_allocation(const Code& code, const Allocation& allocation, std::string_view kernel) {
    Walk(code, allocation, kernel).run();
}

}  // namespace weft::backend::x86
