// Linear algebra in memory: the routines by what their factors multiply to. tests/tensor/linalg_test.cpp has the ops made of them.
#include "numerics/dense.h"
#include "core/config.h"
#include "tests/tensor/support.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/linalg.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace weft;
using namespace weft::testing;

namespace {

using dense::Matrix;
using dense::Owned;
using dense::Strided;

void fill(const Matrix& a, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < a.columns; ++j) a[i][j] = normal(generator);
}

double distance(const Strided& a, const Strided& b) {
    double most = 0;
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < a.columns; ++j)
            if (const double d = std::fabs(a(i, j) - b(i, j)); !(d <= most)) most = d;
    return most;
}

// How far the columns are from orthonormal.
double skewness(const Matrix& q) {
    Owned products(q.columns, q.columns), one(q.columns, q.columns);
    dense::add_product({}, products, 1, Strided(q).t(), q);
    dense::set_identity(one);
    return distance(products, one);
}

constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{1, 1},   {2, 2},   {3, 7},   {7, 3},   {8, 8},
                                                            {33, 40}, {40, 33}, {65, 65}, {70, 130}};

}  // namespace

// ---- in memory -------------------------------------------------------------------------------------------------------

TEST_CASE("dense: products of all sizes") {
    for (const auto& [m, n] : kSizes)
        for (const std::int64_t k : {1, 5, 300}) {
            Owned a(m, k), b(k, n), c(m, n), expected(m, n);
            fill(a, 1), fill(b, 2), fill(c, 3);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                    expected[i][j] = c[i][j];
                    for (std::int64_t p = 0; p < k; ++p) expected[i][j] -= 2 * a[i][p] * b[p][j];
                }
            dense::add_product({}, c, -2, a, b);
            CHECK(distance(c, expected) < 1e-12);
        }
}

TEST_CASE("dense: the hypotenuse of any two numbers") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(dense::hypotenuse(3, -4) == 5);
    CHECK(dense::hypotenuse(-5e300, 12e300) == doctest::Approx(13e300));
    CHECK(dense::hypotenuse(5e-320, 12e-320) == doctest::Approx(13e-320).epsilon(1e-3));
    CHECK(dense::hypotenuse(0, -0.0) == 0);
    CHECK(dense::hypotenuse(0, -2) == 2);
    CHECK(dense::hypotenuse(-inf, inf) == inf);
    CHECK(std::isnan(dense::hypotenuse(1, nan)));
    CHECK(std::isnan(dense::hypotenuse(nan, 1)));
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    for (int i = 0; i < 1000; ++i) {
        const double a = normal(generator), b = normal(generator);
        CHECK(dense::hypotenuse(a, b) == doctest::Approx(std::hypot(a, b)).epsilon(1e-15));
    }
}

TEST_CASE("dense: LU, Cholesky and QR multiply back") {
    for (const auto& [m, n] : kSizes) {
        CAPTURE(m);
        CAPTURE(n);
        const std::int64_t k = std::min(m, n);
        Owned a(m, n), factors(m, n), product(m, n), exchanged(m, n);
        fill(a, 4);
        std::vector<std::int64_t> pivots(static_cast<std::size_t>(k));
        dense::copy(a, factors);
        CHECK(dense::lu({}, factors, pivots.data()) == 0);
        Owned l(m, k), u(k, n);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < k; ++j) l[i][j] = i == j ? 1 : j < i ? factors[i][j] : 0;
        for (std::int64_t i = 0; i < k; ++i) std::copy(factors[i] + i, factors[i] + n, u[i] + i);
        dense::add_product({}, product, 1, l, u);
        const auto order = dense::rows_after(pivots.data(), k, m);
        for (std::int64_t i = 0; i < m; ++i) std::copy(a[order[i]], a[order[i]] + n, exchanged[i]);
        CHECK(distance(product, exchanged) < 1e-13);
        CHECK(dense::largest(l) == 1);  // that is what pivots are for

        std::vector<double> tau;
        dense::copy(a, factors);
        dense::qr({}, factors, tau);
        Owned q(m, m), r(m, n), back(m, n);
        dense::q_of({}, factors, tau, q);
        for (std::int64_t i = 0; i < k; ++i) std::copy(factors[i] + i, factors[i] + n, r[i] + i);
        dense::add_product({}, back, 1, q, r);
        CHECK(distance(back, a) < 1e-13);
        CHECK(skewness(q) < 1e-13);

        Owned square(m, m), root(m, m), again(m, m);
        dense::add_product({}, square, 1, a, Strided(a).t());
        for (std::int64_t i = 0; i < m; ++i) square[i][i] += 1;
        dense::copy(square, root);
        for (std::int64_t i = 0; i < m; ++i) std::fill(root[i] + i + 1, root[i] + m, 1e9);  // not read
        CHECK(dense::cholesky({}, root) == 0);
        dense::add_product({}, again, 1, root, Strided(root).t());
        CHECK(distance(again, square) < 1e-12);
    }
}

