// numerics/rotations.h: rotations of neighbouring rows of a matrix, which steps of the QR algorithm make by the million. They are kept
// until there are many; then each strip of columns gets all of them while it is in the cache.
#pragma once

#include "numerics/dense.h"

#include <vector>

namespace weft::dense {

class Rotations {
public:
    Rotations(const Team& team, const Matrix& rows) : team_(team), rows_(rows) {}

    // The rotations that follow are of the rows (first, first + 1) and on, or, descending, of (first - 1, first) and on.
    void begin(std::int64_t first, bool descending);
    void add(double c, double s) { cosines_and_sines_.insert(cosines_and_sines_.end(), {c, s}); }
    void apply();  // all that were added

private:
    struct Kept {
        std::int64_t first, begin, count;  // begin: of the cosines and sines
        bool descending;
    };
    void close_sweep();
    void apply_group(const Matrix& strip, std::span<const Kept> group) const;

    const Team& team_;
    Matrix rows_;
    std::vector<Kept> sweeps_;
    std::vector<double> cosines_and_sines_;
};

}  // namespace weft::dense
