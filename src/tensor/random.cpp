// tensor/random.cpp: random numbers as graphs: Threefry of (key, counter + index), an elementwise op that fuses into what uses it and
// is the same on every backend. Key and counter are Vars: a plan serves every draw.
#include "tensor/random.h"

#include "core/checked.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"
#include "tensor/options.h"

#include <weft/ops.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

// ---- the generator's state -------------------------------------------------------------------------------------------

const std::shared_ptr<Generator>& global_generator() {
    static const auto& instance = *new std::shared_ptr<Generator>(std::make_shared<Generator>());
    return instance;
}

thread_local std::shared_ptr<Generator> scoped_generator;  // nullptr: no scope on this thread

// ---- random bits -----------------------------------------------------------------------------------------------------

RandomWords halves_of(const NodeRef& u64_value) {
    const NodeRef high = ir::binary(Op::Shr, u64_value, nodes::number(u64_value, 32));
    return {ir::cast(u64_value, DType::U32), ir::cast(high, DType::U32)};
}

RandomWords random_words(std::int64_t blocks) {  // `blocks` pairs of words, 1-d
    const auto [key, counter] = draw(blocks);
    const RandomWords start = halves_of(counter);
    const NodeRef index = ir::iota(blocks, default_device().number());
    const NodeRef low = start.first + ir::cast(index, DType::U32);
    NodeRef high = start.second + ir::cast(ir::less(low, start.first), DType::U32);  // the carry
    if (blocks > std::int64_t{1} << 32)
        high = high + ir::cast(ir::binary(Op::Shr, index, nodes::number(index, 32)), DType::U32);
    return threefry(key, {low, high});
}

NodeRef top_bits(const NodeRef& word, int bits) { return ir::binary(Op::Shr, word, nodes::number(word, 32 - bits)); }

// ---- distributions ---------------------------------------------------------------------------------------------------

// In [0, 1), with as many bits as the type holds exactly below 1: no rounding ever gives 1.
NodeRef uniform_f64(const RandomWords& words) {
    const NodeRef high = ir::cast(top_bits(words.first, 27), DType::F64),
                  low = ir::cast(top_bits(words.second, 26), DType::F64);
    return (high * nodes::number(high, 0x1p26) + low) * nodes::number(high, 0x1p-53);
}

NodeRef uniform(const RandomWords& words, DType dtype) {
    if (dtype == DType::F64) return uniform_f64(words);
    const int bits = dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : 24;
    const NodeRef whole = ir::cast(top_bits(words.first, bits), DType::F32);
    return ir::cast(whole * nodes::number(whole, std::ldexp(1.0, -bits)), dtype);
}

// cos(2 pi u), 0 <= u < 1, a multiple of 2^-24: sin(2 pi w) with an exact |w| <= 1/4, as w P(w^2), to 2^-25. The angle of a general
// cosine might be large, which would take doubles.
NodeRef cosine_of_turns(const NodeRef& u) {
    constexpr double kSineOfTurns[] = {0x1.921fb6p+2, -0x1.4abbe4p+5, 0x1.466d1ep+6, -0x1.32b11ap+6, 0x1.436e98p+5};
    const NodeRef w = ir::unary(Op::Abs, u - nodes::number(u, 0.5)) - nodes::number(u, 0.25), z = w * w;
    NodeRef sum = nodes::number(z, kSineOfTurns[4]);
    for (int i = 3; i >= 0; --i) sum = sum * z + nodes::number(z, kSineOfTurns[i]);
    return sum * w;
}

// Box and Muller: a random radius, whose logarithm needs a uniform number in (0, 1], and the cosine of a random angle.
NodeRef normal_of(const NodeRef& radius_source, const NodeRef& cosine) {
    const NodeRef radius = ir::unary(Op::Sqrt, ir::unary(Op::Log, radius_source) * nodes::number(radius_source, -2));
    return radius * cosine;
}

