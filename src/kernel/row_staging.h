// kernel/row_staging.h: rows of inputs that several parts of a row load are staged: loaded once, before all else, into registers or shared
// memory.
#pragma once

#include "kernel/linear_form.h"
#include "kernel/row_parts.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace weft::kernel {

// A row of an input: elements base … base + length - 1, and the place of each load in it.
struct StagedRow {
    NodeRef base;
    std::int64_t length = 0;
    std::map<const ir::Node*, NodeRef> places;  // by load
    bool own = true;                            // each thread loads its own elements only
};

// Looks for rows of inputs that several shared parts load.
class StagedRows {
public:
    StagedRows(const Kernel& kernel, Parts& parts, std::int64_t threads);

    std::optional<StagedRow> row_of(int buffer) const;
    std::vector<int> buffers() const;

private:
    struct Loaded {
        Part* part;
        NodeRef load;
        std::set<int> inner;  // ids of the loops inside of the row
    };
    void collect(Parts& parts, const std::set<int>& inner);
    std::optional<StagedRow> common_row(const std::vector<Loaded>& loads) const;
    std::optional<StagedRow> made(const std::vector<Loaded>& loads, const std::map<const ir::Node*, std::int64_t>& base,
                                  const std::vector<LinearForm>& places, std::int64_t low, std::int64_t length) const;

    const Kernel& kernel_;
    const std::int64_t threads_;
    std::map<int, std::vector<Loaded>> loads_;
    std::set<int> stored_, safe_;  // safe: loaded before anything is stored to it, by shared parts without gates
};

// The parts with such a row of a buffer loaded first, if there is one. A local whose elements are each thread's own joins `owned`.
void stage_row(Kernel& kernel, Parts& parts, int buffer, std::int64_t threads, std::set<int>& owned);

}  // namespace weft::kernel
