// tensor/linalg_nodes.cpp: the decompositions as custom functions: the matrices of a batch on all threads, and errors.
#include "tensor/linalg_nodes.h"

#include "core/str.h"
#include "ir/build.h"
#include "numerics/dense.h"
#include "tensor/cell.h"

#include <weft/error.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::linalg::nodes {
namespace {

using dense::Matrix;
using dense::Owned;
using dense::Strided;
using dense::Team;
using ir::CustomCall;
using Results = std::vector<std::pair<DType, Shape>>;

// A function of these inputs as a node, and its results as tensors. Beside `parameters`, all sizes are part of what it is.
std::vector<Tensor> apply(const std::string& name, std::string parameters, std::initializer_list<Tensor> inputs,
                          Results results, std::function<void(const CustomCall&)> run) {
    std::vector<ir::NodeRef> sources;
    for (const Tensor& input : inputs) {
        sources.push_back(ir::detach(node_of(input)));
        parameters += str(" ", input.shape());
    }
    const std::size_t count = results.size();
    const ir::NodeRef node = ir::custom(
        ir::shared(
            {.name = name, .parameters = std::move(parameters), .results = std::move(results), .run = std::move(run)}),
        sources);
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < count; ++i) tensors.push_back(make_tensor(ir::part(node, static_cast<int>(i))));
    return tensors;
}

// `factor(i, team)` does matrix i of `count` and says what is wrong with it; empty: nothing. The first problem is raised, if there is a call to
// open the message with. A single matrix has all threads; those of a batch have one each.
template <class Factor>
void for_each_matrix(const CustomCall& use, std::int64_t count, const std::string& call, Factor factor) {
    std::vector<std::string> problems(static_cast<std::size_t>(count));
    const Team team(use.for_each, use.level);
    use.for_each(count, [&](std::int64_t i) {
        const dense::LevelScope scope(use.level);
        problems[i] = factor(i, team);
    });
    for (std::int64_t i = 0; i < count && !call.empty(); ++i)
        if (!problems[i].empty())
            throw LinAlgError(
                str(call, ": ", count > 1 ? str("matrix ", i, " of the batch ") : "the matrix ", problems[i]));
}

Shape batch_of(const Tensor& x, std::size_t own = 2) {
    const Shape shape = x.shape();
    return Shape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(own));
}
Shape with(Shape batch, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) batch.push_back(size);
    return batch;
}

// Matrix i of a source or result with these last sizes.
Strided in(const CustomCall& use, int source, std::int64_t i, std::int64_t rows, std::int64_t columns) {
    return {use.source<double>(source) + i * rows * columns, rows, columns, columns, 1};
}
Matrix out(const CustomCall& use, int result, std::int64_t i, std::int64_t rows, std::int64_t columns) {
    return {use.result<double>(result) + i * rows * columns, rows, columns, columns};
}

std::string singular(std::int64_t info) { return str("is singular: U's diagonal element ", info, " is 0"); }

std::vector<std::int64_t> from_one_based(const std::int32_t* pivots, std::int64_t count) {
    std::vector<std::int64_t> result(pivots, pivots + count);
    for (std::int64_t& pivot : result) --pivot;
    return result;
}

}  // namespace

// ---- triangles -------------------------------------------------------------------------------------------------------

LuNode lu(const Tensor& a, const std::string& call) {
    const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    const Shape batch = batch_of(a);
    const std::int64_t count = numel(batch);
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) {
            std::vector<std::int64_t> pivots(static_cast<std::size_t>(k));
            const Matrix factors = out(use, 0, i, m, n);
            dense::copy(in(use, 0, i, m, n), factors);
            const std::int64_t info = dense::lu(team, factors, pivots.data());
            use.result<std::int32_t>(2)[i] = static_cast<std::int32_t>(info);
            for (std::int64_t j = 0; j < k; ++j)
                use.result<std::int32_t>(1)[i * k + j] = static_cast<std::int32_t>(pivots[j] + 1);
            return info ? singular(info) : std::string();
        });
    };
    const auto made = apply("lu", call, {a}, {{f64, with(batch, {m, n})}, {i32, with(batch, {k})}, {i32, batch}}, run);
    return {made[0], made[1], made[2]};
}

