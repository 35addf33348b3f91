// tests/support/random_graph.cpp: grows a pool of nodes by one random op after the other. A step that does not fit its
// operands (too large, no such axis) gives nothing, and another one is tried.
#include "tests/support/random_graph.h"

#include "ir/build.h"
#include "ir/walk.h"
#include "tensor/cell.h"
#include "tests/support/random_leaves.h"
#include "tests/support/random_network.h"

#include <weft/error.h>
#include <weft/ops.h>

#include <algorithm>
#include <mutex>

namespace weft::testing {
namespace {

using namespace ir;

const std::vector<DType> kDTypes = {bool_, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64};
const std::vector<Op> kMaths = {Op::Exp,  Op::Exp2, Op::Expm1, Op::Log,  Op::Log2, Op::Log1p, Op::Sin, Op::Cos, Op::Tan,
                                Op::Asin, Op::Acos, Op::Atan,  Op::Sinh, Op::Cosh, Op::Tanh,  Op::Erf, Op::Erfc};
const std::vector<Op> kFloatBinary = {Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Add,
                                      Op::Div, Op::Pow, Op::Mod, Op::Max, Op::Min};
const std::vector<Op> kIntBinary = {Op::Add, Op::Sub, Op::Mul, Op::Pow, Op::IDiv, Op::Mod, Op::Max,
                                    Op::Min, Op::And, Op::Or,  Op::Xor, Op::Shl,  Op::Shr, Op::Gcd};
const std::vector<Op> kBoolBinary = {Op::And, Op::Or, Op::Xor, Op::Max, Op::Min};

class Generator {
public:
    Generator(std::uint64_t seed, const GraphOptions& options) : rng_(seed), options_(options) {
        data_ = options.normal_range ? rng_.pick({Data::Whole, Data::Tame})
                                     : rng_.pick({Data::Whole, Data::Tame, Data::Tame, Data::Wild});
        only_movement_ = rng_.chance(0.05);
        main_dtype_ = rng_.chance(0.5) ? f32 : rng_.pick(kDTypes);
    }

    std::vector<NodeRef> run() {
        add(leaf(main_dtype_, random_shape()));
        const int ops = static_cast<int>(rng_.within(1, options_.most_ops));
        for (int made = 0, tried = 0; made < ops && tried < 8 * ops; ++tried) {
            Rng here = rng_.fork();  // what one step draws does not move the others
            std::swap(here, rng_);
            const std::size_t before = pool_.size();
            if (const NodeRef fresh = step();
                fresh && numel(fresh->shape) <= options_.most_elements && fresh->rank() <= 6)
                add(fresh);
            std::swap(here, rng_);
            made += pool_.size() > before;
        }
        std::vector<NodeRef> roots{pool_.back()};
        for (std::int64_t more = rng_.below(4); more > 0; --more) {
            const NodeRef& node = recent();
            if (std::find(roots.begin(), roots.end(), node) == roots.end()) roots.push_back(node);
        }
        return roots;
    }

private:
    // ---- drawing ----------------------------------------------------------------------------------------------------

    void add(const NodeRef& node) {
        if (std::find(pool_.begin(), pool_.end(), node) == pool_.end()) pool_.push_back(node);
    }

    std::int64_t random_size() {
        const std::int64_t at_most = std::max<std::int64_t>(1, options_.longest_axis);
        if (rng_.chance(0.03)) return 0;
        if (rng_.chance(0.15)) return 1;
        if (rng_.chance(0.06)) return std::min<std::int64_t>(rng_.within(10, 70), 8 * at_most);
        return std::min(at_most, rng_.within(1, 9));
    }

    Shape random_shape() {
        Shape shape;
        for (std::int64_t rank = rng_.pick({0, 1, 1, 2, 2, 2, 3, 3, 4, 5}); rank > 0; --rank)
            shape.push_back(random_size());
        while (numel(shape) > options_.most_elements) *std::max_element(shape.begin(), shape.end()) = 2;
        return shape;
    }

    NodeRef leaf(DType dtype, const Shape& shape) {
        const double kind = rng_.unit();
        if (kind < 0.08) return constant_word(dtype, random_word(rng_, dtype, data_), shape);
        if (kind < 0.12) return special_constant(dtype, shape);
        if (kind < 0.18 && !shape.empty()) {
            Shape line = Shape::filled(shape.size(), 1);
            const std::size_t axis = static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(shape.size())));
            line[axis] = shape[axis];
            return expand(reshape(cast(iota(shape[axis]), dtype), line), shape);
        }
        if (kind < 0.23) {
            const NodeRef var = variable(dtype, random_word(rng_, dtype, data_));
            return shape.empty() ? var : expand(reshape(var, Shape::filled(shape.size(), 1)), shape);
        }
        return random_leaf(rng_, dtype, shape, data_);
    }

