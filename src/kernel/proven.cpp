// kernel/proven.cpp: two proofs in the usual case, of the lowered and of the optimised kernel. If the second one fails, each pass is proven
// on its own, to find the one to leave out.
#include "kernel/proven.h"

#include "kernel/lower.h"
#include "kernel/verify.h"

#include <weft/error.h>

namespace weft::kernel {
namespace {

using Names = std::vector<std::string_view>;

struct Guilty {
    std::string_view pass;
    std::string why;
};

// The first pass that ends without a proof, or fails.
Guilty guilty_pass(const ir::KernelGraph& graph, const Target& target, const Names& without) {
    std::string_view last;
    const auto prove = [&](std::string_view pass, const Kernel& kernel) {
        last = pass;
        verify(kernel, pass);
        verify_memory(kernel, pass);
    };
    try {
        optimise(lower(graph, target.numerics), target, without, prove);
    } catch (const InternalError& error) {
        return {last, error.what()};
    }
    return {};
}

}  // namespace

Proven proven_kernel(const ir::KernelGraph& graph, const Target& target, const Trace& trace) {
    const std::vector<int> donated = donated_parameters(graph);
    Kernel lowered = lower(graph, target.numerics);
    std::vector<int> unordered = verify_memory(lowered, "lower", donated);
    std::vector<std::string> refused;
    for (Names without;;) {
        try {
            Kernel kernel =
                optimise(without.empty() ? std::move(lowered) : lower(graph, target.numerics), target, without, trace);
            for (const int param : verify_memory(kernel, "optimise", donated)) unordered.push_back(param);
            return {std::move(kernel), std::move(unordered), std::move(refused)};
        } catch (const InternalError&) {
            const Guilty guilty = guilty_pass(graph, target, without);
            if (guilty.pass.empty() || guilty.pass == "lower") throw;
            refused.push_back(guilty.why);
            without.push_back(guilty.pass);
        }
    }
}

}  // namespace weft::kernel
