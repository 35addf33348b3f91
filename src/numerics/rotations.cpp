// numerics/rotations.cpp: many sweeps of rotations on strips of columns.
#include "numerics/rotations.h"

#include "core/interrupt.h"

#include <algorithm>

namespace weft::dense {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 16;  // cosines and sines that wait: they share the cache with a strip
constexpr std::int64_t kStrip = 32, kWindow = 48;    // columns and rows that are in the nearest cache together
constexpr std::size_t kGroup = 16;

}  // namespace

void Rotations::begin(std::int64_t first, bool descending) {
    if (cosines_and_sines_.size() >= kMost) apply();
    if (!sweeps_.empty()) close_sweep();
    sweeps_.push_back({first, static_cast<std::int64_t>(cosines_and_sines_.size()), 0, descending});
}

void Rotations::close_sweep() {
    Kept& last = sweeps_.back();
    last.count = (static_cast<std::int64_t>(cosines_and_sines_.size()) - last.begin) / 2;
}

// A sweep's rotation may follow as soon as the sweep before it is one rotation ahead. So all sweeps of a group go through a window of rows
// before the next window comes: each sweep's part lies one row further back than that of the sweep before it.
void Rotations::apply_group(const Matrix& strip, std::span<const Kept> group) const {
    std::int64_t begin = group[0].first, end = begin;  // of the rotations, counted in the direction of the sweeps
    const bool descending = group[0].descending;
    const auto from = [&](const Kept& kept) { return descending ? -kept.first : kept.first; };
    begin = from(group[0]), end = begin;
    for (const Kept& kept : group) {
        begin = std::min(begin, from(kept));
        end = std::max(end, from(kept) + kept.count);
    }
    const std::int64_t lag = static_cast<std::int64_t>(group.size());
    for (std::int64_t window = begin; window < end + lag; window += kWindow)
        for (std::int64_t k = 0; k < lag; ++k) {
            const Kept& kept = group[static_cast<std::size_t>(k)];
            const std::int64_t first = std::max(window - k, from(kept)),
                               last = std::min(window + kWindow - k, from(kept) + kept.count);
            if (first >= last) continue;
            rotate_rows(strip, {descending ? -last : first, last - first, descending},
                        cosines_and_sines_.data() + kept.begin + 2 * (first - from(kept)));
        }
}

void Rotations::apply() {
    if (!sweeps_.empty()) close_sweep();
    const auto work = static_cast<std::int64_t>(cosines_and_sines_.size());
    const std::int64_t grain = std::max(kStrip, (std::int64_t{1} << 16) / (work + 1));
    team_.split(rows_.columns, grain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t j = from; j < to; j += kStrip) {
            poll_interrupt();
            const Matrix strip = rows_.block(0, j, rows_.rows, std::min(kStrip, to - j));
            for (std::size_t k = 0, next; k < sweeps_.size(); k = next) {
                next = k + 1;
                while (next < sweeps_.size() && next - k < kGroup && sweeps_[next].descending == sweeps_[k].descending)
                    ++next;
                apply_group(strip, std::span(sweeps_).subspan(k, next - k));
            }
        }
    });
    sweeps_.clear();
    cosines_and_sines_.clear();
}

}  // namespace weft::dense