    NodeRef special_constant(DType dtype, const Shape& shape) {  // what identities are about
        return constant(dtype, rng_.pick({0.0, 1.0, -0.0, -1.0}), shape);
    }

    const NodeRef& recent() {  // the newest ones are drawn most: graphs grow deep as well as wide
        const auto size = static_cast<std::int64_t>(pool_.size());
        return pool_[static_cast<std::size_t>(rng_.chance(0.6) ? size - 1 - rng_.below(std::min<std::int64_t>(3, size))
                                                               : rng_.below(size))];
    }

    // Another operand that broadcasts with x, of its dtype.
    NodeRef partner(const NodeRef& x) {
        if (rng_.chance(0.1)) return special_constant(x->dtype, x->shape);
        if (rng_.chance(0.5))
            for (int tries = 0; tries < 6; ++tries) {
                const NodeRef& y = recent();
                if (!fits(x->shape, y->shape)) continue;
                if (y->dtype == x->dtype) return y;
                if (tries > 2 && !only_movement_) return cast(y, x->dtype);
            }
        Shape shape = x->shape;
        if (rng_.chance(0.4)) {  // broadcasts against x
            for (std::int64_t& size : shape)
                if (rng_.chance(0.5)) size = 1;
            while (!shape.empty() && rng_.chance(0.3)) shape.erase(shape.begin());
        }
        return leaf(x->dtype, shape);
    }

    bool fits(const Shape& a, const Shape& b) const {
        try {
            return numel(broadcast_shapes(a, b)) <= options_.most_elements;
        } catch (const ShapeError&) {
            return false;
        }
    }

    NodeRef some_float() {
        for (int tries = 0; tries < 6; ++tries)
            if (const NodeRef& x = recent(); is_float(x->dtype)) return x;
        return leaf(rng_.pick({f32, f32, f32, f64, f16, bf16}), random_shape());
    }

    int some_axis(const NodeRef& x) { return static_cast<int>(rng_.below(x->rank())); }

    // ---- steps ------------------------------------------------------------------------------------------------------

    NodeRef step() {
        if (only_movement_ || rng_.chance(0.32)) return movement();
        switch (rng_.below(22)) {
            case 0: return leaf(rng_.pick(kDTypes), random_shape());
            case 1:
            case 2: return unary_step();
            case 3:
            case 4: return maths_step();
            case 5:
            case 6:
            case 7:
            case 8: return binary_step();
            case 9: return compare_step();
            case 10: return where_step();
            case 11: return cast_step();
            case 12: return bitcast_step();
            case 13:
            case 14:
            case 15: return reduce_step();
            case 16: return scan_step();
            case 17: return gather_step();
            case 18: return scatter_step();
            case 19: return contiguous(recent());
            case 20: return product_step();
            default: return network_step();
        }
    }

    NodeRef unary_step() {
        const NodeRef x = recent();
        if (is_bool(x->dtype)) return logical_not(x);
        if (!is_float(x->dtype)) return unary(rng_.pick({Op::Neg, Op::Abs}), x);
        return unary(rng_.pick({Op::Neg, Op::Abs, Op::Recip, Op::Sqrt, Op::Trunc}), x);
    }

    NodeRef maths_step() { return unary(rng_.pick(kMaths), some_float()); }

    NodeRef binary_step() {
        const NodeRef x = recent(), y = partner(x);
        const Op op = rng_.pick(is_bool(x->dtype) ? kBoolBinary : is_float(x->dtype) ? kFloatBinary : kIntBinary);
        if (options_.normal_range && (op == Op::Pow || op == Op::Div)) return nullptr;
        return rng_.chance(0.5) ? binary(op, x, y) : binary(op, y, x);
    }

    NodeRef compare_step() {
        const NodeRef x = recent();
        return binary(rng_.pick({Op::CmpLt, Op::CmpLe, Op::CmpEq}), x, partner(x));
    }

    NodeRef where_step() {
        const NodeRef x = recent(), y = partner(x);
        const Shape shape = broadcast_shapes(x->shape, y->shape);
        NodeRef condition;
        for (int tries = 0; tries < 5 && !condition; ++tries)
            if (const NodeRef& c = recent(); is_bool(c->dtype) && fits(c->shape, shape)) condition = c;
        return where(condition ? condition : leaf(bool_, shape), x, y);
    }

