// backend/linear.h: an index as a sum of loop variables and other values times constants: what addresses are made of.
#pragma once

#include "ir/node.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::backend {

struct Linear {
    std::vector<std::pair<const ir::Node*, std::int64_t>> terms;  // no factor is 0, no node occurs twice
    std::int64_t constant = 0;
};

namespace detail {

inline void add_terms(const ir::Node& index, std::int64_t factor, Linear& sum) {
    using ir::Op;
    const auto constant = [](const ir::Node& node) { return static_cast<std::int64_t>(node.as<ir::ConstArg>().value); };
    if (index.op == Op::Const) sum.constant += factor * constant(index);
    else if (index.op == Op::Add) {
        add_terms(index.source(0), factor, sum);
        add_terms(index.source(1), factor, sum);
    } else if (index.op == Op::Sub) {
        add_terms(index.source(0), factor, sum);
        add_terms(index.source(1), -factor, sum);
    } else if (index.op == Op::Neg) add_terms(index.source(), -factor, sum);
    else if (index.op == Op::Mul && index.source(1).op == Op::Const)
        add_terms(index.source(0), factor * constant(index.source(1)), sum);
    else if (index.op == Op::Mul && index.source(0).op == Op::Const)
        add_terms(index.source(1), factor * constant(index.source(0)), sum);
    else {
        for (auto& [node, by] : sum.terms)
            if (node == &index) {
                by += factor;
                return;
            }
        sum.terms.emplace_back(&index, factor);
    }
}

}  // namespace detail

inline Linear linear(const ir::Node& index) {
    Linear sum;
    detail::add_terms(index, 1, sum);
    std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
    return sum;
}

}  // namespace weft::backend
