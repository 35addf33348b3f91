// weft/write_group.h: writes in place that belong together, like those of an optimiser's step: when a run fails, a group is kept as a
// whole or taken back as a whole.
#pragma once

#include <weft/api.h>

#include <memory>

namespace WEFT_API weft {

// All writes of this thread while one lives. One inside another belongs to the outer one.
//
//     WriteGroup together;
//     mean.assign(mean * 0.9 + batch_mean * 0.1);
//     count.add_(1);
class WriteGroup {
public:
    WriteGroup();
    ~WriteGroup();
    WriteGroup(const WriteGroup&) = delete;
    WriteGroup& operator=(const WriteGroup&) = delete;

    bool is_kept() const;  // a run has computed the writes
    void undo();           // takes them back, unless a run has computed them

    struct Fate;  // what becomes of a group; the writes hold it

private:
    std::shared_ptr<Fate> before_;
};

}  // namespace weft
