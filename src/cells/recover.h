// cells/recover.h: what becomes of written cells when a run has failed. What can be computed without the value that failed is kept; of
// the other cells the latest writes are taken back, as few as needed.
#pragma once

#include "cells/state.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace weft {

struct WriteGroup::Fate {
    bool kept = false;    // a run has computed the writes
    bool undone = false;  // they were taken back
};

}  // namespace weft

namespace weft::cells {

using Cells = std::vector<std::shared_ptr<Cell>>;

// `computes` has the cells computed and bound in one run, and says whether that worked. The caller holds the graph lock, which a run
// lets go of in between.
void recover(const Cells& written, const std::function<bool(std::span<const std::shared_ptr<Cell>>)>& computes);

}  // namespace weft::cells
