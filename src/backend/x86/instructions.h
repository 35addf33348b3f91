// backend/x86/instructions.h: the machine's instructions by name, and in pairs for lanes of 4 and of 8 bytes. Headers
// do not include it, so that AsmJit stays out of them.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>

namespace weft::backend::x86 {

namespace Id = asmjit::x86::Inst;

inline bool fits32(std::int64_t value) { return value == static_cast<std::int32_t>(value); }

inline constexpr int kFloor = 1, kTruncate = 3;  // of a rounding

// Instructions for f32 and f64, and for integers in lanes of 4 and 8 bytes.
struct Pair {
    std::uint32_t narrow, wide;
    std::uint32_t operator()(int lane) const { return lane == 4 ? narrow : wide; }
};
inline constexpr Pair kAddF{Id::kIdVaddps, Id::kIdVaddpd}, kSubF{Id::kIdVsubps, Id::kIdVsubpd},
    kMulF{Id::kIdVmulps, Id::kIdVmulpd}, kDivF{Id::kIdVdivps, Id::kIdVdivpd}, kSqrtF{Id::kIdVsqrtps, Id::kIdVsqrtpd},
    kCmpF{Id::kIdVcmpps, Id::kIdVcmppd}, kFma231{Id::kIdVfmadd231ps, Id::kIdVfmadd231pd},
    kFma213{Id::kIdVfmadd213ps, Id::kIdVfmadd213pd}, kMaxF{Id::kIdVmaxps, Id::kIdVmaxpd},
    kMinF{Id::kIdVminps, Id::kIdVminpd}, kScaleByPower{Id::kIdVscalefps, Id::kIdVscalefpd},
    kRoundF{Id::kIdVroundps, Id::kIdVroundpd}, kScaleF{Id::kIdVrndscaleps, Id::kIdVrndscalepd},
    kBlendMask{Id::kIdVblendmps, Id::kIdVblendmpd}, kBlendVector{Id::kIdVblendvps, Id::kIdVblendvpd},
    kAdd{Id::kIdVpaddd, Id::kIdVpaddq}, kSub{Id::kIdVpsubd, Id::kIdVpsubq}, kMul{Id::kIdVpmulld, Id::kIdVpmullq},
    kMaxS{Id::kIdVpmaxsd, Id::kIdVpmaxsq}, kMaxU{Id::kIdVpmaxud, Id::kIdVpmaxuq}, kMinS{Id::kIdVpminsd, Id::kIdVpminsq},
    kMinU{Id::kIdVpminud, Id::kIdVpminuq}, kAbs{Id::kIdVpabsd, Id::kIdVpabsq}, kShl{Id::kIdVpsllvd, Id::kIdVpsllvq},
    kShr{Id::kIdVpsrlvd, Id::kIdVpsrlvq}, kSar{Id::kIdVpsravd, Id::kIdVpsravq}, kShlImm{Id::kIdVpslld, Id::kIdVpsllq},
    kShrImm{Id::kIdVpsrld, Id::kIdVpsrlq}, kSarImm{Id::kIdVpsrad, Id::kIdVpsraq},
    kEqual{Id::kIdVpcmpeqd, Id::kIdVpcmpeqq}, kGreater{Id::kIdVpcmpgtd, Id::kIdVpcmpgtq},
    kCmpS{Id::kIdVpcmpd, Id::kIdVpcmpq}, kCmpU{Id::kIdVpcmpud, Id::kIdVpcmpuq};

}  // namespace weft::backend::x86
