// numerics/lanes_body.h: the innermost loops, compiled once for each level of processor by linalg_lanes.cpp, which defines
// WEFT_TARGET (the attribute), kTileRows and kTileVectors around it. The order of each sum is the same in all of them.

// One by one, so that arrays of values live in registers.
template <class Value>
WEFT_TARGET __attribute__((always_inline)) inline void load(Value& value, const double* from) {
    std::memcpy(&value, from, sizeof value);
}
template <class Value>
WEFT_TARGET __attribute__((always_inline)) inline void store(double* to, const Value& value) {
    std::memcpy(to, &value, sizeof value);
}

WEFT_TARGET void add_scaled(double* y, double factor, const double* x, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes left, right;
        std::memcpy(&left, y + i, sizeof left);
        std::memcpy(&right, x + i, sizeof right);
        left += factor * right;
        std::memcpy(y + i, &left, sizeof left);
    }
    for (; i < count; ++i) y[i] += factor * x[i];
}

WEFT_TARGET double dot(const double* x, const double* y, std::int64_t count) {
    Lanes sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
            Lanes left, right;
            std::memcpy(&left, x + i + u * kLanes, sizeof left);
            std::memcpy(&right, y + i + u * kLanes, sizeof right);
            sums[u] += left * right;
        }
    }
    for (; i + kLanes <= count; i += kLanes) {
        Lanes left, right;
        std::memcpy(&left, x + i, sizeof left);
        std::memcpy(&right, y + i, sizeof right);
        sums[0] += left * right;
    }
    const Lanes all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double sum = ((all[0] + all[4]) + (all[2] + all[6])) + ((all[1] + all[5]) + (all[3] + all[7]));
    for (; i < count; ++i) sum += x[i] * y[i];
    return sum;
}

WEFT_TARGET void divide(double* x, double divisor, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes value;
        std::memcpy(&value, x + i, sizeof value);
        value /= divisor;
        std::memcpy(x + i, &value, sizeof value);
    }
    for (; i < count; ++i) x[i] /= divisor;
}

WEFT_TARGET double largest_magnitude(const double* x, std::int64_t count) {  // NaN if there is one
    Lanes most = {}, wrong = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes value;
        std::memcpy(&value, x + i, sizeof value);
        wrong += value - value;  // NaN for NaN and infinities: those are looked at again
        value = value < 0 ? -value : value;
        most = value > most ? value : most;
    }
    double result = 0;
    bool finite = true;
    for (int k = 0; k < kLanes; ++k) result = most[k] > result ? most[k] : result, finite = finite && wrong[k] == 0;
    if (!finite) result = 0, i = 0;
    for (; i < count; ++i) {
        const double size = std::fabs(x[i]);
        if (!(size <= result)) result = size;
        if (std::isnan(result)) break;
    }
    return result;
}

WEFT_TARGET void rotate(double* x, double* y, double c, double s, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes left, right;
        std::memcpy(&left, x + i, sizeof left);
        std::memcpy(&right, y + i, sizeof right);
        const Lanes first = c * left - s * right, second = s * left + c * right;
        std::memcpy(x + i, &first, sizeof first);
        std::memcpy(y + i, &second, sizeof second);
    }
    for (; i < count; ++i) {
        const double first = c * x[i] - s * y[i], second = s * x[i] + c * y[i];
        x[i] = first, y[i] = second;
    }
}

// A sweep on a strip of columns: the row that two neighbouring rotations share stays in registers.
template <class Value, int kCount>
WEFT_TARGET void rotate_strip(double* data, std::int64_t stride, std::int64_t count, const double* cs) {
    constexpr int kSize = sizeof(Value) / sizeof(double);
    Value shared[kCount];
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) load(shared[u], data + u * kSize);
    for (std::int64_t k = 0; k < count; ++k, data += stride, cs += 2) {  // x is the shared row
        const double c = cs[0], s = cs[1];
#pragma GCC unroll 4
        for (int u = 0; u < kCount; ++u) {
            Value y;
            load(y, data + stride + u * kSize);
            store(data + u * kSize, c * shared[u] - s * y);
            shared[u] = s * shared[u] + c * y;
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) store(data + u * kSize, shared[u]);
}

template <class Value, int kCount>
WEFT_TARGET void rotate_strip_descending(double* data, std::int64_t stride, std::int64_t count, const double* cs) {
    constexpr int kSize = sizeof(Value) / sizeof(double);
    data += count * stride;
    Value shared[kCount];
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) load(shared[u], data + u * kSize);
    for (std::int64_t k = 0; k < count; ++k, data -= stride, cs += 2) {  // y is the shared row
        const double c = cs[0], s = cs[1];
#pragma GCC unroll 4
        for (int u = 0; u < kCount; ++u) {
            Value x;
            load(x, data - stride + u * kSize);
            store(data + u * kSize, s * x + c * shared[u]);
            shared[u] = c * x - s * shared[u];
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) store(data + u * kSize, shared[u]);
}