Tensor lu_solve(const LuNode& factors, const Tensor& b, bool transposed, const std::string& call) {
    const std::int64_t n = b.size(-2), k = b.size(-1), count = numel(batch_of(b));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) {
            const std::int32_t info = use.source<std::int32_t>(2)[i];
            if (info && !call.empty()) return singular(info);
            const std::vector<std::int64_t> pivots = from_one_based(use.source<std::int32_t>(1) + i * n, n);
            const Matrix x = out(use, 0, i, n, k);
            dense::copy(in(use, 3, i, n, k), x);
            dense::lu_solve(team, in(use, 0, i, n, n), pivots.data(), x, transposed);
            return std::string();
        });
    };
    return apply("lu_solve", str(transposed, " ", call), {factors.lu, factors.pivots, factors.info, b},
                 {{f64, b.shape()}}, run)[0];
}

Tensor permutation(const Tensor& pivots, std::int64_t rows) {
    const std::int64_t k = pivots.size(-1);
    const Shape batch = batch_of(pivots, 1);
    const std::int64_t count = numel(batch);
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, "lu_unpack()", [&](std::int64_t i, const Team&) {
            const std::vector<std::int64_t> places = from_one_based(use.source<std::int32_t>(0) + i * k, k);
            for (const std::int64_t place : places)
                if (place < 0 || place >= rows)
                    return str("has the pivot ", place + 1, ", which is not from 1 to ", rows);
            const std::vector<std::int64_t> order = dense::rows_after(places.data(), k, rows);
            const Matrix p = out(use, 0, i, rows, rows);
            std::fill(p.data, p.data + rows * rows, 0.0);
            for (std::int64_t j = 0; j < rows; ++j) p[order[j]][j] = 1;
            return std::string();
        });
    };
    return apply("lu_permutation", "", {pivots}, {{f64, with(batch, {rows, rows})}}, run)[0];
}

CholeskyNode cholesky(const Tensor& a, const std::string& call) {
    const std::int64_t n = a.size(-1), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) {
            const Matrix l = out(use, 0, i, n, n);
            dense::copy(in(use, 0, i, n, n), l);
            const std::int64_t info = dense::cholesky(team, l);
            use.result<std::int32_t>(1)[i] = static_cast<std::int32_t>(info);
            if (!info) return std::string();
            return str("is not positive definite: the leading minor of order ", info, " is not positive");
        });
    };
    const auto made = apply("cholesky", call, {a}, {{f64, a.shape()}, {i32, batch_of(a)}}, run);
    return {made[0], made[1]};
}

Tensor solve_triangular(const Tensor& t, const Tensor& b, bool upper, bool unit) {
    const std::int64_t n = b.size(-2), k = b.size(-1), count = numel(batch_of(b));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, "", [&](std::int64_t i, const Team& team) {
            const Matrix x = out(use, 0, i, n, k);
            dense::copy(in(use, 1, i, n, k), x);
            dense::solve_triangular(team, in(use, 0, i, n, n), upper, unit, x);
            return std::string();
        });
    };
    return apply("solve_triangular", str(upper, unit), {t, b}, {{f64, b.shape()}}, run)[0];
}

// ---- orthogonal factors ----------------------------------------------------------------------------------------------

