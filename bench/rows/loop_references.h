// bench/rows/loop_references.h: a vector loop, with plain and with streaming stores, as the references of a row.
#pragma once

#include "harness/harness.h"
#include "reference/loops.h"

namespace bench {

// `run` does the work of a row with these loops.
inline std::vector<Reference> loop_references(const std::function<void(const Loops&)>& run) {
    return {{[run] { run(loops(Stores::Plain)); }, "plain stores"},
            {[run] { run(loops(Stores::Streaming)); }, "streaming stores"}};
}

}  // namespace bench
