// tests/support/differential.cpp: runs, comparisons, and the search for a smaller graph that still fails.
#include "tests/support/differential.h"

#include "backend/backend.h"
#include "cells/state.h"
#include "core/config.h"
#include "core/str.h"
#include "device/target.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "kernel/lower.h"
#include "kernel/optimise.h"
#include "pipeline/pipeline.h"
#include "pipeline/programs.h"
#include "tests/support/eager.h"
#include "tests/support/random_leaves.h"

#include <weft/debug.h>
#include <weft/error.h>

#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace weft::testing {

using ir::Node;
using ir::NodeRef;
using ir::Op;

namespace {

// Switches everything that a Mode names, for a while.
class ModeScope {
public:
    explicit ModeScope(const Mode& mode)
        : backend_(mode.backend),
          threads_(mode.threads),
          keep_(config().keep_denormals),
          donate_(config().donate),
          cpu_(config().cpu) {
        if (!mode.cpu.empty()) config().cpu = mode.cpu;
        if (!mode.optimise) off_.emplace(std::initializer_list<std::string_view>{"all"});
        else if (!mode.without.empty()) off_.emplace(std::initializer_list<std::string_view>{mode.without});
        config().keep_denormals = mode.keep_denormals;
        config().donate = mode.donate;
    }
    ~ModeScope() {
        config().keep_denormals = keep_;
        config().donate = donate_;
        config().cpu = cpu_;
    }
    ModeScope(const ModeScope&) = delete;
    ModeScope& operator=(const ModeScope&) = delete;

private:
    const BackendScope backend_;
    const ThreadScope threads_;
    std::optional<OptScope> off_;
    const bool keep_, donate_;
    const std::string cpu_;
};

std::vector<const Node*> nodes_of(const Roots& roots) {
    const std::lock_guard lock(ir::graph_lock());
    return ir::topological_order(roots);
}

// Every Buffer with memory of its own: the originals stay as they are when an output takes over the copy. Leaves that
// share a storage go on sharing one.
Roots on_copies(const Roots& roots) {
    const std::lock_guard lock(ir::graph_lock());
    std::unordered_map<const ir::Storage*, ir::StorageRef> copies;
    return ir::rebuild(roots, [&](const Node& node, const ir::Sources& sources) {
        if (node.op != Op::Buffer) return sources.empty() ? NodeRef(&node) : ir::with_sources(node, sources);
        const auto& arg = node.as<ir::BufferArg>();
        ir::StorageRef& copy = copies[arg.storage.get()];
        if (!copy) {
            const auto fresh = std::make_shared<HostStorage>(arg.storage->bytes);
            std::memcpy(ir::host_bytes(*fresh), ir::host_bytes(*arg.storage), arg.storage->bytes);
            copy = fresh;
        }
        return ir::buffer(copy, node.dtype, node.shape, arg.offset, arg.strides);
    });
}

// A root that is a mere view of memory is handed back as that: its memory lives on, so it cannot be taken over.
const ir::Storage* viewed_storage(const Node* node) {
    while (node->op != Op::Buffer) {
        const ir::OpKind kind = ir::info(node->op).kind;
        if ((kind != ir::OpKind::Movement && kind != ir::OpKind::Marker) || node->op == Op::Insert ||
            node->sources.empty())
            return nullptr;
        node = node->sources[0].get();
    }
    return node->as<ir::BufferArg>().storage.get();
}

bool is_nan_word(DType dtype, Word word) { return is_float(dtype) && std::isnan(word_to_double(dtype, word)); }

bool same(DType dtype, Word a, Word b) { return a == b || (is_nan_word(dtype, a) && is_nan_word(dtype, b)); }

std::string element(const Node& node, std::size_t position, Word a, Word b) {
    return str("element ", position, " of ", ir::print_line(node), " is ", word_to_string(node.dtype, a), " (", a,
               ") and ", word_to_string(node.dtype, b), " (", b, ")");
}

}  // namespace

std::string to_string(const Mode& mode) {
    return str(mode.backend, mode.cpu.empty() ? "" : " for ", mode.cpu, mode.optimise ? ", optimised" : ", plain",
               mode.without.empty() ? "" : " without ", mode.without, ", ", mode.threads, " threads",
               mode.donate ? ", donating" : "", mode.keep_denormals ? "" : ", flushing");
}

