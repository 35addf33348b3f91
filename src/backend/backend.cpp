// backend/backend.cpp: the list of backends, by name.
#include "backend/backend.h"

#include "core/str.h"

#include <weft/error.h>

namespace weft::backend {

Backend& find(std::string_view name) {
    if (name == "auto") return best_backend();
    if (name == "x86") return x86_backend();
    if (name == "ref") return ref_backend();
    if (name == "c") return c_backend();
    throw ValueError(str("there is no backend \"", name, "\"; choose \"x86\", \"c\" or \"ref\""));
}

}  // namespace weft::backend
