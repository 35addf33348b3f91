// backend/x86/interleave.cpp: an expression is emitted one operand after the other, so each instruction waits for the one before it, and
// a processor that looks a hundred instructions ahead sees few that can run. Where a loop's straight-line code is one long
// chain, chains that do not depend on each other take turns instead: a list schedule by the longest path to the end of the block. Runs before
// registers are assigned; values, and the order of loads and stores among each other, stay.
#include "backend/x86/interleave.h"

#include <asmjit/x86.h>

#include <algorithm>
#include <unordered_map>

namespace weft::backend::x86 {
namespace {

namespace Id = asmjit::x86::Inst;

constexpr std::size_t kShortest = 16, kLongest = 512;  // blocks, in instructions
constexpr std::size_t kWindow = 64;                    // so many are under way
constexpr int kOften = 8;                              // uses of a constant that are worth a register
constexpr int kMaskRegisters = 6;                      // of seven: another one passes through memory

// Time in thirds of a cycle: three wide instructions begin in two cycles.
constexpr int kCycle = 3, kIssue = 2;

int latency(const Ins& ins) {
    switch (ins.id) {
        case kMove:
        case kConstant: return 0;
        case Id::kIdVmovups:
        case Id::kIdVmovupd:
        case Id::kIdVbroadcastss:
        case Id::kIdVbroadcastsd: return 7 * kCycle;
        case Id::kIdVdivps:
        case Id::kIdVdivpd:
        case Id::kIdVsqrtps:
        case Id::kIdVsqrtpd: return 13 * kCycle;
        case Id::kIdVpand:
        case Id::kIdVpandd:
        case Id::kIdVpandq:
        case Id::kIdVpor:
        case Id::kIdVpord:
        case Id::kIdVporq:
        case Id::kIdVpxor:
        case Id::kIdVpxord:
        case Id::kIdVpxorq:
        case Id::kIdVpaddd:
        case Id::kIdVpaddq:
        case Id::kIdVpsubd:
        case Id::kIdVpsubq:
        case Id::kIdVpslld:
        case Id::kIdVpsrld:
        case Id::kIdVpsrad:
        case Id::kIdVprold:
        case Id::kIdVprolq:
        case Id::kIdVpternlogd:
        case Id::kIdVpternlogq:
        case Id::kIdVblendmps:
        case Id::kIdVblendmpd:
        case Id::kIdMov:
        case Id::kIdLea:
        case Id::kIdAdd:
        case Id::kIdImul: return kCycle;
        default: return 4 * kCycle;
    }
}

// Or a hint, which keeps its place among loads like a store: many at once are worse than none.
bool is_store(const Ins& ins) { return ins.o[0].kind == Operand::Kind::Memory; }

// What is loaded from, or null.
const Operand* loaded(const Ins& ins) {
    const Operand* const found = std::find_if(ins.o + 1, ins.o + ins.count, [](const Operand& o) {
        return o.kind == Operand::Kind::Memory && o.base != Operand::Base::Pool;
    });
    return found == ins.o + ins.count ? nullptr : found;
}

// No jump and nothing for one; no flags that are read, no register that the machine insists on.
bool may_move(const Ins& ins, const Code& code) {
    if (ins.id >= kMove && ins.id != kMove && ins.id != kConstant) return false;
    if (ins.id == Id::kIdCmp || ins.id == Id::kIdTest) return false;  // of memory, too: no store, but flags
    if (!ins.count || (!ins.writes_first && !is_store(ins))) return false;
    for (int i = 0; i < ins.count; ++i)
        if (ins.o[i].kind == Operand::Kind::Label || (ins.o[i].kind == Operand::Kind::Register && ins.o[i].reg.id < 0))
            return false;
    const bool general = ins.o[0].kind == Operand::Kind::Register &&
                         code.regs[static_cast<std::size_t>(ins.o[0].reg.id)].cls == Class::Gp;
    if (general) {
        return ins.id == kMove || ins.id == Id::kIdMov || ins.id == Id::kIdLea || ins.id == Id::kIdAdd ||
               ins.id == Id::kIdImul;
    }
    return !is_gather_or_scatter(ins);  // they clear their mask
}

class Interleaving {
public:
    Interleaving(Code& code, int vectors)
        : code_(code),
          vectors_(vectors),
          uses_(code.regs.size(), 0),
          accesses_(code.regs.size()),
          numbers_(code.regs.size()) {
        for (const Ins& ins : code.list) for_each_reg(ins, [&](int id, bool, bool) { ++uses_[index(id)]; });
    }

