// core/unlocked.h: lets go of a lock for as long as it lives.
#pragma once

#include <mutex>

namespace weft {

template <class Mutex>
class Unlocked {
public:
    explicit Unlocked(std::unique_lock<Mutex>& lock) : lock_(lock) { lock_.unlock(); }
    ~Unlocked() { lock_.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;

private:
    std::unique_lock<Mutex>& lock_;
};

}  // namespace weft
