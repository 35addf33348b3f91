// tests/support/eager.h: the oracle: computes a tensor node at once, element by element, with no compiler in between.
// Slow and obvious: what it says is what a graph means.
#pragma once

#include "ir/node.h"

#include <span>
#include <vector>

namespace weft::testing {

// The elements in row-major order. Maths on f32 is done in f64 and rounded, and so are sums and products of many f32.
// A failing Check throws IndexError. Iterative: any depth of graph works on a small stack.
std::vector<Word> evaluate_eagerly(const ir::NodeRef& node);
// With `jitter`, each result that may have been rounded is changed at random by up to that many units in its last place: how far
// the outcome moves says how well the graph determines it. Whole numbers made of whole numbers are exact, and stay.
std::vector<std::vector<Word>> evaluate_eagerly(std::span<const ir::NodeRef> nodes,
                                                double jitter = 0);  // shared parts are computed once

std::vector<double> evaluate_to_doubles(const ir::NodeRef& node);

// Memory for Buffer nodes in tests.
struct HostStorage : ir::Storage {
    explicit HostStorage(std::size_t size) : memory(size) {
        address = reinterpret_cast<std::uintptr_t>(memory.data());
        bytes = size;
    }
    std::vector<std::byte> memory;
};

// A dense Buffer with these values, converted to the dtype.
ir::NodeRef buffer_of(DType dtype, const Shape& shape, std::span<const double> values);

}  // namespace weft::testing