    NodeRef cast_step() { return cast(recent(), rng_.pick(kDTypes)); }

    // The bits of a computed NaN are nobody's business: only memory's own bits are looked at as integers.
    NodeRef bitcast_step() {
        if (options_.normal_range) return nullptr;
        const NodeRef x = recent();
        if (is_float(x->dtype) && x->op != Op::Buffer) return nullptr;
        std::vector<DType> targets;
        for (const DType t : kDTypes)
            if (size_of(t) == size_of(x->dtype) && !is_bool(t)) targets.push_back(t);
        return bitcast(x, rng_.pick(targets));
    }

    NodeRef reduce_step() {
        const NodeRef x = recent();
        if (x->rank() == 0) return nullptr;
        Dims axes;
        for (int d = 0; d < x->rank(); ++d)
            if (rng_.chance(0.5)) axes.push_back(d);
        if (axes.empty()) axes.push_back(x->rank() - 1);
        const Op op = is_bool(x->dtype) ? rng_.pick({Op::Max, Op::Min})
                                        : rng_.pick({Op::Add, Op::Add, Op::Add, Op::Mul, Op::Max, Op::Min});
        NodeRef result = reduce(op, x, axes);
        if (rng_.chance(0.4)) {  // used along its rows again, as a mean or a maximum is
            const NodeRef spread = expand(result, x->shape);
            add(result);
            return is_bool(x->dtype) ? binary(Op::Xor, x, spread)
                                     : binary(rng_.pick({Op::Sub, Op::Mul, Op::Max}), x, spread);
        }
        if (rng_.chance(0.3)) {  // without the axes
            Shape kept;
            for (int d = 0; d < x->rank(); ++d)
                if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.push_back(x->shape[d]);
            result = reshape(result, kept);
        }
        return result;
    }

    NodeRef scan_step() {
        const NodeRef x = recent();
        if (x->rank() == 0) return nullptr;
        const Op op = is_bool(x->dtype) ? rng_.pick({Op::Max, Op::Min})
                                        : rng_.pick({Op::Add, Op::Add, Op::Mul, Op::Max, Op::Min});
        return scan(op, x, some_axis(x));
    }

    // Indices into an axis of this size: data, or computed from whatever is there.
    NodeRef indices(const Shape& shape, std::int64_t below) {
        if (rng_.chance(0.4))
            for (int tries = 0; tries < 5; ++tries) {
                const NodeRef& x = recent();
                if (!(x->shape == shape)) continue;
                return binary(Op::Mod, cast(x, i64), constant(i64, below, shape));
            }
        NodeRef index = random_indices(rng_, shape, below);
        if (rng_.chance(0.3)) index = check(index, 0, below, "random_graph: an index is out of range");
        return index;
    }

    NodeRef gather_step() {
        const NodeRef x = recent();
        if (x->rank() == 0 || numel(x->shape) == 0) return nullptr;
        const int axis = some_axis(x);
        Shape shape = x->shape;
        shape[axis] = rng_.within(0, 9);
        return gather(x, indices(shape, x->shape[axis]), axis);
    }

    NodeRef scatter_step() {
        const NodeRef base = recent();
        if (base->rank() == 0 || numel(base->shape) == 0) return nullptr;
        const int axis = some_axis(base);
        Shape shape = base->shape;
        shape[axis] = rng_.chance(0.4) ? 1 : rng_.within(1, 9);
        if (numel(shape) > options_.most_elements) return nullptr;
        const NodeRef index = indices(shape, base->shape[axis]);
        constexpr Op kModes[] = {Op::Where, Op::Max, Op::Min, Op::Add, Op::Mul};  // bools: the first three
        const Op mode = kModes[rng_.within(0, is_bool(base->dtype) ? 2 : 4)];
        return scatter(mode, base, index, leaf(base->dtype, shape), axis);
    }