WordLists compute(const Roots& roots, const Mode& mode) {
    const ModeScope scope(mode);
    pipeline::Request request{.roots = mode.donate ? on_copies(roots) : roots};
    if (mode.donate)
        request.donatable = [&request](const ir::Storage& storage) {
            return std::none_of(request.roots.begin(), request.roots.end(),
                                [&](const NodeRef& root) { return viewed_storage(root.get()) == &storage; });
        };
    pipeline::Result result;
    {
        const std::lock_guard queue(cells::run_lock());
        std::unique_lock graph(ir::graph_lock());
        result = pipeline::evaluate(request, graph);
    }
    WordLists words;
    for (std::size_t i = 0; i < roots.size(); ++i) {
        const Node& value = *result.values[i];
        if (value.op != Op::Buffer || value.dtype != roots[i]->dtype || !(value.shape == roots[i]->shape))
            throw InternalError(str("the result of ", ir::print_line(*roots[i]), " is ", ir::print_line(value)));
        words.push_back(evaluate_eagerly(result.values[i]));
    }
    return words;
}

std::string first_difference(const Roots& roots, const WordLists& a, const WordLists& b) {
    for (std::size_t r = 0; r < roots.size(); ++r) {
        if (a[r].size() != b[r].size()) return str("root ", r, " has ", a[r].size(), " and ", b[r].size(), " elements");
        for (std::size_t i = 0; i < a[r].size(); ++i)
            if (!same(roots[r]->dtype, a[r][i], b[r][i]))
                return str("root ", r, ": ", element(*roots[r], i, a[r][i], b[r][i]));
    }
    return {};
}

// ---- the oracle -----------------------------------------------------------------------------------------------------

namespace {

// Maths has an error of a few units in the last place, and the order of a float sum is the engine's own. The largest of
// equal zeros may have either sign.
bool is_inexact(const Node& node) {
    if (!is_float(node.dtype)) return false;
    return ir::is_math(node.op) || node.op == Op::Pow || node.op == Op::Reduce || node.op == Op::Scan;
}

// What an inexact node was computed from, in doubles.
struct Terms {
    std::int64_t count = 0;
    double sum = 0, largest = 1, smallest = 1;  // of absolute values; products of those above and below 1
    bool product_overflowed = false;            // a rounded product was infinite: a fused one need not be
};

void take(Terms& terms, double value, bool is_product) {
    ++terms.count;
    const double size = std::fabs(value);
    if (std::isinf(size)) terms.product_overflowed |= is_product;
    if (!std::isfinite(size)) return;
    terms.sum += size;
    terms.largest *= std::max(1.0, size);
    if (size != 0) terms.smallest *= std::min(1.0, size);
}

// For each element of a Reduce or Scan, its terms.
std::vector<Terms> terms_of(const Node& node, const std::vector<Word>& source) {
    const Shape& from = node.source().shape;
    const auto& axes = node.as<ir::ReduceArg>().axes;
    std::vector<Terms> terms(static_cast<std::size_t>(numel(node.shape)));
    const bool is_product = node.source().op == Op::Mul;
    Dims index = Dims::filled(from.size(), 0);
    const Dims strides = row_major_strides(node.shape);
    for (const Word word : source) {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < from.size(); ++d)
            if (node.op == Op::Scan || std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) == axes.end())
                at += index[d] * strides[d];
        Terms& mine = terms[static_cast<std::size_t>(at)];
        if (node.op == Op::Scan && index[axes[0]] > 0) mine = terms[static_cast<std::size_t>(at - strides[axes[0]])];
        take(mine, word_to_double(node.source().dtype, word), is_product);
        for (std::size_t d = from.size(); d-- > 0;) {
            if (++index[d] < from[d]) break;
            index[d] = 0;
        }
    }
    return terms;
}

struct Tolerance {
    double absolute = 0, relative = 0;
    bool any = false;  // nothing can be said: an overflow depends on the order
};

Tolerance tolerance_of(const Node& node, const Terms* terms) {
    const bool wide = node.dtype == DType::F64;
    const double eps = wide ? 0x1p-52 : 0x1p-23, huge = wide ? 1e300 : 1e37, tiny = wide ? 1e-300 : 1e-37;
    if (!terms) return {.absolute = wide ? 1e-320 : 3e-44, .relative = (node.op == Op::Pow ? 16 : 6) * eps};
    const Op op = node.as<ir::ReduceArg>().op;
    if (op == Op::Max || op == Op::Min) return {};
    if (op == Op::Mul)
        return {.absolute = tiny,
                .relative = eps * static_cast<double>(terms->count),
                .any = terms->largest > huge || terms->smallest < tiny};
    // A blocked sum's error grows like the root of a block's length.
    const double factor = 4 + 4 * std::sqrt(static_cast<double>(std::min<std::int64_t>(terms->count, 600)));
    const double scanned = node.op == Op::Scan ? static_cast<double>(terms->count) : factor;  // one long chain
    return {.absolute = std::max(factor, scanned) * eps * terms->sum + tiny,
            .any = terms->sum > huge || terms->product_overflowed};
}

bool within(double got, double expected, const Tolerance& allowed) {
    if (allowed.any || (std::isnan(got) && std::isnan(expected)) || got == expected) return true;
    if (!std::isfinite(got) || !std::isfinite(expected)) return false;
    return std::fabs(got - expected) <= allowed.absolute + allowed.relative * std::fabs(expected);
}