TEST_CASE("dense: singular values and eigenvalues multiply back, of deficient matrices too") {
    for (const auto& [m, n] : kSizes)
        for (const std::int64_t rank : {std::int64_t{0}, std::int64_t{2}, std::min(m, n)}) {
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(rank);
            const std::int64_t k = std::min(m, n);
            Owned left(m, rank), right(rank, n), a(m, n);
            fill(left, 5), fill(right, 6);
            dense::add_product({}, a, 1, left, right);
            Owned u(m, m), vt(n, n), scaled(m, k), back(m, n);
            Doubles s(static_cast<std::size_t>(k)), alone(s);
            REQUIRE(dense::svd({}, a, s.data(), u, vt));
            REQUIRE(dense::svd({}, a, alone.data()));
            CHECK(std::is_sorted(s.rbegin(), s.rend()));
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < k; ++j) scaled[i][j] = u[i][j] * s[j];
            dense::add_product({}, back, 1, scaled, vt.block(0, 0, k, n));
            CHECK(distance(back, a) < 1e-12);
            CHECK(skewness(u) < 1e-12);
            CHECK(skewness(vt) < 1e-12);
            for (std::int64_t i = 0; i < k; ++i) {
                CHECK(std::fabs(s[i] - alone[i]) < 1e-12);
                if (i >= rank) CHECK(s[i] < 1e-12);
            }
        }
    for (const std::int64_t n : {1, 2, 3, 20, 66}) {
        Owned a(n, n), v(n, n), scaled(n, n), back(n, n);
        fill(a, 7);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < i; ++j) a[j][i] = a[i][j];
        Doubles w(static_cast<std::size_t>(n));
        REQUIRE(dense::eigh({}, a, w.data(), v));
        CHECK(std::is_sorted(w.begin(), w.end()));
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) scaled[i][j] = v[i][j] * w[j];
        dense::add_product({}, back, 1, scaled, Strided(v).t());
        CHECK(distance(back, a) < 1e-12);
        CHECK(skewness(v) < 1e-12);
    }
}

TEST_CASE("dense: sizes of numbers do not matter, and small singular values are exact") {
    for (const double scale : {1e-200, 1e200}) {
        Owned a(3, 3), u(3, 3), vt(3, 3);
        fill(a, 8);
        Doubles s(3), big(3), w(3);
        REQUIRE(dense::svd({}, a, s.data()));
        for (std::int64_t i = 0; i < 9; ++i) a.data[i] *= scale;
        REQUIRE(dense::svd({}, a, big.data(), u, vt));
        for (int i = 0; i < 3; ++i) CHECK(std::fabs(big[i] / scale - s[i]) < 1e-13);
        REQUIRE(dense::eigh({}, a, w.data()));
        CHECK(std::isfinite(w[2]));
        std::vector<double> tau;
        dense::qr({}, a, tau);
        CHECK(std::isfinite(a[0][0]));
    }
    Owned graded(3, 3);  // columns of very different size: each singular value keeps its digits
    graded[0][0] = 1, graded[1][0] = 1, graded[0][1] = 1e-20, graded[1][1] = -1e-20, graded[2][2] = 1e-40;
    Doubles s(3);
    REQUIRE(dense::svd({}, graded, s.data()));
    CHECK(std::fabs(s[0] / std::sqrt(2) - 1) < 1e-14);
    CHECK(std::fabs(s[1] / (std::sqrt(2) * 1e-20) - 1) < 1e-14);
    CHECK(std::fabs(s[2] / 1e-40 - 1) < 1e-14);
}

