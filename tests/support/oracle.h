// tests/support/oracle.h: runs whole programs on the oracle: while a scope lives, every run computes its graph op by op, in
// order (tests/support/eager.h). No capture, simplification, fusion, plan, donation, pass or backend has a part in it.
#pragma once

namespace weft::testing {

class OracleScope {
public:
    explicit OracleScope(double jitter = 0);  // eager.h says what it does
    ~OracleScope();
    OracleScope(const OracleScope&) = delete;
    OracleScope& operator=(const OracleScope&) = delete;
};

}  // namespace weft::testing
