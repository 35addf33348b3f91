// python/src/type_names.h: what the types of a bound C++ function are called in Python. tools/make_stubs.py writes them into the stubs;
// what is called "Any" here (an object that the binding looks at by itself) it knows by the function's name.
#pragma once

#include "convert.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace weft::python {

template <class T>
struct TypeName {
    static constexpr char value[] = "Any";
};

#define WEFT_TYPE_NAME(type, text) /* a table, one row per type */ \
    template <>                                                    \
    struct TypeName<type> {                                        \
        static constexpr char value[] = text;                      \
    };
WEFT_TYPE_NAME(void, "None")
WEFT_TYPE_NAME(bool, "bool")
WEFT_TYPE_NAME(int, "int")
WEFT_TYPE_NAME(std::int64_t, "int")
WEFT_TYPE_NAME(double, "float")
WEFT_TYPE_NAME(std::string, "str")
WEFT_TYPE_NAME(std::string_view, "str")
WEFT_TYPE_NAME(Scalar, "Number")
WEFT_TYPE_NAME(Operand, "Tensor | Number")
WEFT_TYPE_NAME(Tensor, "Tensor")
WEFT_TYPE_NAME(MaybeTensor, "Tensor | None")
WEFT_TYPE_NAME(std::vector<Tensor>, "Sequence[Tensor]")
WEFT_TYPE_NAME(DType, "dtype")
WEFT_TYPE_NAME(OnDevice, "device | str | int | None")
WEFT_TYPE_NAME(Dims, "int | Sequence[int]")
WEFT_TYPE_NAME(Axes, "int | Sequence[int] | None")
WEFT_TYPE_NAME(Sizes, "int | Sequence[int]")
WEFT_TYPE_NAME(Padding, "int | Sequence[int] | str")
WEFT_TYPE_NAME(std::vector<MaybeTensor>, "Sequence[Tensor | None]")
WEFT_TYPE_NAME(Reduction, "str")
WEFT_TYPE_NAME(ValuesAndIndices, "ValuesAndIndices")
#undef WEFT_TYPE_NAME

template <class T>
struct TypeName<std::optional<T>> {
    static constexpr std::size_t kLength = sizeof(TypeName<T>::value) - 1;
    static constexpr char kNone[] = " | None";
    static constexpr auto kText = [] {
        std::array<char, kLength + sizeof(kNone)> text{};
        for (std::size_t i = 0; i < kLength; ++i) text[i] = TypeName<T>::value[i];
        for (std::size_t i = 0; i < sizeof(kNone); ++i) text[kLength + i] = kNone[i];
        return text;
    }();
    static constexpr const char* value = kText.data();
};

}  // namespace weft::python
