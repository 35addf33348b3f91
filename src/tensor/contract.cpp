// tensor/contract.cpp: sums of products of labelled nodes. Two terms at a time become one sum of products, which the kernel
// layer recognises as a contraction; the order of the pairs is chosen for the fewest multiplications.
#include "tensor/contract.h"

#include "ir/build.h"
#include "tensor/nodes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <span>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;
using LabelSet = std::uint64_t;

LabelSet bit(int label) { return LabelSet{1} << label; }
LabelSet set_of(const Labels& labels) {
    LabelSet set = 0;
    for (const int label : labels) set |= bit(label);
    return set;
}

using LabelSizes = std::array<std::int64_t, kMostLabels>;

double volume(LabelSet set, const LabelSizes& sizes) {
    double product = 1;
    for (; set; set &= set - 1) product *= static_cast<double>(sizes[std::countr_zero(set)]);
    return product;
}

// ---- one term --------------------------------------------------------------------------------------------------------

// Axis b is a's diagonal partner: both become one, at the place of a.
NodeRef diagonal(const NodeRef& x, int a, int b) {
    const std::int64_t size = x->shape[a];
    Dims order;
    for (int d = 0; d < x->rank(); ++d)
        if (d != a && d != b) order.push_back(d);
    const int front = static_cast<int>(order.size());
    order.push_back(a), order.push_back(b);
    const NodeRef last = ir::permute(x, order);
    Shape joined(last->shape.begin(), last->shape.end() - 2);
    joined.push_back(size * size);
    const NodeRef picked = nodes::strided(ir::reshape(last, joined), front, size + 1, size);
    Dims back;  // the diagonal, which is last now, to the place of a
    for (int d = 0; d < front; ++d) back.push_back(d);
    back.insert(back.begin() + a, front);
    return ir::permute(picked, back);
}

void take_diagonals(Term& term) {
    for (std::size_t i = 0; i < term.labels.size(); ++i)
        for (std::size_t j = i + 1; j < term.labels.size();) {
            if (term.labels[i] != term.labels[j]) {
                ++j;
                continue;
            }
            const int a = static_cast<int>(i), b = static_cast<int>(j);
            if (term.node->shape[a] == 0) {
                Shape shape = term.node->shape;  // no elements: any axis may go
                shape.erase(shape.begin() + b);
                term.node = ir::reshape(term.node, shape);
            } else {
                term.node = diagonal(term.node, a, b);
            }
            term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
        }
}

// Without axes of size 1 that other terms stretch.
void drop_stretched(Term& term, const LabelSizes& sizes) {
    Dims axes;
    Labels kept;
    for (std::size_t d = 0; d < term.labels.size(); ++d)
        if (term.node->shape[d] == 1 && sizes[term.labels[d]] != 1) axes.push_back(static_cast<std::int64_t>(d));
        else kept.push_back(term.labels[d]);
    term.node = nodes::drop_axes(term.node, axes);
    term.labels = kept;
}

// Summed over the labels that nobody else needs.
void sum_out(Term& term, LabelSet needed) {
    Dims axes;
    Labels kept;
    for (std::size_t d = 0; d < term.labels.size(); ++d)
        if (needed & bit(term.labels[d])) kept.push_back(term.labels[d]);
        else axes.push_back(static_cast<std::int64_t>(d));
    if (axes.empty()) return;
    term.node = nodes::reduced(Op::Add, term.node, axes, false);
    term.labels = kept;
}

// With its axes in the order of `domain`, and size 1 where it lacks a label.
NodeRef spread_over(const Term& term, const Labels& domain) {
    Dims order;
    Shape shape;
    for (const int label : domain) {
        const auto found = std::find(term.labels.begin(), term.labels.end(), label);
        if (found == term.labels.end()) {
            shape.push_back(1);
            continue;
        }
        order.push_back(found - term.labels.begin());
        shape.push_back(term.node->shape[order.back()]);
    }
    return ir::reshape(ir::permute(term.node, order), shape);
}

// ---- two terms -------------------------------------------------------------------------------------------------------

// The product, summed over what is not needed; its axes are [batch, a's own, b's own].
Term multiply(Term a, Term b, LabelSet needed) {
    sum_out(a, needed | set_of(b.labels));
    sum_out(b, needed | set_of(a.labels));
    const LabelSet in_a = set_of(a.labels), in_b = set_of(b.labels);
    Labels batch, left, summed, right;
    for (const int label : a.labels)
        ((in_b & bit(label)) == 0 ? left : needed & bit(label) ? batch : summed).push_back(label);
    for (const int label : b.labels)
        if (!(in_a & bit(label))) right.push_back(label);
    Labels domain = batch;
    domain.insert(domain.end(), left.begin(), left.end());
    Dims axes = Dims::filled(summed.size());
    std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(domain.size()));
    Term result{nullptr, domain};
    result.labels.insert(result.labels.end(), right.begin(), right.end());
    domain.insert(domain.end(), summed.begin(), summed.end());
    domain.insert(domain.end(), right.begin(), right.end());
    const auto several = [](const Term& term, const Labels& labels) {  // elements along these axes
        return std::ranges::any_of(labels, [&](int label) {
            return term.node->shape[std::ranges::find(term.labels, label) - term.labels.begin()] > 1;
        });
    };
    const bool matrices = several(a, left) && several(b, right) && !summed.empty();
    const NodeRef products = ir::product(spread_over(a, domain), spread_over(b, domain),
                                         matrices ? nodes::rounding_of(a.node, b.node) : ir::FusedArg{});
    result.node = nodes::reduced(Op::Add, products, axes, false);
    return result;
}

