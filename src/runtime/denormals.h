// runtime/denormals.h: subnormal numbers are flushed to zero around kernels, on every thread that runs one: arithmetic on them
// can be twenty times slower. The caller's own floating-point mode comes back afterwards.
#pragma once

namespace weft::runtime {

class DenormalScope {
public:
    DenormalScope();  // WEFT_DENORMALS=keep makes sure of the opposite: they are kept, whatever the caller had set
    explicit DenormalScope(bool keep);
    ~DenormalScope();
    DenormalScope(const DenormalScope&) = delete;
    DenormalScope& operator=(const DenormalScope&) = delete;

private:
    unsigned long long before_;
};

}  // namespace weft::runtime