    // A sum of products over broadcast operands: [.., m, 1, k] and [.., 1, n, k] with their axes in any order.
    NodeRef product_step() {
        const DType dtype = rng_.pick({f32, f32, f32, f64, f16, i32});
        Shape m{rng_.within(1, 17)}, n{rng_.within(1, 19)}, k{rng_.within(1, 21)};
        if (rng_.chance(0.3)) k.push_back(rng_.within(1, 3));
        if (rng_.chance(0.2)) m.push_back(rng_.within(1, 3));
        const std::int64_t batch = rng_.chance(0.3) ? rng_.within(1, 3) : 1;
        Shape domain{batch}, left{batch}, right{batch};
        Dims summed;
        for (const auto& [sizes, in_left, in_right] :
             {std::tuple{m, true, false}, std::tuple{n, false, true}, std::tuple{k, true, true}})
            for (const std::int64_t size : sizes) {
                if (in_left && in_right) summed.push_back(static_cast<std::int64_t>(domain.size()));
                domain.push_back(size);
                left.push_back(in_left ? size : 1);
                right.push_back(in_right ? size : 1);
            }
        if (numel(domain) > 8 * options_.most_elements) return nullptr;
        NodeRef a = operand(dtype, left), b = operand(dtype, right);
        if (rng_.chance(0.3)) a = expand(reduce(Op::Max, a, {static_cast<std::int64_t>(domain.size()) - 1}), left);
        const NodeRef left_factor = expand(a, domain), right_factor = expand(b, domain);
        NodeRef out =
            reduce(Op::Add, rng_.chance(0.8) ? product(left_factor, right_factor) : left_factor * right_factor, summed);
        if (rng_.chance(0.6))
            out = out + operand(dtype, [&] {  // bias
                      Shape shape = out->shape;
                      for (std::int64_t& size : shape)
                          if (rng_.chance(0.5)) size = 1;
                      return shape;
                  }());
        if (rng_.chance(0.5)) out = binary(Op::Max, out, constant(dtype, 0, out->shape));
        return out;
    }

    NodeRef operand(DType dtype, const Shape& shape) {
        for (int tries = 0; tries < 3; ++tries)
            if (const NodeRef& x = recent(); numel(x->shape) == numel(shape)) return reshape(cast(x, dtype), shape);
        NodeRef x = leaf(dtype, shape);
        if (rng_.chance(0.2) && is_float(dtype)) x = unary(rng_.pick({Op::Exp, Op::Tanh, Op::Neg}), x);
        return x;
    }

    NodeRef network_step() {
        const std::vector<NodeRef> made = random_network(rng_, data_ == Data::Wild ? Data::Tame : data_);
        for (const NodeRef& node : made)
            if (numel(node->shape) <= options_.most_elements) add(node);
        return nullptr;
    }

    // ---- views ------------------------------------------------------------------------------------------------------

    NodeRef movement() {
        const NodeRef x = recent();
        switch (rng_.below(11)) {
            case 0:
            case 1: return reshape_step(x);
            case 2: return permute_step(x);
            case 3: return expand_step(x);
            case 4: return shrink_step(x);
            case 5: return pad_step(x);
            case 6: return flip_step(x);
            case 7: return skew_step(x);
            case 8: return unskew_step(x);
            case 9: return insert_step(x);
            default: return window_step(x);
        }
    }

    NodeRef reshape_step(const NodeRef& x) {
        Shape shape;
        std::int64_t left = numel(x->shape);
        if (left == 0) return reshape(x, {rng_.below(3), 0, rng_.within(1, 3)});
        while (left > 1 && shape.size() < 4) {
            std::vector<std::int64_t> factors;
            for (std::int64_t f = 2; f <= left && f <= 64; ++f)
                if (left % f == 0) factors.push_back(f);
            if (factors.empty()) break;
            const std::int64_t f = rng_.chance(0.2) ? left : rng_.pick(factors);
            shape.push_back(f);
            left /= f;
        }
        if (left > 1) shape.push_back(left);
        if (rng_.chance(0.3)) shape.insert(shape.begin() + rng_.below(static_cast<std::int64_t>(shape.size()) + 1), 1);
        return reshape(x, shape);
    }

    NodeRef permute_step(const NodeRef& x) {
        Dims axes;
        for (int d = 0; d < x->rank(); ++d) axes.insert(axes.begin() + rng_.below(d + 1), d);
        return permute(x, axes);
    }

    NodeRef expand_step(const NodeRef& x) {
        Shape shape = x->shape;
        for (std::int64_t& size : shape)
            if (size == 1 && rng_.chance(0.7)) size = random_size();
        if (rng_.chance(0.5)) shape.insert(shape.begin(), random_size());
        return numel(shape) <= options_.most_elements ? expand(x, shape) : nullptr;
    }

    NodeRef shrink_step(const NodeRef& x) {
        Dims starts;
        Shape sizes;
        for (const std::int64_t size : x->shape) {
            starts.push_back(rng_.chance(0.5) ? 0 : rng_.within(0, size));
            const std::int64_t left = size - starts.back();
            sizes.push_back(rng_.chance(0.5) ? left : rng_.within(std::min<std::int64_t>(1, left), left));
        }
        return shrink(x, starts, sizes);
    }

