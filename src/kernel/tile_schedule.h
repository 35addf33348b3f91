// kernel/tile_schedule.h: from a contraction to its TileSchedule, and from that to loops.
#pragma once

#include "core/target.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::kernel {

// Rows that are packed in groups are packed for strips of so many tiles; narrower ones read them where they are.
inline constexpr std::int64_t kTilesAcross = 6;

// Nothing: the plain loops are as good.
std::optional<TileSchedule> choose_tile_schedule(const Kernel& kernel, const ContractionNest& nest,
                                                 const Target& target);

// Arrays that tiles need, one per purpose: no two copies of the loops (for shorter strips, for phases) use theirs at the same time.
struct TileScratch {
    int panel = -1, row_panel = -1, sums = -1, tile = -1;
};

Body apply_tile_schedule(Kernel& kernel, const ContractionNest& nest, const TileSchedule& schedule,
                         TileScratch& scratch);

inline const NodeRef& vector_factor(const ContractionNest& nest, const TileSchedule& schedule) {
    return schedule.vector_is_left ? nest.left : nest.right;
}
inline const NodeRef& row_factor(const ContractionNest& nest, const TileSchedule& schedule) {
    return schedule.vector_is_left ? nest.right : nest.left;
}

}  // namespace weft::kernel
