// backend/c/types.h: how Weft's element types are spelt in C, as scalars, in memory, as vectors and as literals.
#pragma once

#include "core/word.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::backend::c {

// A value: "f32", "i64"; halves are the u16 of their bits, bool is C's.
std::string value_type(DType t);
// An element in memory: as above, but a bool is a u8.
std::string memory_type(DType t);
// A vector of `lanes` values: "f32x16". A bool has no vector type of its own: it is a mask of some integer.
std::string vector_type(DType t, int lanes);
// The signed integer with a size in bytes: what a comparison of vectors gives, and what masks are made of.
DType mask_dtype(std::size_t bytes);
// A constant expression with exactly this value, safe to use as an operand.
std::string literal(DType t, Word word);

// Replaces "$name" by values: `fill("$V x", {{"V", "f32x16"}})`. Names are single letters.
std::string fill(std::string_view text, const std::vector<std::pair<char, std::string>>& values);

inline constexpr std::string_view kScalarTypes = R"(typedef _Bool bool;
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef struct { i64 code, value; bool (*stop)(void); } Check;  // the first failed check: 1 + its number, 0 if none failed
#define HELPER static inline __attribute__((always_inline, unused))
)";

}  // namespace weft::backend::c
