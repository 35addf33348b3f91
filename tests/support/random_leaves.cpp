// tests/support/random_leaves.cpp: memory with random contents and layout.
#include "tests/support/random_leaves.h"

#include "ir/build.h"
#include "tests/support/eager.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace weft::testing {
namespace {

double wild_double(Rng& rng) {
    using Limits = std::numeric_limits<double>;
    switch (rng.below(16)) {
        case 0: return 0.0;
        case 1: return -0.0;
        case 2: return Limits::infinity();
        case 3: return -Limits::infinity();
        case 4: return Limits::quiet_NaN();
        case 5: return 1e-40 * rng.unit();  // subnormal in f32
        case 6: return -6e-8;               // subnormal in f16
        case 7: return 3e38;
        case 8: return 65000 * (rng.unit() - 0.5);
        case 9: return std::ldexp(rng.unit(), static_cast<int>(rng.within(-120, 120)));
        default: return 4 * rng.unit() - 2;
    }
}

Word integer_word(Rng& rng, DType dtype, Data data) {
    if (dtype == DType::Bool) return rng.next() & 1;
    if (data == Data::Wild) {
        const Word bits =
            rng.chance(0.2) ? rng.pick<Word>({0, 1, ~Word{0}, Word{1} << 63, ~(Word{1} << 63)}) : rng.next();
        return cast_word(DType::U64, dtype, bits);
    }
    const std::int64_t low = is_unsigned(dtype) ? 0 : -6;
    return cast_word(DType::I64, dtype, static_cast<Word>(rng.within(low, 6)));
}

}  // namespace

Word random_word(Rng& rng, DType dtype, Data data) {
    if (!is_float(dtype)) return integer_word(rng, dtype, data);
    double value = 0;
    switch (data) {
        case Data::Whole: value = static_cast<double>(rng.within(-4, 4)); break;
        case Data::Tame: value = rng.chance(0.03) ? 0 : 4 * rng.unit() - 2; break;
        case Data::Wild: value = wild_double(rng); break;
    }
    if (value == 0 && rng.chance(0.3)) value = -0.0;
    return cast_word(DType::F64, dtype, to_word(value));
}

ir::NodeRef random_leaf(Rng& rng, DType dtype, const Shape& shape, Data data) {
    const std::size_t rank = shape.size();
    std::vector<std::size_t> order(rank);  // from the axis that runs slowest
    std::iota(order.begin(), order.end(), 0);
    const int layout = static_cast<int>(rng.below(3));  // 0: dense, 1: permuted, 2: anything
    if (layout > 0)
        for (std::size_t i = rank; i > 1; --i)
            std::swap(order[i - 1], order[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
    Dims strides = Dims::filled(rank, 1);
    std::int64_t step = layout == 2 && rng.chance(0.3) ? rng.within(2, 3) : 1, offset = layout == 2 ? rng.below(4) : 0,
                 reach = offset;
    for (std::size_t i = rank; i-- > 0;) {
        const std::size_t axis = order[i];
        const std::int64_t size = shape[axis];
        if (layout == 2 && rng.chance(0.12)) {
            strides[axis] = 0;
            continue;
        }
        strides[axis] = step;
        const std::int64_t span = step * std::max<std::int64_t>(0, size - 1);
        reach += span;
        if (layout == 2 && rng.chance(0.25)) {
            strides[axis] = -step;
            offset += span;
        }
        step *= std::max<std::int64_t>(1, size);
        if (layout == 2 && rng.chance(0.25)) step += rng.within(1, 3);
    }
    const auto storage = std::make_shared<HostStorage>(static_cast<std::size_t>(reach + 1) * size_of(dtype));
    for (std::int64_t i = 0; i <= reach; ++i)
        store_word(dtype, storage->memory.data() + static_cast<std::size_t>(i) * size_of(dtype),
                   random_word(rng, dtype, data));
    return ir::buffer(storage, dtype, shape, offset, strides);
}

ir::NodeRef dense_leaf(Rng& rng, DType dtype, const Shape& shape, Data data) {
    std::vector<Word> words(static_cast<std::size_t>(numel(shape)));
    for (Word& word : words) word = random_word(rng, dtype, data);
    return words_leaf(dtype, shape, words);
}

ir::NodeRef random_indices(Rng& rng, const Shape& shape, std::int64_t below) {
    std::vector<Word> words(static_cast<std::size_t>(numel(shape)));
    for (Word& word : words) word = static_cast<Word>(rng.below(below));
    return words_leaf(DType::I64, shape, words);
}

ir::NodeRef words_leaf(DType dtype, const Shape& shape, const std::vector<Word>& words) {
    const auto storage = std::make_shared<HostStorage>(std::max<std::size_t>(1, words.size()) * size_of(dtype));
    for (std::size_t i = 0; i < words.size(); ++i)
        store_word(dtype, storage->memory.data() + i * size_of(dtype), words[i]);
    return ir::buffer(storage, dtype, shape, 0, row_major_strides(shape));
}

}  // namespace weft::testing
