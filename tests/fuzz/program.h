// tests/fuzz/program.h: random programs on the tensor API: ops, writes through views, gradients, reads and dropped handles.
// A program is a list of statements with dice; what a statement means follows from the tensors it meets, so that a program
// stays a program when statements are left out or sizes change.
#pragma once

#include <weft/tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::testing::fuzz {

enum class Act : std::uint8_t { Make, Op, Write, Read, ReadGrad, Realize, Backward, Gradient, Drop, Jit };

struct Statement {
    Act act = Act::Make;
    int row = 0;                        // of ops() or writes()
    int to = -1;                        // the variable that is made
    std::array<int, 3> in = {0, 0, 0};  // variables that are read or written
    double c = 0;
    std::int64_t d = 0, k = 0;  // dice: an axis, a position
    Shape shape;                // of Make
    DType dtype = f32;
    bool flag = false;  // Make: requires a gradient. Realize, Backward: two together. Jit: called twice
    bool no_grad = false;
};

struct Program {
    std::vector<Statement> statements;
    int variables = 0;
    std::int64_t most_elements = 20000;  // of a tensor; products have at most 15 times as many terms
};

struct Reading {
    std::size_t statement = 0;
    DType dtype = f32;
    Shape shape;
    std::vector<double> values;
    std::string error;  // what the statement raised, instead of values
};

struct RunOptions {
    bool wide = false;                         // f32 data is made as f64
    double noise = 0;                          // data is changed by that much, relatively
    bool plain = false;                        // a traced function is called as it stands
    bool drafting = false;                     // only shapes and types are wanted
    double* largest = nullptr;                 // gets the size of the largest number in any variable at the end
    std::vector<std::string>* text = nullptr;  // gets a line of C++ per statement that did something
};

// The elements that Make and the text's filled() have.
Tensor filled(DType dtype, const Shape& shape, std::uint64_t seed, double noise = 0);

std::vector<Reading> run(const Program& program, const RunOptions& options = {});

Program random_program(std::uint64_t seed);

}  // namespace weft::testing::fuzz
