// tests/support/subnormals.h: how the processor treats subnormals while a test computes, as the runtime does around kernels.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace weft::test {

enum class Subnormals { Keep, Flush };

#if defined(__SSE__)
inline constexpr bool kCanFlush = true;
#else
inline constexpr bool kCanFlush = false;
#endif

// Sets it, and restores what was before.
class SubnormalScope {
public:
    explicit SubnormalScope([[maybe_unused]] Subnormals how) {
#if defined(__SSE__)
        saved_ = _mm_getcsr();
        constexpr unsigned kFlushToZero = 0x8000, kAreZero = 0x0040;
        _mm_setcsr(how == Subnormals::Flush ? saved_ | kFlushToZero | kAreZero : saved_ & ~(kFlushToZero | kAreZero));
#endif
    }
    ~SubnormalScope() {
#if defined(__SSE__)
        _mm_setcsr(saved_);
#endif
    }
    SubnormalScope(const SubnormalScope&) = delete;
    SubnormalScope& operator=(const SubnormalScope&) = delete;

private:
    unsigned saved_ = 0;
};

}  // namespace weft::test
