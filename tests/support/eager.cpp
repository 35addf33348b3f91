// tests/support/eager.cpp: one function per op, each a loop over the result's elements.
#include "tests/support/eager.h"
#include "backend/device.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "tests/support/random.h"

#include <weft/error.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace weft::testing {
namespace {

using namespace ir;
using Words = std::vector<Word>;

struct Value {
    Words words;
    std::vector<Words> parts;  // of a Custom: every result
};

using Values = std::unordered_map<const Node*, Value>;

// Calls f(index, position) for every element of a shape, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
    const std::int64_t count = numel(shape);
    Dims index = Dims::filled(shape.size(), 0);
    for (std::int64_t position = 0; position < count; ++position) {
        f(index, position);
        for (std::size_t d = shape.size(); d-- > 0;) {
            if (++index[d] < shape[d]) break;
            index[d] = 0;
        }
    }
}

std::int64_t flat(const Dims& index, const Dims& strides) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < index.size(); ++d) position += index[d] * strides[d];
    return position;
}

// A view whose element at an index of the result lies at start + sum of index * step in the source's elements.
Words strided(const Shape& shape, const Words& from, std::int64_t start, const Dims& steps) {
    Words words(numel(shape));
    if (words.empty()) return words;
    const std::size_t last = shape.size();
    const std::int64_t length = last ? shape[last - 1] : 1, step = last ? steps[last - 1] : 0;
    Dims index = Dims::filled(last, 0);
    std::int64_t at = start;
    for (std::size_t position = 0; position < words.size();) {
        for (std::int64_t i = 0; i < length; ++i) words[position++] = from[at + i * step];
        for (std::size_t d = last > 0 ? last - 1 : 0; d-- > 0;) {
            at += steps[d];
            if (++index[d] < shape[d]) break;
            at -= index[d] * steps[d];
            index[d] = 0;
        }
    }
    return words;
}

Words permute_words(const Node& node, const Words& from) {
    const Dims strides = row_major_strides(node.source().shape);
    Dims steps;
    for (const std::int64_t axis : node.as<AxesArg>().axes) steps.push_back(strides[axis]);
    return strided(node.shape, from, 0, steps);
}

Words expand_words(const Node& node, const Words& from) {
    Dims steps = row_major_strides(node.source().shape);
    for (int d = 0; d < node.rank(); ++d)
        if (node.source().shape[d] == 1) steps[d] = 0;
    return strided(node.shape, from, 0, steps);
}

Words shrink_words(const Node& node, const Words& from) {
    const Dims steps = row_major_strides(node.source().shape);
    return strided(node.shape, from, flat(node.as<BoxArg>().starts, steps), steps);
}

Words flip_words(const Node& node, const Words& from) {
    Dims steps = row_major_strides(node.source().shape);
    std::int64_t start = 0;
    for (const std::int64_t axis : node.as<AxesArg>().axes) {
        start += (node.shape[axis] - 1) * steps[axis];
        steps[axis] = -steps[axis];
    }
    return strided(node.shape, from, start, steps);
}

Words skew_words(const Node& node, const Words& from) {
    const auto& [axis, window, stride, dilation] = node.as<SkewArg>();
    Dims steps = row_major_strides(node.source().shape);
    steps[window] += steps[axis] * dilation;
    steps[axis] *= stride;
    return strided(node.shape, from, 0, steps);
}

// The words of a box, put at `starts` into words of a larger shape.
void put(Words& words, const Shape& shape, const Dims& starts, const Shape& box, const Words& value) {
    const Dims strides = row_major_strides(shape);
    const std::int64_t start = flat(starts, strides);
    for_each_index(
        box, [&](const Dims& index, std::int64_t position) { words[start + flat(index, strides)] = value[position]; });
}

Words pad_words(const Node& node, const Words& from) {
    Words words(numel(node.shape), 0);
    put(words, node.shape, node.as<BoxArg>().starts, node.source().shape, from);
    return words;
}

