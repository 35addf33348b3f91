// core/str.h: str(a, b, …) pastes printable things together; GCC 12 has no std::format.
#pragma once

#include <weft/dtype.h>
#include <weft/shape.h>

#include <sstream>
#include <string>

namespace weft {

template <class... Parts>
std::string str(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return std::move(out).str();
}

}  // namespace weft