    void run(std::size_t begin, std::size_t end, bool innermost) {
        begin_ = begin;
        end_ = end;
        connect();
        if (longest() <= static_cast<int>(std::min(nodes_.size(), kWindow)) * kIssue) return;  // there is always work
        find_vectors();
        // Beside an inner loop no more are alive than before: the allocator would take the registers from the loop.
        const int room = innermost ? vectors_ - constants_held() : std::min(vectors_, alive_now());
        Order order = schedule(room);
        for (int most = room; order.vectors > room && most > room / 2;) order = schedule(most -= order.vectors - room);
        if (order.vectors > vectors_) return;
        std::vector<Ins> block;
        for (const std::size_t i : order.nodes) {
            if (nodes_[i].copied) block.push_back(code_.list[nodes_[i].at - 1]);
            block.push_back(ins(i));
        }
        std::move(block.begin(), block.end(), code_.list.begin() + static_cast<std::ptrdiff_t>(begin_));
    }

private:
    struct Edge {
        std::size_t to;
        int latency;
    };
    struct Node {
        std::size_t at = 0;   // in the list
        bool copied = false;  // it overwrites what the instruction before it copies: the two stay together
        int waits = 0;        // for so many others
        int ready = 0;        // when they are done
        int height = 0;       // until the end of the block
        std::vector<Edge> then;
        std::vector<std::size_t> vectors;  // that it uses, by number
    };
    struct Vector {  // or a mask
        bool mask = false;
        int nodes = 0;         // that use it
        bool outside = false;  // it has its register before or after the block
        bool begun = false;
    };
    struct Order {
        std::vector<std::size_t> nodes;
        int vectors = 0;  // that are alive at once, at most
    };
    struct Access {
        std::ptrdiff_t written = -1;     // by which node, last
        std::vector<std::size_t> reads;  // since then
    };

    static constexpr std::size_t kUnnumbered = static_cast<std::size_t>(-1);

    static std::size_t index(int id) { return static_cast<std::size_t>(id); }
    const Ins& ins(std::size_t i) const { return code_.list[nodes_[i].at]; }

    void edge(std::ptrdiff_t from, std::size_t to, int latency) {
        if (from < 0 || static_cast<std::size_t>(from) == to) return;
        nodes_[static_cast<std::size_t>(from)].then.push_back({to, latency});
    }
    void read(Access& a, std::size_t i) {
        if (a.written >= 0) edge(a.written, i, latency(ins(static_cast<std::size_t>(a.written))));
        a.reads.push_back(i);
    }
    void write(Access& a, std::size_t i) {
        for (const std::size_t reader : a.reads) edge(static_cast<std::ptrdiff_t>(reader), i, 0);
        edge(a.written, i, 0);
        a.written = static_cast<std::ptrdiff_t>(i);
        a.reads.clear();
    }

