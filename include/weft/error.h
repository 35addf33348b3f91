// weft/error.h: what Weft throws. A message opens with the call as it was made ("matmul(a: f32[2, 3], b: f32[4, 5]): …")
// and says what to change. After an exception everything is as if the call had not happened.
#pragma once

#include <weft/api.h>

#include <stdexcept>
#include <string>

namespace WEFT_API weft {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// clang-format off
struct ShapeError : Error { using Error::Error; };    // sizes, ranks or axes do not fit
struct DTypeError : Error { using Error::Error; };    // the op is not defined for this element type
struct ValueError : Error { using Error::Error; };    // an argument is outside what the op accepts
struct IndexError : Error { using Error::Error; };    // an index or axis is out of range
struct GradError : Error { using Error::Error; };     // differentiation was asked for where it is not possible
struct LinAlgError : Error { using Error::Error; };   // a matrix cannot be factored: singular, not positive definite …
struct MemoryError : Error { using Error::Error; };   // an allocation failed; the message has the byte count
struct BackendError : Error { using Error::Error; };  // a backend cannot run here (no compiler, compiler failed …)
struct IoError : Error { using Error::Error; };       // a file is missing, truncated or malformed
struct Interrupted : Error { using Error::Error; };   // the interrupt callback asked to stop
struct InternalError : Error { using Error::Error; }; // a bug in Weft: please report it
// clang-format on

}  // namespace weft