namespace {

// Symmetric matrices that decompositions find hard: equal eigenvalues, tiny couplings, hardly any rank.
std::vector<std::pair<const char*, std::function<double(std::int64_t, std::int64_t)>>> hard_matrices() {
    return {{"ones", [](auto, auto) { return 1.0; }},
            {"zeros", [](auto, auto) { return 0.0; }},
            {"identity", [](auto i, auto j) { return i == j ? 1.0 : 0.0; }},
            {"whole numbers", [](auto i, auto j) { return i == j ? static_cast<double>(i % 3) : 0.0; }},
            {"second differences", [](auto i, auto j) { return i == j                 ? 2.0
                                                               : std::abs(i - j) == 1 ? -1.0
                                                                                      : 0.0; }},
            {"rank 2",
             [](auto i, auto j) { return std::sin(0.7 * i) * std::sin(0.7 * j) + 1.1 * std::cos(i) * std::cos(j); }},
            {"Hilbert", [](auto i, auto j) { return 1.0 / static_cast<double>(i + j + 1); }},
            {"glued Wilkinson", [](auto i, auto j) {
                 if (i == j) return std::fabs(static_cast<double>(i % 21) - 10);
                 if (std::abs(i - j) != 1) return 0.0;
                 return std::max(i, j) % 21 == 0 ? 1e-8 : 1.0;
             }}};
}

}  // namespace

TEST_CASE("dense: equal eigenvalues, tiny couplings and hardly any rank, in blocks and halves of all sizes") {
    for (const auto& [name, element] : hard_matrices())
        for (const std::int64_t n : {24, 25, 33, 64, 65, 129, 200}) {
            CAPTURE(name);
            CAPTURE(n);
            Owned a(n, n), v(n, n), u(n, n), vt(n, n), scaled(n, n), of_vectors(n, n), of_factors(n, n);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j) a[i][j] = element(i, j);
            Doubles w(static_cast<std::size_t>(n)), alone(w), s(w), only(w);
            REQUIRE(dense::eigh({}, a, w.data(), v));
            REQUIRE(dense::eigh({}, a, alone.data()));
            REQUIRE(dense::svd({}, a, s.data(), u, vt));
            REQUIRE(dense::svd({}, a, only.data()));
            const double size = std::max(1.0, std::fabs(w.back())) * 1e-13;
            CHECK(skewness(v) < 1e-12);
            CHECK(skewness(u) < 1e-12);
            CHECK(skewness(vt) < 1e-12);
            for (std::int64_t i = 0; i < n; ++i) {
                CHECK(std::fabs(w[i] - alone[i]) < size);
                CHECK(std::fabs(s[i] - only[i]) < size);
                for (std::int64_t j = 0; j < n; ++j) scaled[i][j] = v[i][j] * w[j];
            }
            dense::add_product({}, of_vectors, 1, scaled, Strided(v).t());
            CHECK(distance(of_vectors, a) < size);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j) scaled[i][j] = u[i][j] * s[j];
            dense::add_product({}, of_factors, 1, scaled, vt);
            CHECK(distance(of_factors, a) < size);
        }
}

TEST_CASE("dense: what is left of a matrix of rank 2 is noise, and eigenvalues converge all the same") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        const std::int64_t n = 67;
        Owned vectors(n, 2), a(n, n), v(n, n);
        fill(vectors, seed);
        dense::add_product({}, a, 1, vectors, Strided(vectors).t());
        Doubles w(static_cast<std::size_t>(n)), alone(w);
        REQUIRE(dense::eigh({}, a, alone.data()));
        REQUIRE(dense::eigh({}, a, w.data(), v));
        CHECK(skewness(v) < 1e-12);
        for (std::int64_t i = 0; i < n; ++i) CHECK(std::fabs(w[i] - alone[i]) < 1e-11);
        CHECK(std::fabs(w[n - 3]) < 1e-11);
    }
}

