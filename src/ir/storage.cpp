// ir/storage.cpp: plain heap memory for tensors made from data. The runtime's pool is another kind of Storage.
#include "ir/storage.h"

#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <new>

namespace weft::ir {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector

struct HeapStorage final : Storage {
    explicit HeapStorage(std::size_t count) {
        data = ::operator new(std::max<std::size_t>(count, 1), kAlignment);
        bytes = count;
    }
    ~HeapStorage() override { ::operator delete(data, kAlignment); }
};

}  // namespace

StorageRef make_heap_storage(std::size_t bytes) {
    try {
        return std::make_shared<HeapStorage>(bytes);
    } catch (const std::bad_alloc&) {
        throw MemoryError(str("no memory for ", bytes, " bytes"));
    }
}

}  // namespace weft::ir
