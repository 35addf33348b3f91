// core/process.h: which process this is. What a device has given to one is not its children's.
#pragma once

#include <cstdint>

namespace weft {

// Another number in a child that was forked than in its parent. getpid() tells the same, but asks the system each time: every op on a device wants to
// know.
std::uint32_t process_number();

}  // namespace weft
