// backend/c/compiler.h: finds a C compiler and runs it (and objdump) as a child process, by argument list and without a
// shell.
#pragma once

#include "core/cpu.h"

#include <weft/error.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::backend::c {

struct Compiler {
    std::vector<std::string> command;  // the program's path first; more words if $CC has them
    std::string identity;              // changes when the compiler does
    std::vector<std::string> flags;
};

// $WEFT_CC, else $CC, else cc, gcc or clang on PATH, with the flags for a processor. Throws BackendError that says what to install or set.
Compiler find_compiler(CpuLevel level);

// What every kernel is compiled with. Nothing here may change a bit of a result.
std::vector<std::string> compile_flags(CpuLevel level);

// The compiler itself broke down: the text was not at fault, and another one may do.
struct CompilerCrash : BackendError {
    using BackendError::BackendError;
};

// Compiles a C file into a shared object. Throws BackendError with the first lines of what the compiler said.
void compile_file(const Compiler& compiler, const std::filesystem::path& source, const std::filesystem::path& object);

struct Outcome {
    bool started = false;
    int status = 0;  // exit status, or 128 + signal
    std::string output;
};

// Runs a program to its end; stdout and stderr are captured together, stdin is empty.
Outcome run_command(const std::vector<std::string>& command);

// A program's full path from $PATH; empty if it is not there.
std::string find_on_path(std::string_view program);

// A line that changes with the processor: code compiled for this one may not run on another.
const std::string& processor_name();

}  // namespace weft::backend::c
