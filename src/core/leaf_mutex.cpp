// core/leaf_mutex.cpp: the list of all leaf mutexes.
#include "core/leaf_mutex.h"

#include <new>

namespace weft {
namespace {

struct Leaves {
    std::mutex mutex;  // a fork holds it, too: no leaf is added meanwhile
    LeafMutex* first = nullptr;
};

Leaves& leaves() {
    static Leaves& instance = *new Leaves;
    return instance;
}

}  // namespace

LeafMutex::LeafMutex() {
    const std::lock_guard lock(leaves().mutex);
    next_ = leaves().first;
    leaves().first = this;
}

void lock_leaves() {
    leaves().mutex.lock();
    for (LeafMutex* leaf = leaves().first; leaf; leaf = leaf->next_) leaf->lock();
}

void unlock_leaves() {
    for (LeafMutex* leaf = leaves().first; leaf; leaf = leaf->next_) leaf->unlock();
    leaves().mutex.unlock();
}

void reset_leaves_in_child() {
    for (LeafMutex* leaf = leaves().first; leaf; leaf = leaf->next_) new (&leaf->mutex_) std::mutex;
    new (&leaves().mutex) std::mutex;
}

}  // namespace weft