TEST_CASE("dense: least squares of any shape, rank and condition solve the normal equations and are the smallest") {
    for (const auto& [m, n] : kSizes)
        for (const std::int64_t rank : {std::int64_t{1}, std::min<std::int64_t>(3, std::min(m, n)), std::min(m, n)})
            for (const double smallest : {1.0, 1e-7}) {
                CAPTURE(m);
                CAPTURE(n);
                CAPTURE(rank);
                CAPTURE(smallest);
                const std::int64_t k = 3;
                Owned left(m, rank), right(rank, n), a(m, n), b(m, k), x(n, k), residual(m, k), normal(n, k);
                fill(left, 21), fill(right, 22), fill(b, 23);
                for (std::int64_t i = 0; i < m; ++i) left[i][rank - 1] *= smallest;
                dense::add_product({}, a, 1, left, right);
                CHECK(dense::least_squares({}, a, b, 1e-12, x) == rank);
                dense::copy(b, residual);
                dense::add_product({}, residual, -1, a, x);
                dense::add_product({}, normal, 1, Strided(a).t(), residual);
                CHECK(dense::largest(normal) < 1e-9 * (1 + dense::largest(x)));
                // Of no part outside of the rows of a, which `right` spans.
                Owned coordinates(rank, k), back(n, k);
                dense::least_squares({}, Strided(right).t(), x, 1e-12, coordinates);
                dense::add_product({}, back, 1, Strided(right).t(), coordinates);
                CHECK(distance(back, x) < 1e-6 * (1 + dense::largest(x)));
            }
    Owned a(40, 30), b(40, 1), x(30, 1);  // what is below the tolerance is no rank
    fill(a, 24), fill(b, 25);
    for (std::int64_t i = 0; i < 40; ++i) a[i][7] = a[i][3] + 1e-9 * a[i][7];
    CHECK(dense::least_squares({}, a, b, 1e-12, x) == 30);
    CHECK(dense::least_squares({}, a, b, 1e-6, x) == 29);
    CHECK(dense::largest(x) < 10);
}

TEST_CASE("dense: threads change no bit") {
    const dense::Team::ForEach backwards = [](std::int64_t count, const std::function<void(std::int64_t)>& f) {
        for (std::int64_t i = count; i-- > 0;) f(i);
    };
    const dense::Team team(backwards, machine_level()), alone;
    const std::int64_t n = 300;
    Owned a(n, n), b(n, n);
    fill(a, 11), fill(b, 12);
    const auto same = [&](const std::function<void(const dense::Team&, const Matrix&)>& f) {
        Owned first(n, n), second(n, n);
        dense::copy(a, first), dense::copy(a, second);
        f(alone, first), f(team, second);
        return distance(first, second) == 0;
    };
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
    Doubles values(static_cast<std::size_t>(n));
    CHECK(same([&](const auto& t, const Matrix& x) { dense::lu(t, x, pivots.data()); }));
    CHECK(same([&](const auto& t, const Matrix& x) {
        std::vector<double> tau;
        Owned q(n, n);
        dense::qr(t, x, tau);
        dense::q_of(t, x, tau, q);
        dense::copy(q, x);
    }));
    CHECK(same([&](const auto& t, const Matrix& x) { dense::solve_triangular(t, b, true, false, x); }));
    CHECK(same([&](const auto& t, const Matrix& x) { CHECK(dense::least_squares(t, b, a, 1e-12, x) == n); }));
    CHECK(same([&](const auto& t, const Matrix& x) {
        Owned square(n, n);
        dense::add_product(t, square, 1, b, Strided(b).t());
        CHECK(dense::cholesky(t, square) == 0);
        dense::copy(square, x);
    }));
    CHECK(same([&](const auto& t, const Matrix& x) {
        Owned v(n, n);
        REQUIRE(dense::eigh(t, x, values.data(), v));
        dense::copy(v, x);
    }));
    CHECK(same([&](const auto& t, const Matrix& x) {
        Owned u(n, n), vt(n, n);
        REQUIRE(dense::svd(t, x, values.data(), u, vt));
        dense::copy(u, x);
    }));
}
