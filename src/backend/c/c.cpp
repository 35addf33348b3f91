// backend/c/c.cpp: the backend that prints C and compiles it.
#include "backend/backend.h"

#include <weft/error.h>

namespace weft::backend {

Backend& c_backend() { throw BackendError("the c backend is not there yet"); }

}  // namespace weft::backend