    void connect() {
        nodes_.clear();
        for (std::size_t at = begin_; at < end_; ++at) {
            const Ins& ins = code_.list[at];
            const bool copied = ins.id == kMove && at + 1 < end_ && code_.list[at + 1].reads_first &&
                                code_.list[at + 1].o[0].reg == ins.o[0].reg;
            nodes_.push_back({.at = at += copied, .copied = copied});
        }
        for (std::size_t at = begin_; at < end_; ++at)
            for_each_reg(code_.list[at], [&](int id, bool, bool) { accesses_[index(id)] = {}; });
        Access memory[2];  // the kernel's own, and what it was given
        const auto at = [&](const Operand& o) -> Access& { return memory[may_overlap(o, frame(0))]; };
        const auto note = [&](const Ins& ins, std::size_t i) {
            for_each_reg(ins, [&](int id, bool writes, bool reads) {
                if (reads) read(accesses_[index(id)], i);
                if (writes) write(accesses_[index(id)], i);
            });
            if (const Operand* from = loaded(ins)) read(at(*from), i);
            if (is_store(ins)) write(at(ins.o[0]), i);
        };
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i].copied) note(code_.list[nodes_[i].at - 1], i);
            note(ins(i), i);
        }
    }

    int longest() {
        int longest = 0;
        for (std::size_t i = nodes_.size(); i-- > 0;) {
            nodes_[i].height = latency(ins(i));
            for (const Edge& e : nodes_[i].then)
                nodes_[i].height = std::max(nodes_[i].height, e.latency + nodes_[e.to].height);
            longest = std::max(longest, nodes_[i].height);
        }
        return longest;
    }

    // Numbers the vectors and masks of the block. Constants may be read from memory, and do not count.
    void find_vectors() {
        vector_list_.clear();
        for (std::size_t at = begin_; at < end_; ++at)
            for_each_reg(code_.list[at], [&](int id, bool, bool) { numbers_[index(id)] = kUnnumbered; });
        std::vector<int> uses;
        for (Node& node : nodes_) {
            const auto note = [&](int id, bool writes, bool reads) {
                const RegInfo& r = code_.regs[index(id)];
                if (r.cls == Class::Gp || r.constant) return;
                std::size_t& number = numbers_[index(id)];
                if (number == kUnnumbered) {
                    number = vector_list_.size();
                    vector_list_.push_back({.mask = r.cls == Class::Mask, .outside = reads && !writes});
                    uses.push_back(uses_[index(id)]);
                }
                --uses[number];
                if (std::find(node.vectors.begin(), node.vectors.end(), number) != node.vectors.end()) return;
                node.vectors.push_back(number);
                ++vector_list_[number].nodes;
            };
            if (node.copied) for_each_reg(code_.list[node.at - 1], note);
            for_each_reg(code_.list[node.at], note);
        }
        for (std::size_t v = 0; v < vector_list_.size(); ++v) vector_list_[v].outside |= uses[v] > 0;
    }

    // How many vectors and masks are alive after the instructions taken so far.
    struct Pressure {
        explicit Pressure(const Interleaving& of) : nodes(of.nodes_), vectors(of.vector_list_) {
            for (const Vector& v : vectors)  // a sum may grow in memory
                (v.mask ? masks : alive) += v.outside && v.nodes > 1;
        }
        int change(std::size_t i, bool mask = false) const {
            int by = 0;
            for (const std::size_t number : nodes[i].vectors) {
                const Vector& v = vectors[number];
                if (v.mask == mask && !v.outside && (v.begun ? v.nodes == 1 : v.nodes > 1)) by += v.begun ? -1 : 1;
            }
            return by;
        }
        bool lacks_mask(std::size_t i) const {
            const int by = change(i, true);
            return by > 0 && masks + by > kMaskRegisters;
        }
        int take(std::size_t i) {
            alive += change(i);
            masks += change(i, true);
            for (const std::size_t number : nodes[i].vectors) vectors[number].begun = true, --vectors[number].nodes;
            return alive;
        }
        const std::vector<Node>& nodes;
        std::vector<Vector> vectors;
        int alive = 0, masks = 0;
    };

    int alive_now() const {  // at most, in the order as it is
        Pressure pressure(*this);
        int most = 0;
        for (std::size_t i = 0; i < nodes_.size(); ++i) most = std::max(most, pressure.take(i));
        return most;
    }

    // Registers for constants that are read again and again: each of many chains at once would load each of them.
    int constants_held() const {
        std::unordered_map<int, int> uses;
        for (std::size_t at = begin_; at < end_; ++at)
            for_each_reg(code_.list[at], [&](int id, bool, bool) {
                const RegInfo& r = code_.regs[index(id)];
                if (r.cls == Class::Vec && r.constant) ++uses[id];
            });
        const auto often =
            std::count_if(uses.begin(), uses.end(), [](const auto& use) { return use.second >= kOften; });
        return std::min(static_cast<int>(often), vectors_ / 4);
    }

    // Of the instructions that could begin now, the one farthest from the end; if none can, the one that can first. Where `most` vectors
    // are alive, one that makes no more; else the first in the old order, which goes on with what was begun longest ago.
    Order schedule(int most) {
        Order order;
        Pressure pressure(*this);
        for (Node& node : nodes_) node.waits = node.ready = 0;
        for (const Node& node : nodes_)
            for (const Edge& e : node.then) ++nodes_[e.to].waits;
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            if (!nodes_[i].waits) open.push_back(i);
        for (int now = 0; !open.empty(); now += kIssue) {
            const auto sooner = [&](std::size_t a, std::size_t b) {
                const int x = std::max(nodes_[a].ready, now), y = std::max(nodes_[b].ready, now);
                if (x != y) return x < y;
                if (nodes_[a].height != nodes_[b].height) return nodes_[a].height > nodes_[b].height;
                return a < b;
            };
            auto best = std::min_element(open.begin(), open.end(), sooner);
            const bool full = pressure.alive + pressure.change(*best) > most;
            if (full || pressure.lacks_mask(*best))
                best = std::min_element(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
                    const bool x = (full && pressure.change(a) > 0) || pressure.lacks_mask(a),
                               y = (full && pressure.change(b) > 0) || pressure.lacks_mask(b);
                    if (x != y) return y;
                    return x ? a < b : sooner(a, b);
                });
            const std::size_t i = *best;
            open.erase(best);
            order.nodes.push_back(i);
            order.vectors = std::max(order.vectors, pressure.take(i));
            now = std::max(now, nodes_[i].ready);
            for (const Edge& e : nodes_[i].then) {
                nodes_[e.to].ready = std::max(nodes_[e.to].ready, now + e.latency);
                if (--nodes_[e.to].waits == 0) open.push_back(e.to);
            }
        }
        return order;
    }

    Code& code_;
    const int vectors_;
    std::vector<int> uses_;             // of each register, in all the code
    std::vector<Access> accesses_;      // of each register, in the block
    std::vector<std::size_t> numbers_;  // of each register, in the block
    std::size_t begin_ = 0, end_ = 0;
    std::vector<Node> nodes_;
    std::vector<Vector> vector_list_;
};

}  // namespace

void interleave(Code& code, int vectors) {
    Interleaving interleaving(code, vectors);
    std::vector<bool> innermost(code.list.size(), false);  // what begins here
    for (std::size_t i = 0, begun = 0; i < code.list.size(); ++i) {
        if (code.list[i].id == kLoopBegin) begun = i;
        else if (code.list[i].id == kLoopEnd) innermost[begun] = true;
    }
    std::vector<std::size_t> loops;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < code.list.size(); ++i) {
        const Ins& ins = code.list[i];
        if (may_move(ins, code)) continue;
        if (const std::size_t size = i - begin; !loops.empty() && size >= kShortest && size <= kLongest)
            interleaving.run(begin, i, innermost[loops.back()]);
        begin = i + 1;
        if (ins.id == kLoopBegin) loops.push_back(i);
        else if (ins.id == kLoopEnd) loops.pop_back();
    }
}

}  // namespace weft::backend::x86
