// cmake/asmjit_stderr.cpp: lets a shared object link a libasmjit.a that was compiled for executables (Debian's). Its only reference
// out of itself that a shared object cannot have is the address of the C library's variable `stderr`; the linker's --wrap=stderr
// points it here, to a variable of the same value.
#include <cstdio>

extern "C" {
extern FILE* __real_stderr;
[[gnu::visibility("hidden")]] FILE* __wrap_stderr = nullptr;
}

namespace {

[[gnu::constructor(101)]] void take_over() { __wrap_stderr = __real_stderr; }

}  // namespace
