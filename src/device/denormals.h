// device/denormals.h: subnormal numbers are flushed to zero around kernels, on every thread that runs one: arithmetic on them
// can be twenty times slower. The caller's own floating-point mode comes back afterwards.
#pragma once

namespace weft::device {

class DenormalScope {
public:
    explicit DenormalScope(bool keep);  // … or makes sure of the opposite, whatever the caller had set
    ~DenormalScope();
    DenormalScope(const DenormalScope&) = delete;
    DenormalScope& operator=(const DenormalScope&) = delete;

private:
    unsigned long long before_;
};

}  // namespace weft::device