NodeRef normal_f32(std::int64_t count) {
    const RandomWords words = random_words(count);
    const NodeRef a = ir::cast(top_bits(words.first, 24), DType::F32),
                  b = ir::cast(top_bits(words.second, 24), DType::F32);
    return normal_of((a + nodes::number(a, 1)) * nodes::number(a, 0x1p-24),
                     cosine_of_turns(b * nodes::number(b, 0x1p-24)));
}

NodeRef normal_f64(std::int64_t count) {
    const NodeRef a = uniform_f64(random_words(count)), b = uniform_f64(random_words(count));
    return normal_of(a + nodes::number(a, 0x1p-53), ir::unary(Op::Cos, b * nodes::number(b, 2 * std::numbers::pi)));
}

void check_drawn(const Checker& check, const Shape& shape, DType dtype) {
    check.sizes(shape);
    check.dtype(is_float(dtype), "the dtype must be a float type, not ", dtype);
}

}  // namespace

RandomStart draw(std::int64_t blocks) {
    using Redraw = const std::function<Word()>;
    const std::shared_ptr<Generator> source = scoped_generator ? scoped_generator : global_generator();
    const auto redraw_key = std::make_shared<Redraw>([source] { return source->state().seed; });
    const auto redraw_counter = std::make_shared<Redraw>([source, blocks] { return source->draw(blocks); });
    return {ir::variable(DType::U64, (*redraw_key)(), redraw_key),
            ir::variable(DType::U64, (*redraw_counter)(), redraw_counter)};
}

RandomWords threefry(const NodeRef& key, const RandomWords& counter) {
    return {ir::threefry(Op::ThreefryX, counter.first, counter.second, key),
            ir::threefry(Op::ThreefryY, counter.first, counter.second, key)};
}

RandomState Generator::state() const {
    const std::lock_guard lock(ir::graph_lock());  // the one lock that a fork waits for
    return state_;
}
void Generator::set_state(const RandomState& state) {
    const std::lock_guard lock(ir::graph_lock());  // the one lock that a fork waits for
    state_ = state;
}
std::uint64_t Generator::draw(std::int64_t blocks) {
    const std::lock_guard lock(ir::graph_lock());  // the one lock that a fork waits for
    const std::uint64_t first = state_.counter;
    state_.counter += static_cast<std::uint64_t>(blocks);
    return first;
}

GeneratorScope::GeneratorScope(std::shared_ptr<Generator> generator) : before_(scoped_generator) {
    if (generator) scoped_generator = std::move(generator);
}
GeneratorScope::~GeneratorScope() { scoped_generator = std::move(before_); }

void manual_seed(std::uint64_t seed) { global_generator()->set_state({.seed = seed, .counter = 0}); }
RandomState random_state() { return global_generator()->state(); }
void set_random_state(const RandomState& state) { global_generator()->set_state(state); }

Tensor rand(const Shape& shape, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(default_dtype());
    const Checker check("rand", {{"shape", shape}, {"dtype", dtype}});
    check_drawn(check, shape, dtype);
    return make_tensor(ir::reshape(uniform(random_words(numel(shape)), dtype), shape));
}

Tensor randn(const Shape& shape, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(default_dtype());
    const Checker check("randn", {{"shape", shape}, {"dtype", dtype}});
    check_drawn(check, shape, dtype);
    const std::int64_t count = numel(shape);
    const NodeRef normal = dtype == DType::F64 ? normal_f64(count) : normal_f32(count);
    return make_tensor(ir::reshape(ir::cast(normal, dtype), shape));
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(DType::I64);
    const Checker check("randint", {{"low", low}, {"high", high}, {"shape", shape}, {"dtype", dtype}});
    check.sizes(shape);
    check.dtype(is_int(dtype) || is_float(dtype), "the dtype must be a number type, not ", dtype);
    check.value(low < high, "low must be below high");
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const RandomWords words = random_words(numel(shape));
    const NodeRef first = ir::cast(words.first, DType::U64), span = ir::constant_word(DType::U64, range);
    const NodeRef shift = nodes::number(first, 32);
    // A word, scaled to the range, is off by range / 2^32 at most; a wide range takes the remainder of two words.
    const NodeRef offset =
        range <= std::uint64_t{1} << 24
            ? ir::binary(Op::Shr, first * span, shift)
            : ir::binary(Op::Mod,
                         ir::binary(Op::Or, ir::binary(Op::Shl, first, shift), ir::cast(words.second, DType::U64)),
                         span);
    const NodeRef value = ir::cast(offset, DType::I64) + ir::constant(DType::I64, Scalar(low));
    return make_tensor(ir::reshape(ir::cast(value, dtype), shape));
}