QrNode qr(const Tensor& a, bool complete) {
    const std::int64_t m = a.size(-2), n = a.size(-1), k = complete ? m : std::min(m, n);
    const Shape batch = batch_of(a);
    const std::int64_t count = numel(batch);
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, "", [&](std::int64_t i, const Team& team) {
            Owned factors(m, n);
            std::vector<double> tau;
            dense::copy(in(use, 0, i, m, n), factors);
            dense::qr(team, factors, tau);
            dense::q_of(team, factors, tau, out(use, 0, i, m, k));
            const Matrix r = out(use, 1, i, k, n);
            for (std::int64_t row = 0; row < k; ++row) {
                std::fill(r[row], r[row] + std::min(row, n), 0.0);
                if (row < n) std::copy(factors[row] + row, factors[row] + n, r[row] + row);
            }
            return std::string();
        });
    };
    const auto made = apply("qr", str(complete), {a}, {{f64, with(batch, {m, k})}, {f64, with(batch, {k, n})}}, run);
    return {made[0], made[1]};
}

namespace {

constexpr char kNotFinite[] = "has elements that are not finite";
constexpr char kNoValues[] = "has singular values that do not converge";

}  // namespace

SvdNode svd(const Tensor& a, bool full, const std::string& call) {
    const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), left = full ? m : k, right = full ? n : k;
    const Shape batch = batch_of(a);
    const std::int64_t count = numel(batch);
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) -> std::string {
            const Strided matrix = in(use, 0, i, m, n);
            if (!dense::all_finite(matrix)) return kNotFinite;
            double* values = use.result<double>(1) + i * k;
            return dense::svd(team, matrix, values, out(use, 0, i, m, left), out(use, 2, i, right, n)) ? "" : kNoValues;
        });
    };
    const auto made =
        apply("svd", str(full, " ", call), {a},
              {{f64, with(batch, {m, left})}, {f64, with(batch, {k})}, {f64, with(batch, {right, n})}}, run);
    return {made[0], made[1], made[2]};
}

Tensor svdvals(const Tensor& a, const std::string& call) {
    const std::int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) -> std::string {
            const Strided matrix = in(use, 0, i, m, n);
            if (!dense::all_finite(matrix)) return kNotFinite;
            return dense::svd(team, matrix, use.result<double>(0) + i * k) ? "" : kNoValues;
        });
    };
    return apply("svdvals", call, {a}, {{f64, with(batch_of(a), {k})}}, run)[0];
}

namespace {

// Of what is not finite, NaN is all that can be said.
std::string eigh_of(const Team& team, const Strided& a, double* values, const Matrix* vectors) {
    const std::int64_t n = a.rows;
    bool finite = true;
    for (std::int64_t row = 0; row < n; ++row) finite = finite && dense::all_finite(a.block(row, 0, 1, row + 1));
    if (!finite) {
        std::fill(values, values + n, std::nan(""));
        if (vectors) std::fill(vectors->data, vectors->data + n * n, std::nan(""));
        return "";
    }
    const bool done = vectors ? dense::eigh(team, a, values, *vectors) : dense::eigh(team, a, values);
    return done ? "" : "has eigenvalues that do not converge";
}

}  // namespace

EighNode eigh(const Tensor& a, const std::string& call) {
    const std::int64_t n = a.size(-1), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) {
            const Matrix vectors = out(use, 1, i, n, n);
            return eigh_of(team, in(use, 0, i, n, n), use.result<double>(0) + i * n, &vectors);
        });
    };
    const auto made = apply("eigh", call, {a}, {{f64, with(batch_of(a), {n})}, {f64, a.shape()}}, run);
    return {made[0], made[1]};
}

Tensor eigvalsh(const Tensor& a, const std::string& call) {
    const std::int64_t n = a.size(-1), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) {
            return eigh_of(team, in(use, 0, i, n, n), use.result<double>(0) + i * n, nullptr);
        });
    };
    return apply("eigvalsh", call, {a}, {{f64, with(batch_of(a), {n})}}, run)[0];
}

