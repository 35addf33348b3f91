// inspect/page.h: the page that shows a profile (web/).
#pragma once

#include <string>
#include <string_view>

namespace weft::inspect {

std::string page_with(std::string_view json);  // as one file

}  // namespace weft::inspect
