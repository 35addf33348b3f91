// tests/fuzz/verdict.h: what is wrong with a program in a configuration.
#pragma once

#include "tests/fuzz/configuration.h"
#include "tests/fuzz/program.h"

#include <functional>
#include <string>

namespace weft::testing::fuzz {

// Runs the program in two configurations, whose bits must be equal, and on the oracle. Empty: all is well.
std::string verdict(const Program& program, const Configuration& configuration, const Configuration& other);

// The same in a child process of its own, so that a crash or an endless loop is a finding like any other.
std::string verdict_in_child(const Program& program, const Configuration& configuration, const Configuration& other);

// In a child: a crash ends it, and no report of doctest's is printed.
void default_signals();

// A smaller program that still fails.
Program shrunk(Program program, const std::function<bool(const Program&)>& fails, double seconds);

// The program as C++, to paste into tests/fuzz/corpus_test.cpp.
std::string text_of(const Program& program);

}  // namespace weft::testing::fuzz
