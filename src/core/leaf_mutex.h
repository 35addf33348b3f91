// core/leaf_mutex.h: the mutexes that guard one small table each.
#pragma once

#include <mutex>

namespace weft {

// A mutex whose holder takes no other lock. So a fork can hold all of them at once, in any order, and no forked child finds one that a thread
// locked which is not there any more. Never destroyed: a static, made with new.
class LeafMutex {
public:
    LeafMutex();
    LeafMutex(const LeafMutex&) = delete;
    LeafMutex& operator=(const LeafMutex&) = delete;
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    friend void lock_leaves();
    friend void unlock_leaves();
    friend void reset_leaves_in_child();
    std::mutex mutex_;
    LeafMutex* next_ = nullptr;  // in the list of all
};

// Around a fork, by the thread that forks and after it has every other lock.
void lock_leaves();
void unlock_leaves();
void reset_leaves_in_child();

}  // namespace weft