bool inside(const Dims& index, const Shape& shape) {
    for (std::size_t d = 0; d < index.size(); ++d)
        if (index[d] < 0 || index[d] >= shape[d]) return false;
    return true;
}

Words unskew_words(const Node& node, const Words& from) {
    const auto& [axis, window, stride, dilation] = node.as<SkewArg>();
    Words words(numel(node.shape), 0);
    const Dims strides = row_major_strides(node.source().shape);
    for_each_index(node.shape, [&, axis = axis, window = window, stride = stride, dilation = dilation](
                                   const Dims& out, std::int64_t position) {
        Dims in = out;
        const std::int64_t distance = out[axis] - out[window] * dilation;
        in[axis] = distance / stride;
        if (distance >= 0 && distance % stride == 0 && in[axis] < node.source().shape[axis])
            words[position] = from[flat(in, strides)];
    });
    return words;
}

Words insert_words(const Node& node, const Words& base, const Words& value) {
    Words words = base;
    put(words, node.shape, node.as<BoxArg>().starts, node.source(1).shape, value);
    return words;
}

double erfinv(double x) {
    double y = 0;  // Newton's method: erf is concave above 0, so that it comes from below
    for (int i = 0; i < 200; ++i) y += (std::fabs(x) - std::erf(y)) * 0.88622692545275801365 * std::exp(y * y);
    return std::copysign(y, x);
}

double maths(Op op, double x, double y) {
    switch (op) {
        case Op::Exp: return std::exp(x);
        case Op::Exp2: return std::exp2(x);
        case Op::Expm1: return std::expm1(x);
        case Op::Log: return std::log(x);
        case Op::Log2: return std::log2(x);
        case Op::Log1p: return std::log1p(x);
        case Op::Sin: return std::sin(x);
        case Op::Cos: return std::cos(x);
        case Op::Tan: return std::tan(x);
        case Op::Asin: return std::asin(x);
        case Op::Acos: return std::acos(x);
        case Op::Atan: return std::atan(x);
        case Op::Sinh: return std::sinh(x);
        case Op::Cosh: return std::cosh(x);
        case Op::Tanh: return std::tanh(x);
        case Op::Erf: return std::erf(x);
        case Op::Erfc: return std::erfc(x);
        case Op::Erfinv: return erfinv(x);
        case Op::Pow: return std::pow(x, y);
        default: throw InternalError(str("the oracle does not know ", name_of(op)));
    }
}

Word elementwise_word(const Node& node, const Word* in) {
    const DType operand = node.source(node.op == Op::Where ? 1 : 0).dtype;
    if (node.op == Op::Cast) return cast_word(operand, node.dtype, in[0]);
    if (node.op == Op::Bitcast) return bitcast_word(operand, node.dtype, in[0]);
    if (is_math(node.op) || (node.op == Op::Pow && is_float(operand))) {
        const double y = node.sources.size() > 1 ? word_to_double(operand, in[1]) : 0;
        return cast_word(DType::F64, node.dtype, to_word(maths(node.op, word_to_double(operand, in[0]), y)));
    }
    return info(node.op).eval(operand, in);
}

Words elementwise_words(const Node& node, const std::vector<const Words*>& sources) {
    Words words(numel(node.shape));
    if (const auto* const fused = std::get_if<FusedArg>(&node.arg); fused && fused->tf32) {
        const auto rounded = [](const Word& x) { return from_word<float>(info(Op::RoundTf32).eval(DType::F32, &x)); };
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = to_word(rounded((*sources[0])[i]) * rounded((*sources[1])[i]));
        return words;
    }
    if (node.dtype == DType::F32 && node.op == Op::Mul) {  // the products of every matmul
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = to_word(from_word<float>((*sources[0])[i]) * from_word<float>((*sources[1])[i]));
        return words;
    }
    Word in[3] = {};
    for (std::size_t i = 0; i < words.size(); ++i) {
        for (std::size_t s = 0; s < sources.size(); ++s) in[s] = (*sources[s])[i];
        words[i] = elementwise_word(node, in);
    }
    return words;
}

