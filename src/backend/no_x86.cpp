// backend/no_x86.cpp: stands in for src/backend/x86/ in builds without it.
#include "backend/backend.h"

#include <weft/error.h>

namespace weft::backend {

Backend& x86_backend() {
    throw ValueError("this build of Weft has no x86 backend; choose another with WEFT_BACKEND=c or WEFT_BACKEND=ref");
}

Backend& best_backend() { return c_backend(); }

}  // namespace weft::backend
