// tests/support/differential.h: one graph, several ways of computing it. What a graph means is decided by the eager
// oracle; that every optimisation, backend and number of threads gives the same bits, by comparing bits.
#pragma once

#include "ir/node.h"
#include "schedule/plan.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::testing {

using Roots = std::vector<ir::NodeRef>;
using WordLists = std::vector<std::vector<Word>>;  // per root, row-major

struct Mode {
    std::string backend = "ref";
    bool optimise = true;
    std::string without = {};  // one pass that is left out, by name
    std::string cpu = {};      // as WEFT_CPU; empty: as it is
    int threads = 1;
    bool donate = false;  // every input's memory may be taken over: the graph then runs on copies
    bool keep_denormals = true;
};
std::string to_string(const Mode& mode);

WordLists compute(const Roots& roots, const Mode& mode);

// The first difference in bits, as text; empty: none. A NaN equals a NaN: which of two payloads an addition passes on
// is no part of what an op means.
std::string first_difference(const Roots& roots, const WordLists& a, const WordLists& b);

// Compares a graph on `ref` with the oracle: exactly, but for values that maths or the order of a sum make inexact.
// Those are compared with a tolerance that fits the op and the type, and what follows from them is computed from the
// engine's value, so that no error grows on the way. For that they are asked for as well; without that the roots must
// come out the same. Empty: all is well.
std::string oracle_complaint(const Roots& roots);

// Is there a C compiler, and the backend that needs it?
bool have_backend(std::string_view name);

// Other values for all constants of a graph: a plan that has met the first ones takes these as scalars.
Roots with_other_constants(const Roots& roots, std::uint64_t seed);

// The plan of a graph, as a run would make it; for a target, or for none.
schedule::Plan plan_of(const Roots& roots, TargetRef target = nullptr);

// Compiles the kernels of many graphs with one start of the compiler. Afterwards they are in the program cache.
void compile_together(std::span<const Roots> graphs, const Mode& mode);

// Makes a failing graph smaller while `fails` still holds: fewer roots, nodes replaced by leaves with their values or
// by one of their sources.
Roots shrink_graph(Roots roots, const std::function<bool(const Roots&)>& fails);

// The graph, and the kernel that computes the given root, plain and optimised.
std::string describe(const Roots& roots, std::size_t root = 0);

}  // namespace weft::testing