// Folds element after element; sums and products of f32 are carried in f64.
struct Fold {
    Fold(Op op, DType dtype)
        : op(op),
          dtype(dtype),
          wide(is_float(dtype) && (op == Op::Add || op == Op::Mul) ? DType::F64 : dtype),
          carried(identity_word(op, wide)) {}
    void take(Word word) {
        const Word both[] = {carried, cast_word(dtype, wide, word)};
        carried = info(op).eval(wide, both);
    }
    Word result() const { return cast_word(wide, dtype, carried); }

    Op op;
    DType dtype, wide;
    Word carried;
};

// Calls f(result, word) for every element of the source, with the place of the result that it belongs to.
template <class F>
void for_each_term(const Node& node, const Words& from, F&& f) {
    const Shape& shape = node.source().shape;
    Dims strides = row_major_strides(node.shape);
    for (const std::int64_t axis : node.as<ReduceArg>().axes) strides[axis] = 0;
    Dims index = Dims::filled(shape.size(), 0);
    std::int64_t at = 0;
    for (const Word word : from) {
        f(at, word);
        for (std::size_t d = shape.size(); d-- > 0;) {
            at += strides[d];
            if (++index[d] < shape[d]) break;
            at -= index[d] * strides[d];
            index[d] = 0;
        }
    }
}

Words reduce_words(const Node& node, const Words& from) {
    const Op op = node.as<ReduceArg>().op;
    Words words(numel(node.shape));
    if (node.dtype == DType::F32 && op == Op::Add) {  // most of the work in training
        std::vector<double> sums(words.size(), 0.0);
        for_each_term(node, from, [&](std::int64_t at, Word word) { sums[at] += from_word<float>(word); });
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = to_word(static_cast<float>(sums[i]));
        return words;
    }
    std::vector<Fold> folds(words.size(), Fold(op, node.dtype));
    for_each_term(node, from, [&](std::int64_t at, Word word) { folds[at].take(word); });
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = folds[i].result();
    return words;
}

Words scan_words(const Node& node, const Words& from) {
    Words words(from.size());
    const auto& [op, axes, order] = node.as<ReduceArg>();
    const std::int64_t axis = axes[0], step = row_major_strides(node.shape)[axis];
    for_each_index(node.shape, [&, op = op](const Dims& index, std::int64_t position) {
        if (index[axis] != 0) return;
        Fold fold(op, node.dtype);
        for (std::int64_t i = 0; i < node.shape[axis]; ++i) {
            fold.take(from[position + i * step]);
            words[position + i * step] = fold.result();
        }
    });
    return words;
}

// Where the element of `base` lies that an index of the result, or of the scattered values, names.
std::int64_t indexed(const Node& node, const Dims& index, Word chosen) {
    Dims at = index;
    const int axis = node.as<IndexArg>().axis;
    at[axis] = static_cast<std::int64_t>(chosen);
    if (!inside(at, node.source().shape))
        throw InternalError(str(print_line(node), ": index ", at[axis], " is outside"));
    return flat(at, row_major_strides(node.source().shape));
}

Words gather_words(const Node& node, const Words& from, const Words& index) {
    Words words(numel(node.shape));
    for_each_index(node.shape, [&](const Dims& at, std::int64_t position) {
        words[position] = from[indexed(node, at, index[position])];
    });
    return words;
}

Words scatter_words(const Node& node, const Words& base, const Words& index, const Words& value) {
    Words words = base;
    for_each_index(node.source(1).shape, [&](const Dims& at, std::int64_t position) {
        Word& place = words[indexed(node, at, index[position])];
        const Word both[] = {place, value[position]};
        const Op mode = node.as<IndexArg>().mode;
        place = mode == Op::Where ? value[position] : info(mode).eval(node.dtype, both);
    });
    return words;
}

Words check_words(const Node& node, const Words& from) {
    const CheckArg& arg = node.as<CheckArg>();
    for (const Word word : from) {
        const auto value = static_cast<std::int64_t>(word);
        const bool too_large = node.dtype == DType::U64 && value < 0;
        if (too_large || value < arg.low || value >= arg.high) throw IndexError(arg.what);
    }
    return from;
}

