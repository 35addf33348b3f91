// kernel/tile_pack.h: copies of a contraction's operands in the order in which register tiles read them.
#pragma once

#include "kernel/tile_nest.h"

namespace weft::kernel {

// [panel][step][column] of a strip, or one longer panel where a summed variable shifts the columns.
Body pack_columns(const TileNest& tile, const Range& columns, int panel);

// [tile][step][row]
Body pack_rows(const TileNest& tile, const Range& rows, int row_panel);

}  // namespace weft::kernel
