// inspect/calls.h: where ops were called. Sites are numbered for the life of the process: what jit traced while one profile was taken can be
// shown by the next.
#pragma once

#include "core/leaf_mutex.h"
#include "ir/origins.h"

#include <weft/profile.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::inspect {

struct Site {
    int line = -1;  // of Calls::line()
    std::string op;
};

// All that was ever logged.
class Calls {
public:
    int add_line(const SourceLine& line);
    int site_of(int line, std::string_view op);
    Site site(int number) const;
    SourceLine line(int number) const;
    void add_text(const std::string& file, std::string text);
    std::string text(const std::string& file) const;  // as it was added, or from the disk; empty: there is none

private:
    mutable LeafMutex mutex_;
    std::vector<SourceLine> lines_;
    std::vector<Site> sites_;
    std::vector<std::pair<std::string, std::string>> texts_;  // by file: few
    std::unordered_map<std::string, int> numbers_;            // of sites, by line and op
};
Calls& calls();

// Calls are logged while at least one is alive.
class CallLogScope {
public:
    CallLogScope();
    ~CallLogScope();
    CallLogScope(const CallLogScope&) = delete;
    CallLogScope& operator=(const CallLogScope&) = delete;
};

inline int site_of(ir::OriginId id) { return static_cast<int>(id >> 1); }
inline bool is_backward(ir::OriginId id) { return id & ir::kBackward; }

}  // namespace weft::inspect