Words buffer_words(const Node& node) {
    const auto& [storage, offset, strides] = node.as<BufferArg>();
    Words words(numel(node.shape));
    std::vector<std::byte> copy;  // of another device's memory
    const std::byte* bytes = storage->device == kCpu ? ir::host_bytes(*storage) : nullptr;
    if (!bytes) {
        copy.resize(storage->bytes);
        device::runtime_of(storage->device).read(*storage, 0, copy.data(), copy.size());
        bytes = copy.data();
    }
    for_each_index(node.shape, [&, offset = offset, &strides = strides](const Dims& index, std::int64_t position) {
        const std::int64_t element = offset + flat(index, strides);
        words[position] = load_word(node.dtype, bytes + element * static_cast<std::int64_t>(size_of(node.dtype)));
    });
    return words;
}

Words iota_words(const Node& node) {
    Words words(node.shape[0]);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
    return words;
}

std::vector<std::byte> to_bytes(DType dtype, const Words& words) {
    const std::size_t width = size_of(dtype);
    std::vector<std::byte> bytes(words.size() * width + 1);  // + 1: an empty array still has an address
    for (std::size_t i = 0; i < words.size(); ++i) store_word(dtype, bytes.data() + i * width, words[i]);
    return bytes;
}

Value custom_value(const Node& node, const std::vector<const Words*>& sources) {
    const CustomFunction& function = *node.as<CustomArg>().function;
    std::vector<std::vector<std::byte>> inputs, outputs;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (std::size_t s = 0; s < sources.size(); ++s) inputs.push_back(to_bytes(node.source(s).dtype, *sources[s]));
    for (const auto& [dtype, shape] : function.results) outputs.emplace_back(numel(shape) * size_of(dtype) + 1);
    for (const auto& input : inputs) from.push_back(input.data());
    for (auto& output : outputs) to.push_back(output.data());
    const auto for_each = [](std::int64_t count, const std::function<void(std::int64_t)>& f) {
        for (std::int64_t i = 0; i < count; ++i) f(i);
    };
    function.run({node, from, to, for_each});
    Value value;
    for (std::size_t r = 0; r < outputs.size(); ++r) {
        const auto& [dtype, shape] = function.results[r];
        Words& words = value.parts.emplace_back(numel(shape));
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i] = load_word(dtype, outputs[r].data() + i * size_of(dtype));
    }
    value.words = value.parts.front();
    return value;
}

Value compute(const Node& node, const Values& values) {
    if (node.realized) return {buffer_words(*node.realized)};
    std::vector<const Words*> in;
    for (const NodeRef& source : node.sources) in.push_back(&values.at(source.get()).words);
    if (is_elementwise(node.op)) return {elementwise_words(node, in)};
    switch (node.op) {
        case Op::Buffer: return {buffer_words(node)};
        case Op::Const: return {{node.as<ConstArg>().value}};
        case Op::Var: return {{node.as<VarArg>().value}};
        case Op::Iota: return {iota_words(node)};
        case Op::Permute: return {permute_words(node, *in[0])};
        case Op::Expand: return {expand_words(node, *in[0])};
        case Op::Shrink: return {shrink_words(node, *in[0])};
        case Op::Pad: return {pad_words(node, *in[0])};
        case Op::Flip: return {flip_words(node, *in[0])};
        case Op::Skew: return {skew_words(node, *in[0])};
        case Op::Unskew: return {unskew_words(node, *in[0])};
        case Op::Insert: return {insert_words(node, *in[0], *in[1])};
        case Op::Reduce: return {reduce_words(node, *in[0])};
        case Op::Scan: return {scan_words(node, *in[0])};
        case Op::Gather: return {gather_words(node, *in[0], *in[1])};
        case Op::Scatter: return {scatter_words(node, *in[0], *in[1], *in[2])};
        case Op::Check: return {check_words(node, *in[0])};
        case Op::Reshape:
        case Op::ToDevice:
        case Op::Contiguous:
        case Op::Leaf:
        case Op::Detach:
        case Op::WithGrad: return {*in[0]};
        case Op::Custom: return custom_value(node, in);
        case Op::Part: return {values.at(node.sources[0].get()).parts[node.as<PartArg>().index]};
        default: throw InternalError(str("the oracle does not know ", print_line(node)));
    }
}

