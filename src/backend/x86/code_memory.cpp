// backend/x86/code_memory.cpp: a mapping of its own for each kernel. Code that runs is never made writable again, and no page is shared
// with another process, as the two views of a shared mapping would be.
#include "backend/x86/code_memory.h"

#include "core/str.h"

#include <weft/error.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::backend::x86 {
namespace {

[[noreturn]] void refuse(int error) {
    throw BackendError(str("x86: the system refuses executable memory (", std::strerror(error), ")"));
}

std::size_t whole_pages(std::size_t bytes) {
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

}  // namespace

CodeMemory::CodeMemory(std::size_t bytes) : bytes_(whole_pages(bytes)) {
    void* const mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) refuse(errno);
    data_ = static_cast<std::byte*>(mapped);
}

CodeMemory::~CodeMemory() { ::munmap(data_, bytes_); }

void CodeMemory::seal() {
    if (::mprotect(data_, bytes_, PROT_READ | PROT_EXEC) != 0) refuse(errno);
}

}  // namespace weft::backend::x86
