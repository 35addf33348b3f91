// device/denormals.cpp: the floating-point control register, by processor.
#include "device/denormals.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::device {
namespace {

#if defined(__x86_64__)
constexpr unsigned long long kFlush = 0x8040;  // MXCSR: FTZ (bit 15) and DAZ (bit 6)
unsigned long long read_mode() { return _mm_getcsr(); }
void write_mode(unsigned long long mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
constexpr unsigned long long kFlush = 1ull << 24;  // FPCR: FZ
unsigned long long read_mode() {
    unsigned long long mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
void write_mode(unsigned long long mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
constexpr unsigned long long kFlush = 0;
unsigned long long read_mode() { return 0; }
void write_mode(unsigned long long) {}
#endif

}  // namespace

DenormalScope::DenormalScope(bool keep) : before_(read_mode()) {
    const unsigned long long wanted = keep ? before_ & ~kFlush : before_ | kFlush;
    if (wanted != before_) write_mode(wanted);
}

DenormalScope::~DenormalScope() {
    if (read_mode() != before_) write_mode(before_);
}

}  // namespace weft::device
