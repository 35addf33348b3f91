// numerics/tridiagonal.h: eigenvalues and eigenvectors of a symmetric matrix with three diagonals.
#pragma once

#include "numerics/rotations.h"

namespace weft::dense {

// Implicit QL: `diagonal` becomes the eigenvalues, in no order; rows of `vectors` (or none) are rotated with it. `off` has as many elements; the
// last does not count. False: no convergence.
bool diagonalise(double* diagonal, double* off, std::int64_t n, Rotations* vectors);

// QL finds small eigenvalues first, at the front. Reverses both orders if the larger elements are there, and says so.
bool small_first(double* diagonal, double* off, std::int64_t n);

// By halves: the eigenvectors of both come from one product of matrices. `diagonal` becomes the eigenvalues, ascending, and columns of `vectors`
// (zeros at first) the eigenvectors.
bool divide_and_conquer(const Team& team, double* diagonal, double* off, const Matrix& vectors);

}  // namespace weft::dense