bool whole(DType dtype, const Words& words) {
    return std::all_of(words.begin(), words.end(), [dtype](Word word) {
        const double value = word_to_double(dtype, word);
        return value == std::trunc(value);
    });
}

// Where an op rounds, another order or another formula may round otherwise.
void move_a_little(const Node& node, const std::vector<const Words*>& sources, double jitter, Rng& rng, Words& words) {
    const bool rounds =
        is_elementwise(node.op) || node.op == Op::Reduce || node.op == Op::Scan || node.op == Op::Scatter;
    if (!rounds || !is_float(node.dtype) || node.op == Op::Bitcast) return;
    bool exact = whole(node.dtype, words);
    for (std::size_t s = 0; exact && s < sources.size(); ++s) exact = whole(node.source(s).dtype, *sources[s]);
    if (exact) return;
    const double unit = node.dtype == DType::F64   ? 0x1p-52
                        : node.dtype == DType::F32 ? 0x1p-23
                        : node.dtype == DType::F16 ? 0x1p-10
                                                   : 0x1p-7;
    for (Word& word : words) {
        const double value = word_to_double(node.dtype, word) * (1 + jitter * unit * (2 * rng.unit() - 1));
        word = cast_word(DType::F64, node.dtype, to_word(value));
    }
}

// What has been computed before is memory: nothing beneath it is looked at.
std::vector<const Node*> ordered(std::span<const NodeRef> nodes) {
    const std::lock_guard lock(graph_lock());
    return topological_order(nodes, [](const Node& node) { return !node.realized; });
}

}  // namespace

std::vector<Words> evaluate_eagerly(std::span<const NodeRef> nodes, double jitter) {
    Rng rng(static_cast<std::uint64_t>(jitter * 1000));
    const std::vector<const Node*> order = ordered(nodes);
    std::unordered_map<const Node*, int> uses;
    for (const NodeRef& node : nodes) ++uses[node.get()];
    for (const Node* node : order)
        if (!node->realized)
            for (const NodeRef& source : node->sources) ++uses[source.get()];
    Values values;
    for (const Node* node : order) {
        Value& value = values.emplace(node, compute(*node, values)).first->second;
        if (node->realized) continue;
        if (jitter > 0) {
            std::vector<const Words*> in;
            for (const NodeRef& source : node->sources) in.push_back(&values.at(source.get()).words);
            move_a_little(*node, in, jitter, rng, value.words);
        }
        for (const NodeRef& source : node->sources)
            if (--uses[source.get()] == 0) values.erase(source.get());
    }
    std::vector<Words> results;
    for (const NodeRef& node : nodes) results.push_back(values.at(node.get()).words);
    return results;
}

Words evaluate_eagerly(const NodeRef& node) { return evaluate_eagerly(std::span(&node, 1)).front(); }

std::vector<double> evaluate_to_doubles(const NodeRef& node) {
    std::vector<double> values;
    for (const Word word : evaluate_eagerly(node)) values.push_back(word_to_double(node->dtype, word));
    return values;
}

NodeRef buffer_of(DType dtype, const Shape& shape, std::span<const double> values) {
    if (static_cast<std::int64_t>(values.size()) != numel(shape))
        throw InternalError("buffer_of: wrong number of values");
    const auto storage = std::make_shared<HostStorage>(values.size() * size_of(dtype));
    for (std::size_t i = 0; i < values.size(); ++i)
        store_word(dtype, storage->memory.data() + i * size_of(dtype),
                   cast_word(DType::F64, dtype, to_word(values[i])));
    return buffer(storage, dtype, shape, 0, row_major_strides(shape));
}

}  // namespace weft::testing