// Does a small error stay small? Then two ways of adding up give nearly the same results.
bool is_well_conditioned(const Roots& roots) {
    for (const Node* node : nodes_of(roots)) {
        const bool of_floats = !node->sources.empty() && is_float(node->source(node->op == Op::Where ? 1 : 0).dtype);
        switch (node->op) {
            case Op::CmpLt:
            case Op::CmpLe:
            case Op::CmpEq:
            case Op::Trunc:
            case Op::Mod:
            case Op::Div:
            case Op::Recip:
            case Op::Sqrt:
            case Op::Log:
            case Op::Log2:
            case Op::Log1p:
            case Op::Tan:
            case Op::Pow:
            case Op::Asin:
            case Op::Acos:
            case Op::Bitcast:
                if (of_floats) return false;
                break;
            case Op::Cast:
                if (of_floats && !is_float(node->dtype)) return false;
                break;
            default: break;
        }
    }
    return true;
}

// A thousandth of the largest element, for what is computed in f32; halves round coarser.
std::string far_apart(const Roots& roots, const WordLists& a, const WordLists& b) {
    for (std::size_t r = 0; r < roots.size(); ++r) {
        const DType dtype = roots[r]->dtype;
        double largest = 0;
        for (const Word word : a[r])
            if (const double x = std::fabs(word_to_double(dtype, word)); std::isfinite(x))
                largest = std::max(largest, x);
        for (std::size_t i = 0; i < a[r].size(); ++i) {
            const double x = word_to_double(dtype, a[r][i]), y = word_to_double(dtype, b[r][i]);
            if (same(dtype, a[r][i], b[r][i]) || std::fabs(x - y) <= (is_half(dtype) ? 2e-2 : 1e-3) * largest) continue;
            return str("with and without its parts asked for: root ", r, ": ", element(*roots[r], i, a[r][i], b[r][i]));
        }
    }
    return {};
}

}  // namespace

std::string oracle_complaint(const Roots& roots) {
    Roots asked = roots;  // the roots, then every inexact node
    std::unordered_map<const Node*, std::size_t> place;
    for (const Node* node : nodes_of(roots))
        if (is_inexact(*node)) {
            place.emplace(node, asked.size());
            asked.emplace_back(node);
        }
    const WordLists got = compute(asked, {.optimise = false});

    // For consumers an inexact node is the engine's value.
    std::unordered_map<const Node*, NodeRef> seen_as;
    Roots wanted = asked, sources = asked;
    for (const Node* node : nodes_of(roots)) {
        ir::Sources operands;
        for (const NodeRef& source : node->sources) operands.push_back(seen_as.at(source.get()));
        const NodeRef rebuilt = operands.empty() ? NodeRef(node) : ir::with_sources(*node, operands);
        const auto inexact = place.find(node);
        seen_as.emplace(node,
                        inexact == place.end() ? rebuilt : words_leaf(node->dtype, node->shape, got[inexact->second]));
        for (std::size_t r = 0; r < asked.size(); ++r)
            if (asked[r].get() == node) {
                wanted[r] = rebuilt;
                sources[r] = operands.empty() ? rebuilt : operands[0];
            }
    }
    Roots all = wanted;
    all.insert(all.end(), sources.begin(), sources.end());
    const WordLists expected = evaluate_eagerly(all);
    for (std::size_t r = asked.size(); r-- > 0;) {
        const Node& node = *asked[r];
        const bool inexact = place.contains(&node), folds = node.op == Op::Reduce || node.op == Op::Scan;
        const std::vector<Terms> terms =
            inexact && folds ? terms_of(node, expected[asked.size() + r]) : std::vector<Terms>();
        for (std::size_t i = 0; i < got[r].size(); ++i) {
            const Word a = got[r][i], b = expected[r][i];
            if (same(node.dtype, a, b)) continue;
            if (inexact && within(word_to_double(node.dtype, a), word_to_double(node.dtype, b),
                                  tolerance_of(node, folds ? &terms[i] : nullptr)))
                continue;
            return str("engine and oracle: ", element(node, i, a, b));
        }
    }
    if (place.empty() || !is_well_conditioned(roots)) return {};
    return far_apart(roots, compute(roots, {.optimise = false}), got);
}

// ---- backends and plans ---------------------------------------------------------------------------------------------

bool have_backend(std::string_view name) {
    try {
        const BackendScope scope(name);
        const Roots one{ir::unary(Op::Neg, words_leaf(DType::F32, {3}, {0, 1, 2}))};
        compute(one, {.backend = std::string(name)});
        return true;
    } catch (const BackendError&) {
        return false;
    } catch (const ValueError&) {  // a build without it
        return false;
    }
}

