// numerics/bidiagonal.h: a square matrix as U B Vt with two diagonals in B, and the singular values of those.
#pragma once

#include "numerics/rotations.h"

#include <vector>

namespace weft::dense {

// A = U B Vt, where B has `diagonal` and `above`. U's reflections are kept below the diagonal of `left`, as qr's; V's in `right`, whose first row
// and column belong to the second: they leave the first element alone.
struct Bidiagonal {
    std::vector<double> diagonal, above, left_tau, right_tau;
    Owned left, right;

    Bidiagonal(const Team& team, const Strided& a);
    void form_u_transposed(const Team& team, const Matrix& ut) const;
    void form_v_transposed(const Team& team, const Matrix& vt) const;
};

// B becomes diagonal: the singular values, in no order, and maybe negative. Rows of ut and vt (or none) are rotated with it. False: no convergence.
bool diagonalise(std::vector<double>& diagonal, std::vector<double>& above, Rotations* ut, Rotations* vt);

}  // namespace weft::dense