LeastSquaresNode least_squares(const Tensor& a, const Tensor& b, double tolerance, const std::string& call) {
    const std::int64_t m = a.size(-2), n = a.size(-1), k = b.size(-1), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, call, [&](std::int64_t i, const Team& team) -> std::string {
            const Strided matrix = in(use, 0, i, m, n);
            if (!dense::all_finite(matrix)) return kNotFinite;
            const std::int64_t rank =
                dense::least_squares(team, matrix, in(use, 1, i, m, k), tolerance, out(use, 0, i, n, k));
            use.result<std::int64_t>(1)[i] = rank;
            return rank < 0 ? kNoValues : "";
        });
    };
    const Shape batch = batch_of(a);
    const auto made =
        apply("lstsq", str(tolerance, " ", call), {a, b}, {{f64, with(batch, {n, k})}, {i64, batch}}, run);
    return {made[0], made[1]};
}

// ---- functions -------------------------------------------------------------------------------------------------------

Tensor matrix_exp(const Tensor& a) {
    const std::int64_t n = a.size(-1), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, "", [&](std::int64_t i, const Team& team) {
            const Matrix x = out(use, 0, i, n, n);
            dense::copy(in(use, 0, i, n, n), x);
            dense::matrix_exp(team, x);
            return std::string();
        });
    };
    return apply("matrix_exp", "", {a}, {{f64, a.shape()}}, run)[0];
}

namespace {

// The determinant from LU factors, and how far apart their diagonal's magnitudes are.
struct Determinant {
    double value = 1, smallest = INFINITY, largest = 0;

    Determinant(const Matrix& factors, const std::vector<std::int64_t>& pivots) {
        for (std::int64_t i = 0; i < factors.rows; ++i) {
            const double size = std::fabs(factors[i][i]);
            value *= pivots[i] == i ? factors[i][i] : -factors[i][i];
            smallest = std::min(smallest, size), largest = std::max(largest, size);
        }
    }
};

// By LU where that is safe; else from a = u diag(s) vt, whose cofactors are det(u) det(vt) u diag(products of the other s) vt.
void cofactors_of(const Team& team, const Strided& a, const Matrix& result) {
    constexpr double kSafe = 1e-8;
    const std::int64_t n = a.rows;
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
    Owned factors(n, n);
    dense::copy(a, factors);
    dense::lu(team, factors, pivots.data());
    const Determinant det(factors, pivots);
    dense::set_identity(result);
    if (det.smallest > kSafe * det.largest || !dense::all_finite(a)) {
        dense::lu_solve(team, factors, pivots.data(), result, true);
        for (std::int64_t i = 0; i < n * n; ++i) result.data[i] *= det.value;
        return;
    }
    Owned u(n, n), vt(n, n), scaled(n, n);
    std::vector<double> s(static_cast<std::size_t>(n));
    dense::svd(team, a, s.data(), u, vt);
    double sign = 1;
    for (const Matrix* orthogonal : {static_cast<Matrix*>(&u), static_cast<Matrix*>(&vt)}) {
        dense::copy(*orthogonal, factors);
        dense::lu(team, factors, pivots.data());
        if (Determinant(factors, pivots).value < 0) sign = -sign;
    }
    for (std::int64_t k = 0; k < n; ++k) {
        double others = sign;
        for (std::int64_t j = 0; j < n; ++j)
            if (j != k) others *= s[j];
        for (std::int64_t i = 0; i < n; ++i) scaled[i][k] = u[i][k] * others;
    }
    std::fill(result.data, result.data + n * n, 0.0);
    dense::add_product(team, result, 1, scaled, vt);
}

}  // namespace

Tensor cofactors(const Tensor& a) {
    const std::int64_t n = a.size(-1), count = numel(batch_of(a));
    const auto run = [=](const CustomCall& use) {
        for_each_matrix(use, count, "", [&](std::int64_t i, const Team& team) {
            cofactors_of(team, in(use, 0, i, n, n), out(use, 0, i, n, n));
            return std::string();
        });
    };
    return apply("cofactors", "", {a}, {{f64, a.shape()}}, run)[0];
}

}  // namespace weft::linalg::nodes