namespace {

// Drawn in f32 at least: with 8 bits a small probability would be rounded away.
NodeRef drawn_below(const NodeRef& probability, const Shape& shape) {
    const DType wide = accumulator_of(probability->dtype);
    const NodeRef drawn = ir::reshape(uniform(random_words(numel(shape)), wide), shape);
    return ir::less(drawn, ir::cast(probability, wide));
}

}  // namespace

Tensor randperm(std::int64_t n, const TensorOptions& options) {
    if (n < 0) throw ValueError(str("randperm(n: ", n, "): n must not be negative"));
    const Tensor order = argsort(rand({n}, {f64, options.device})).to(options.dtype_or(DType::I64));
    order.realize();  // batches are slices of it: of a pending value each would sort again, and each start be a plan
    return order;
}

Tensor bernoulli(const Tensor& probability) {
    const Checker check("bernoulli", {{"probability", probability}});
    check.dtype(is_float(probability.dtype()), "the probabilities must be floats, not ", probability.dtype());
    const NodeRef p = ir::detach(node_of(probability));
    return make_tensor(ir::cast(drawn_below(p, probability.shape()), probability.dtype()));
}

namespace {

// What is dropped is drawn for each element of `drawn`, which broadcasts to x.
Tensor dropped(const Checker& check, const Tensor& x, const Shape& drawn, double probability, bool training) {
    check.value(probability >= 0 && probability <= 1, "the probability must lie between 0 and 1");
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    if (!training || probability == 0) return x;
    const NodeRef node = node_of(x), zero = nodes::number(node, 0);
    if (probability == 1) return make_tensor(node * zero);
    const NodeRef hit = drawn_below(ir::constant(DType::F32, Scalar(probability)), drawn);
    const NodeRef wide = ir::cast(node, accumulator_of(x.dtype()));
    const NodeRef scaled = ir::cast(wide * nodes::number(wide, 1 / (1 - probability)), x.dtype());
    return make_tensor(ir::where(hit, zero, scaled));
}

// Whole channels of [n, channels, spatial…], or of [channels, spatial…]. dropout2d takes two axes and more, of which the first two are
// always [n, channels], as in PyTorch.
Tensor channels_dropped(std::string_view name, int spatial, const Tensor& x, double probability, bool training) {
    const Checker check(name, {{"x", x}, {"probability", probability}});
    if (spatial == 2) check.that(x.rank() >= 2, "x must have two axes at least, [n, channels]");
    else
        check.that(x.rank() == 1 + spatial || x.rank() == 2 + spatial, "x must have ", 1 + spatial, " or ", 2 + spatial,
                   " axes");
    Shape drawn = x.shape();
    std::fill(spatial == 2 ? drawn.begin() + 2 : drawn.end() - spatial, drawn.end(), 1);
    return dropped(check, x, drawn, probability, training);
}

}  // namespace

Tensor dropout(const Tensor& x, double probability, bool training) {
    const Checker check("dropout", {{"x", x}, {"probability", probability}});
    return dropped(check, x, x.shape(), probability, training);
}

Tensor dropout1d(const Tensor& x, double probability, bool training) {
    return channels_dropped("dropout1d", 1, x, probability, training);
}
Tensor dropout2d(const Tensor& x, double probability, bool training) {
    return channels_dropped("dropout2d", 2, x, probability, training);
}
Tensor dropout3d(const Tensor& x, double probability, bool training) {
    return channels_dropped("dropout3d", 3, x, probability, training);
}

}  // namespace weft
