// ir/storage.cpp: the one place where a storage becomes a pointer of the host.
#include "ir/storage.h"

#include "core/str.h"

#include <weft/error.h>

namespace weft::ir {

std::byte* host_bytes(const Storage& storage) {
    if (storage.device != kCpu)
        throw InternalError(
            str("the host reaches for memory of the device ", Device::of_number(storage.device).name()));
    return reinterpret_cast<std::byte*>(storage.address);
}

}  // namespace weft::ir