    NodeRef pad_step(const NodeRef& x) {
        Dims before, after;
        Shape shape;
        for (const std::int64_t size : x->shape) {
            before.push_back(rng_.chance(0.5) ? 0 : rng_.below(4));
            after.push_back(rng_.chance(0.5) ? 0 : rng_.below(4));
            shape.push_back(size + before.back() + after.back());
        }
        return numel(shape) <= options_.most_elements ? pad(x, before, after) : nullptr;
    }

    NodeRef flip_step(const NodeRef& x) {
        Dims axes;
        for (int d = 0; d < x->rank(); ++d)
            if (rng_.chance(0.5)) axes.push_back(d);
        return flip(x, axes);
    }

    struct Skewed {
        SkewArg arg;
        bool found = false;
    };
    Skewed skew_axes(const NodeRef& x) {
        if (x->rank() < 2) return {};
        const int axis = some_axis(x), window = some_axis(x);
        return {{axis, window, rng_.pick({1, 1, 2, 3}), rng_.pick({1, 1, 2})}, axis != window};
    }

    NodeRef skew_step(const NodeRef& x) {
        const auto [arg, found] = skew_axes(x);
        if (!found) return nullptr;
        const std::int64_t reach = (std::max<std::int64_t>(1, x->shape[arg.window]) - 1) * arg.dilation;
        if (x->shape[arg.axis] <= reach) return nullptr;
        const std::int64_t most = (x->shape[arg.axis] - reach - 1) / arg.stride + 1;
        return skew(x, arg, rng_.chance(0.7) ? most : rng_.within(1, most));
    }

    NodeRef unskew_step(const NodeRef& x) {
        const auto [arg, found] = skew_axes(x);
        if (!found || numel(x->shape) == 0) return nullptr;
        const std::int64_t least =
            (x->shape[arg.axis] - 1) * arg.stride + (x->shape[arg.window] - 1) * arg.dilation + 1;
        const std::int64_t inputs = least + (rng_.chance(0.5) ? 0 : rng_.below(4));
        if (numel(x->shape) / x->shape[arg.axis] * inputs > options_.most_elements) return nullptr;
        return unskew(x, arg, inputs);
    }

    // A sliding window: a new axis, then a skew; often reduced at once, as convolutions and pools do.
    NodeRef window_step(const NodeRef& x) {
        if (x->rank() == 0 || x->rank() > 4) return nullptr;
        const int axis = some_axis(x);
        const std::int64_t size = rng_.within(1, 4), stride = rng_.within(1, 3), dilation = rng_.within(1, 2);
        const std::int64_t reach = (size - 1) * dilation;
        if (x->shape[axis] <= reach) return nullptr;
        Shape shape = x->shape;
        shape.push_back(1);
        Shape wide = shape;
        wide.back() = size;
        if (numel(wide) > options_.most_elements) return nullptr;
        const NodeRef windows = skew(expand(reshape(x, shape), wide), {axis, x->rank(), stride, dilation},
                                     (x->shape[axis] - reach - 1) / stride + 1);
        if (only_movement_ || rng_.chance(0.4)) return windows;
        return reduce(is_bool(x->dtype) ? Op::Max : rng_.pick({Op::Add, Op::Max}), windows, {x->rank()});
    }

    NodeRef insert_step(const NodeRef& base) {
        Dims starts;
        Shape sizes;
        for (const std::int64_t size : base->shape) {
            sizes.push_back(rng_.within(std::min<std::int64_t>(1, size), size));
            starts.push_back(rng_.within(0, size - sizes.back()));
        }
        NodeRef value;
        for (int tries = 0; tries < 4 && !value; ++tries)  // something computed, if it is large enough
            if (const NodeRef& x = recent(); x->dtype == base->dtype && numel(x->shape) == numel(sizes))
                value = reshape(x, sizes);
        return insert(base, value ? value : leaf(base->dtype, sizes), starts);
    }

    Rng rng_;
    const GraphOptions options_;
    Data data_ = Data::Tame;
    bool only_movement_ = false;
    DType main_dtype_ = f32;
    std::vector<NodeRef> pool_;
};

}  // namespace

std::vector<NodeRef> random_graph(std::uint64_t seed, const GraphOptions& options) {
    return Generator(seed, options).run();
}

}  // namespace weft::testing
