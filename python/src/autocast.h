// python/src/autocast.h: with weft.autocast(…) on, the arguments of some functions are cast: products to a half type, losses to f32.
// The graph shares equal nodes, so a weight that several layers read is cast once.
#pragma once

#include <nanobind/nanobind.h>
#include <weft/dtype.h>

#include <optional>
#include <string_view>
#include <vector>

namespace weft::python {

namespace nb = nanobind;

enum class Cast : unsigned char { None, Lower, Float32, Widest };

Cast cast_of(std::string_view function);  // what autocast does with the arguments of a function

// The types that products are computed in on this thread, on GPUs and elsewhere; nothing: autocast is off.
struct AutocastTypes {
    std::optional<DType> cpu, cuda;
};
inline constinit thread_local AutocastTypes autocast_types;

// The arguments of a call as autocast wants them: replaces tensors, and lists of them, among `values` and keeps what it has made.
class CastArguments {
public:
    CastArguments(Cast cast, PyObject** values, std::size_t count) {
        if (cast != Cast::None && (autocast_types.cpu || autocast_types.cuda)) replace(cast, values, count);
    }

private:
    void replace(Cast cast, PyObject** values, std::size_t count);
    std::vector<nb::object> made_;
};

}  // namespace weft::python