WEFT_TARGET void rotate_rows(const Matrix& rows, const Sweep& sweep, const double* cs) {
    double* const data = rows[sweep.first];
    const std::int64_t stride = rows.stride, count = sweep.count;
    std::int64_t j = 0;
    for (; j + 4 * kLanes <= rows.columns; j += 4 * kLanes)
        if (sweep.descending) rotate_strip_descending<Lanes, 4>(data + j, stride, count, cs);
        else rotate_strip<Lanes, 4>(data + j, stride, count, cs);
    for (; j + kLanes <= rows.columns; j += kLanes)
        if (sweep.descending) rotate_strip_descending<Lanes, 1>(data + j, stride, count, cs);
        else rotate_strip<Lanes, 1>(data + j, stride, count, cs);
    for (; j < rows.columns; ++j)
        if (sweep.descending) rotate_strip_descending<double, 1>(data + j, stride, count, cs);
        else rotate_strip<double, 1>(data + j, stride, count, cs);
}

template <class Value, int kCount>
WEFT_TARGET void add_rows_strip(double* y, double sign, const double* factors, std::int64_t step, const double* rows,
                                std::int64_t stride, std::int64_t count) {
    constexpr int kSize = sizeof(Value) / sizeof(double);
    Value sums[kCount];
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) load(sums[u], y + u * kSize);
    for (std::int64_t p = 0; p < count; ++p, rows += stride) {
        const double factor = sign * factors[p * step];
#pragma GCC unroll 4
        for (int u = 0; u < kCount; ++u) {
            Value right;
            load(right, rows + u * kSize);
            sums[u] += factor * right;
        }
    }
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) store(y + u * kSize, sums[u]);
}

WEFT_TARGET void add_rows(double* y, double sign, const double* factors, std::int64_t step, const Matrix& a) {
    std::int64_t j = 0;
    for (; j + 4 * kLanes <= a.columns; j += 4 * kLanes)
        add_rows_strip<Lanes, 4>(y + j, sign, factors, step, a.data + j, a.stride, a.rows);
    for (; j + kLanes <= a.columns; j += kLanes)
        add_rows_strip<Lanes, 1>(y + j, sign, factors, step, a.data + j, a.stride, a.rows);
    for (; j < a.columns; ++j) add_rows_strip<double, 1>(y + j, sign, factors, step, a.data + j, a.stride, a.rows);
}

// y[r] = the product of row r and x, for kRows rows: x is loaded once for all of them.
template <int kRows>
WEFT_TARGET void dot_rows(const double* rows, std::int64_t stride, const double* x, std::int64_t count, double* y) {
    Lanes sums[kRows] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes right;
        std::memcpy(&right, x + i, sizeof right);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
            Lanes left;
            std::memcpy(&left, rows + r * stride + i, sizeof left);
            sums[r] += left * right;
        }
    }
    for (int r = 0; r < kRows; ++r) {
        const Lanes& all = sums[r];
        double sum = ((all[0] + all[4]) + (all[2] + all[6])) + ((all[1] + all[5]) + (all[3] + all[7]));
        for (std::int64_t k = i; k < count; ++k) sum += rows[r * stride + k] * x[k];
        y[r] = sum;
    }
}

// The sum of weights / (poles - x), and its derivative.
WEFT_TARGET PoleSum sum_poles(const double* poles, const double* weights, double x, std::int64_t count) {
    Lanes sums = {}, slopes = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        Lanes pole, weight;
        load(pole, poles + i), load(weight, weights + i);
        const Lanes inverse = 1 / (pole - x), term = weight * inverse;
        sums += term, slopes += term * inverse;
    }
    PoleSum result;
    for (int k = 0; k < kLanes; ++k) result.sum += sums[k], result.slope += slopes[k];
    for (; i < count; ++i) {
        const double inverse = 1 / (poles[i] - x), term = weights[i] * inverse;
        result.sum += term, result.slope += term * inverse;
    }
    return result;
}

WEFT_TARGET void multiply(const Matrix& a, const double* x, double* y) {
    std::int64_t i = 0;
    for (; i + 4 <= a.rows; i += 4) dot_rows<4>(a[i], a.stride, x, a.columns, y + i);
    for (; i < a.rows; ++i) dot_rows<1>(a[i], a.stride, x, a.columns, y + i);
}

// c[kTileRows][kTileVectors * kLanes] += the sum over p of a[p] (a column) times b[p] (a row), from packed panels.
WEFT_TARGET void multiply_tile(std::int64_t depth, const double* a, const double* b, double* c, std::int64_t stride) {
    Lanes sums[kTileRows][kTileVectors] = {};
    for (std::int64_t p = 0; p < depth; ++p, a += kTileRows, b += kTileVectors * kLanes) {
        Lanes right[kTileVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) load(right[v], b + v * kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
            for (int v = 0; v < kTileVectors; ++v) sums[r][v] += a[r] * right[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) {
            Lanes before;
            load(before, c + r * stride + v * kLanes);
            store(c + r * stride + v * kLanes, before + sums[r][v]);
        }
    }
}

constexpr Routines kRoutines = {add_scaled, dot,       divide,   largest_magnitude, rotate,    rotate_rows,
                                add_rows,   sum_poles, multiply, multiply_tile,     kTileRows, kTileVectors* kLanes};