// ---- the order of the pairs ------------------------------------------------------------------------------------------

using Subset = std::uint32_t;
constexpr std::size_t kExact = 8;  // terms; 3^8 pairs of subsets are looked at

// The cheapest split of every set of terms: exact, by dynamic programming.
class BestSplits {
public:
    BestSplits(std::span<const Term> terms, LabelSet output, const LabelSizes& sizes) {
        const Subset all = (Subset{1} << terms.size()) - 1;
        labels_.resize(all + 1), split_.resize(all + 1);
        std::vector<LabelSet> inside(all + 1);
        std::vector<double> cost(all + 1);
        for (Subset s = 1; s <= all; ++s) inside[s] = inside[s & (s - 1)] | set_of(terms[std::countr_zero(s)].labels);
        for (Subset s = 1; s <= all; ++s) labels_[s] = inside[s] & (output | inside[all & ~s]);
        for (Subset s = 1; s <= all; ++s) {
            if (std::has_single_bit(s)) continue;
            double best = std::numeric_limits<double>::infinity();
            for (Subset part = (s - 1) & s; part > (s & ~part); part = (part - 1) & s) {
                const Subset rest = s & ~part;
                const double sum = cost[part] + cost[rest] + volume(labels_[part] | labels_[rest], sizes);
                if (!(sum < best) && split_[s]) continue;
                best = sum;
                split_[s] = part;
            }
            cost[s] = best;
        }
    }
    Subset split(Subset s) const { return split_[s]; }
    LabelSet labels(Subset s) const { return labels_[s]; }  // what is left of this set's product

private:
    std::vector<LabelSet> labels_;
    std::vector<Subset> split_;
};

Term multiply_all(const BestSplits& splits, std::span<const Term> terms, Subset s) {
    if (std::has_single_bit(s)) return terms[std::countr_zero(s)];
    const Subset part = splits.split(s);
    return multiply(multiply_all(splits, terms, s & ~part), multiply_all(splits, terms, part), splits.labels(s));
}

// Always the pair that makes the remaining terms smallest.
Term multiply_greedily(std::vector<Term> terms, LabelSet output, const LabelSizes& sizes) {
    while (terms.size() > 1) {
        std::array<int, kMostLabels> uses{};
        for (const Term& term : terms)
            for (const int label : term.labels) ++uses[label];
        const auto needed_after = [&](const Term& a, const Term& b) {
            std::array<int, kMostLabels> here{};
            for (const int label : a.labels) ++here[label];
            for (const int label : b.labels) ++here[label];
            LabelSet needed = output;
            for (int label = 0; label < kMostLabels; ++label)
                if (uses[label] > here[label]) needed |= bit(label);
            return needed;
        };
        std::size_t first = 0, second = 1;
        double best = std::numeric_limits<double>::infinity(), best_cost = best;
        for (std::size_t i = 0; i < terms.size(); ++i)
            for (std::size_t j = i + 1; j < terms.size(); ++j) {
                const LabelSet in_i = set_of(terms[i].labels), in_j = set_of(terms[j].labels);
                const double growth = volume((in_i | in_j) & needed_after(terms[i], terms[j]), sizes) -
                                      volume(in_i, sizes) - volume(in_j, sizes);
                const double cost = volume(in_i | in_j, sizes);
                if (growth < best || (growth == best && cost < best_cost))
                    best = growth, best_cost = cost, first = i, second = j;
            }
        terms[first] = multiply(terms[first], terms[second], needed_after(terms[first], terms[second]));
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
    }
    return terms.front();
}

}  // namespace

NodeRef contract(std::vector<Term> terms, const Labels& output) {
    LabelSizes sizes;
    sizes.fill(1);
    for (Term& term : terms) {
        take_diagonals(term);
        for (std::size_t d = 0; d < term.labels.size(); ++d)
            if (const std::int64_t size = term.node->shape[d]; size != 1) sizes[term.labels[d]] = size;
    }
    for (Term& term : terms) drop_stretched(term, sizes);
    const LabelSet wanted = set_of(output);
    // The last axis of the result should be one of the right factor's, along which kernels store.
    if (terms.size() == 2 && !output.empty()) {
        const LabelSet last = bit(output.back());
        if ((set_of(terms[0].labels) & last) && !(set_of(terms[1].labels) & last)) std::swap(terms[0], terms[1]);
    }
    Term result = terms.size() == 1 ? terms.front()
                  : terms.size() <= kExact
                      ? multiply_all(BestSplits(terms, wanted, sizes), terms, (Subset{1} << terms.size()) - 1)
                      : multiply_greedily(std::move(terms), wanted, sizes);
    sum_out(result, wanted);
    Dims order;
    for (const int label : output)
        order.push_back(std::find(result.labels.begin(), result.labels.end(), label) - result.labels.begin());
    return ir::permute(result.node, order);
}

}  // namespace weft
