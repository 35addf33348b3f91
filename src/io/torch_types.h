// io/torch_types.h: what PyTorch calls the element types, and which classes its files name.
#pragma once

#include <weft/dtype.h>

#include <optional>
#include <string>
#include <string_view>

namespace weft::io {

struct TorchType {
    DType dtype;
    std::string_view name;     // torch.float32
    std::string_view storage;  // torch.FloatStorage; empty: PyTorch stores such elements as bytes
};
// clang-format off
inline constexpr TorchType kTorchTypes[] = {
    {f32, "float32", "FloatStorage"}, {f64, "float64", "DoubleStorage"}, {f16, "float16", "HalfStorage"},
    {bf16, "bfloat16", "BFloat16Storage"}, {i64, "int64", "LongStorage"}, {i32, "int32", "IntStorage"},
    {i16, "int16", "ShortStorage"}, {i8, "int8", "CharStorage"}, {u8, "uint8", "ByteStorage"}, {bool_, "bool", "BoolStorage"},
    {u16, "uint16", ""}, {u32, "uint32", ""}, {u64, "uint64", ""},
};
// clang-format on

inline const TorchType& torch_type(DType dtype) {
    const TorchType* type = kTorchTypes;
    while (type->dtype != dtype) ++type;
    return *type;
}

}  // namespace weft::io
