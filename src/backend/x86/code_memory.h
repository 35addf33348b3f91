// backend/x86/code_memory.h: pages for machine code: written first, then sealed, which makes them executable and read-only for good.
// They are private to the process: after fork() parent and child may each free and reuse theirs.
#pragma once

#include <cstddef>

namespace weft::backend::x86 {

class CodeMemory {
public:
    explicit CodeMemory(std::size_t bytes);  // writable; throws BackendError
    ~CodeMemory();
    CodeMemory(const CodeMemory&) = delete;
    CodeMemory& operator=(const CodeMemory&) = delete;

    std::byte* data() const { return data_; }
    void seal();  // throws BackendError where the system refuses executable memory

private:
    std::size_t bytes_;  // whole pages
    std::byte* data_;
};

}  // namespace weft::backend::x86