Roots with_other_constants(const Roots& roots, std::uint64_t seed) {
    const std::lock_guard lock(ir::graph_lock());
    Rng rng(seed);
    return ir::rebuild(roots, [&](const Node& node, const ir::Sources& sources) {
        // A number that bounds an index stays: only floats change.
        if (node.op == Op::Const && is_float(node.dtype))
            return ir::graph().make(Op::Const, node.dtype, {}, {},
                                    ir::ConstArg{random_word(rng, node.dtype, Data::Tame)});
        return sources.empty() ? NodeRef(&node) : ir::with_sources(node, sources);
    });
}

schedule::Plan plan_of(const Roots& roots, TargetRef target) {
    const std::lock_guard lock(ir::graph_lock());
    const schedule::Captured captured = schedule::capture(roots, nullptr);
    if (captured.outputs.empty()) return {};
    return pipeline::make_plan(captured, {}, target ? *target : Target(), {});
}

void compile_together(std::span<const Roots> graphs, const Mode& mode) {
    const ModeScope scope(mode);
    std::vector<schedule::Plan> plans;
    for (const Roots& roots : graphs) {
        try {
            plans.push_back(plan_of(roots));
        } catch (const InternalError&) {  // the graph's own run reports it
        }
    }
    std::vector<const ir::KernelGraph*> kernels;
    for (const schedule::Plan& plan : plans)
        for (const schedule::PlanStep& step : plan.steps)
            if (!step.kernel.custom) kernels.push_back(&step.kernel.graph);
    std::unique_lock graph(ir::graph_lock());
    pipeline::compile(kernels, device::current_target(), config().debug, graph);
}

// ---- a smaller graph ------------------------------------------------------------------------------------------------

namespace {

Roots replaced(const Roots& roots, const Node* node, const NodeRef& by) {
    const std::lock_guard lock(ir::graph_lock());
    return ir::rebuild(roots, [&](const Node& n, const ir::Sources& sources) {
        if (&n == node) return by;
        return sources.empty() ? NodeRef(&n) : ir::with_sources(n, sources);
    });
}

std::vector<NodeRef> replacements(const Node& node) {
    std::vector<NodeRef> result;
    if (node.sources.empty()) return result;
    try {
        const NodeRef self(&node);
        result.push_back(words_leaf(node.dtype, node.shape, evaluate_eagerly(self)));
    } catch (const std::exception&) {}
    for (const NodeRef& source : node.sources)
        if (source->dtype == node.dtype && source->shape == node.shape) result.push_back(source);
    return result;
}

}  // namespace

Roots shrink_graph(Roots roots, const std::function<bool(const Roots&)>& fails) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto late = [&] { return std::chrono::steady_clock::now() > give_up; };
    for (bool smaller = true; smaller && !late();) {
        smaller = false;
        for (std::size_t r = 0; r < roots.size() && roots.size() > 1 && !late();) {
            Roots fewer = roots;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(r));
            if (fails(fewer)) roots = std::move(fewer);
            else ++r;
        }
        const std::vector<const Node*> order = nodes_of(roots);
        for (auto it = order.begin(); it != order.end() && !smaller && !late(); ++it)
            for (const NodeRef& by : replacements(**it)) {
                const Roots next = replaced(roots, *it, by);
                if (nodes_of(next).size() >= order.size() && !(by->op == Op::Buffer && (*it)->op != Op::Buffer))
                    continue;
                if (!fails(next)) continue;
                roots = next;
                smaller = true;
                break;
            }
    }
    return roots;
}

std::string describe(const Roots& roots, std::size_t root) {
    std::ostringstream out;
    {
        const std::lock_guard lock(ir::graph_lock());
        out << ir::print_graph(roots);
    }
    try {
        const schedule::Plan plan = plan_of(roots);
        const int wanted = root < plan.outputs.size() ? plan.outputs[root] : -1;
        for (const schedule::PlanStep& step : plan.steps) {
            if (step.kernel.custom || std::find(step.values.begin(), step.values.end(), wanted) == step.values.end())
                continue;
            Roots values;
            for (const auto& output : step.kernel.graph.outputs) values.push_back(output.value);
            {
                const std::lock_guard lock(ir::graph_lock());
                out << "kernel over rows " << step.kernel.graph.rows << ", inner " << step.kernel.graph.inner << ":\n"
                    << ir::print_graph(values);
            }
            kernel::Kernel plain = kernel::lower(step.kernel.graph);
            out << "plain:\n" << kernel::print(plain);
            out << "optimised:\n" << kernel::print(kernel::optimise(std::move(plain), *device::current_target()));
        }
    } catch (const std::exception& error) {
        out << "no plan: " << error.what() << "\n";
    }
    return out.str();
}

}  // namespace weft::testing
