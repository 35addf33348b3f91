// tensor/products_einsum.cpp: reads an equation of Einstein's sums and hands labelled operands to contract().
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/contract.h"

#include <weft/products.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr int kLetters = 52, kDots = -1;  // labels 0 … 25 are A … Z, 26 … 51 a … z, those of "..." come after

int label_of(char letter) {
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
    return -1;
}
char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

// "ij...k" as labels, with kDots for the dots.
Labels parse(const Checker& check, std::string_view text) {
    Labels labels;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '.') {
            check.that(text.substr(i, 3) == "...", "a dot stands alone in '", text, "'; an ellipsis has three");
            check.that(std::find(labels.begin(), labels.end(), kDots) == labels.end(), "'", text, "' has two ellipses");
            labels.push_back(kDots);
            i += 2;
            continue;
        }
        const int label = label_of(text[i]);
        check.that(label >= 0, "'", text[i], "' is no letter from a to z or A to Z");
        labels.push_back(label);
    }
    return labels;
}

struct Equation {
    std::vector<Labels> operands;
    Labels output;
};

// Puts the labels of `count` axes in the place of the dots, aligned right with those of the widest ellipsis.
Labels with_dots(const Labels& labels, int count, int widest) {
    Labels result;
    for (const int label : labels) {
        if (label != kDots) result.push_back(label);
        else
            for (int d = widest - count; d < widest; ++d) result.push_back(kLetters + d);
    }
    return result;
}

Equation read(const Checker& check, std::string_view text, std::span<const Tensor> operands) {
    std::string equation;
    for (const char c : text)
        if (c != ' ') equation.push_back(c);
    const std::size_t arrow = equation.find("->");
    const std::string left = equation.substr(0, arrow);
    Equation result;
    std::vector<int> dots;  // axes under the ellipsis of each operand, -1 without one
    int widest = 0;
    for (std::size_t begin = 0; begin <= left.size();) {
        const std::size_t end = std::min(left.find(',', begin), left.size());
        Labels labels = parse(check, std::string_view(left).substr(begin, end - begin));
        const std::size_t i = result.operands.size();
        check.that(i < operands.size(), "the equation has more operands than the ", operands.size(), " given");
        const bool has_dots = std::find(labels.begin(), labels.end(), kDots) != labels.end();
        const int named = static_cast<int>(labels.size()) - has_dots, rank = operands[i].rank();
        check.that(has_dots ? rank >= named : rank == named, "operand ", i, " has ", rank, " axes, and ", named,
                   has_dots ? " letters beside its ellipsis" : " letters");
        dots.push_back(has_dots ? rank - named : 0);
        widest = std::max(widest, dots.back());
        result.operands.push_back(std::move(labels));
        begin = end + 1;
    }
    check.that(result.operands.size() == operands.size(), "the equation has ", result.operands.size(),
               " operands, and ", operands.size(), " are given");
    check.that(widest <= kMostLabels - kLetters, "an ellipsis stands for ", widest, " axes; at most ",
               kMostLabels - kLetters, " are possible");
    for (std::size_t i = 0; i < dots.size(); ++i) result.operands[i] = with_dots(result.operands[i], dots[i], widest);
    std::array<int, kMostLabels> uses{};
    for (const Labels& labels : result.operands)
        for (const int label : labels) ++uses[label];
    if (arrow == std::string::npos) {
        result.output = with_dots({kDots}, widest, widest);
        for (int label = 0; label < kLetters; ++label)
            if (uses[label] == 1) result.output.push_back(label);
        return result;
    }
    result.output = with_dots(parse(check, std::string_view(equation).substr(arrow + 2)), widest, widest);
    std::array<bool, kMostLabels> seen{};
    for (const int label : result.output) {
        check.that(!seen[label], "'", letter_of(label), "' stands twice in the result");
        check.that(uses[label] > 0, "'", letter_of(label), "' of the result is in no operand");
        seen[label] = true;
    }
    return result;
}

std::string name_of(int label) { return label < kLetters ? std::string(1, letter_of(label)) : "..."; }

// One size per label; 1 stretches, but not beside itself in one operand.
void check_sizes(const Checker& check, const Equation& equation, std::span<const Tensor> operands) {
    std::array<std::int64_t, kMostLabels> sizes;
    sizes.fill(1);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Labels& labels = equation.operands[i];
        const Shape shape = operands[i].shape();
        for (std::size_t d = 0; d < labels.size(); ++d) {
            for (std::size_t e = 0; e < d; ++e)
                check.that(labels[e] != labels[d] || shape[e] == shape[d], "'", name_of(labels[d]), "' of operand ", i,
                           " has the sizes ", shape[e], " and ", shape[d]);
            std::int64_t& size = sizes[labels[d]];
            check.that(size == 1 || shape[d] == 1 || size == shape[d], "'", name_of(labels[d]), "' has the sizes ",
                       size, " and ", shape[d]);
            if (size == 1) size = shape[d];
        }
    }
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
    const Checker check("einsum", {{"operands", operands}});
    check.value(!operands.empty(), "at least one operand is needed");
    const Equation parsed = read(check, equation, operands);
    check_sizes(check, parsed, operands);
    DType result = operands[0].dtype();
    for (const Tensor& operand : operands) result = promote(result, operand.dtype());
    check.dtype(!is_bool(result), "bools have no products to sum; convert one of them");
    std::vector<Term> terms;
    for (std::size_t i = 0; i < operands.size(); ++i)
        terms.push_back({ir::cast(node_of(operands[i]), accumulator_of(result)), parsed.operands[i]});
    return make_tensor(ir::cast(contract(std::move(terms), parsed.output), result));
}

}  // namespace weft
