// kernel/row_parts.h: the body of a row as parts, each of which threads run in their own way; and which of its elements are a thread's own.
#pragma once

#include "kernel/kernel.h"

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace weft::kernel {

struct Part {
    enum class Kind : std::uint8_t {
        One,     // statements that run once
        Shared,  // a nest of loops whose iterations are shared out
        Around,  // a loop around other parts; `in_threads`: around Shared ones, run by each thread for itself
    };
    Kind kind = Kind::One;
    Body body;                          // One, Shared
    std::vector<NodeRef> vars;          // Shared: of the nest
    std::optional<std::int64_t> first;  // Shared: whose the first iteration is, if that matters; else thread 0's
    std::optional<Loop> loop;           // Around, without its body
    std::vector<Part> inside;           // Around
    bool in_threads = false;            // Around
};
using Parts = std::vector<Part>;

bool is_free(const Loop& loop);  // its iterations may be shared out

// The independent loops that stand alone in each other, outermost first, and what is inside.
std::pair<std::vector<NodeRef>, const Body*> free_nest(const Loop& loop);

std::int64_t shared_work(const Body& body);  // iterations that the threads of a block could share

Parts parts_of(const Body& body);

// Calls f(part) for the One and Shared parts, in their order.
template <class AnyParts, class F>
void for_each_part(AnyParts& parts, const F& f) {
    for (auto& part : parts) {
        if (part.kind == Part::Kind::Around) for_each_part(part.inside, f);
        else f(part);
    }
}

// Locals that are loaded or stored.
void locals_in(const Kernel& kernel, const NodeRef& expression, std::set<int>& found);
void locals_in(const Kernel& kernel, const Body& body, std::set<int>& found);
std::set<int> stored_in_body(const Body& body);

// Locals that every iteration of a nest stores to, at the same place, are the iteration's: other parts have other ones.
void rename_locals(Kernel& kernel, Parts& parts);

// The numbers of a row's locals and loops, by which a schedule names them: their order in its parts. What they are called in the kernel depends on
// what was made before.
std::vector<int> numbered_locals(const Kernel& kernel, const Parts& parts);
std::vector<Part*> numbered_loops(Parts& parts);  // those around other parts, outer ones first

// The statements with loads replaced where f gives something else.
using ReplaceLoad = std::function<NodeRef(const ir::Node& load, const ir::Sources& sources)>;
Body with_loads(const Kernel& kernel, const Body& body, const ReplaceLoad& f);

// Element i of an array belongs to thread i modulo `threads`. The place of the nest's first iteration among the threads, if each iteration
// has an element of its own thread.
std::optional<std::int64_t> own_place(const Kernel& kernel, const NodeRef& index, const std::vector<NodeRef>& vars,
                                      std::int64_t threads);

// Where the thread of an iteration keeps such an element among its own, counted from the iteration's round: (index - number - first) /
// threads, a function of the loops around the nest. Null: it is not its own.
NodeRef own_slot(const Kernel& kernel, const NodeRef& index, const std::vector<NodeRef>& vars, std::int64_t first,
                 std::int64_t threads);

// Notes whose each iteration is: that of an element that it stores to. Returns the arrays that are owned, of which each store agrees.
std::set<int> find_places(const Kernel& kernel, Parts& parts, std::int64_t threads);

bool is_loaded(const Part& part, int local);

// Whether no iteration loads another thread's elements.
bool loads_own(const Kernel& kernel, const Part& part, int local, std::int64_t threads);

}  // namespace weft::kernel
