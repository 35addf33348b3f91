// tensor/linalg_lanes_body.h: the innermost loops, compiled once for each level of processor by linalg_lanes.cpp, which defines
// WEFT_TARGET (the attribute), kTileRows and kTileVectors around it. The order of each sum is the same in all of them.

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

// tile[kTileRows][kTileVectors * kLanes] = the sum over p of a[p] (a column) times b[p] (a row), from packed panels.
WEFT_TARGET void multiply_tile(std::int64_t depth, const double* a, const double* b, double* tile) {
    Lanes sums[kTileRows][kTileVectors] = {};
    for (std::int64_t p = 0; p < depth; ++p, a += kTileRows, b += kTileVectors * kLanes) {
        Lanes right[kTileVectors];
        std::memcpy(right, b, sizeof right);
#pragma GCC unroll 8
        for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 2
            for (int v = 0; v < kTileVectors; ++v) sums[r][v] += a[r] * right[v];
        }
    }
    std::memcpy(tile, sums, sizeof sums);
}

constexpr Routines kRoutines = {add_scaled, dot, rotate, multiply_tile, kTileRows, kTileVectors* kLanes};
