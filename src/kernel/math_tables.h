// kernel/math_tables.h: polynomials (lowest power first) and constants in parts for kernel/math_*.cpp.
// Printed by tools/minimax.py.
#pragma once

// clang-format off

#include <cstdint>

namespace weft::kernel {

// exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2; error 2^-28.0
inline constexpr double kExpF32[] = {
    0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.123a1cp-7, 0x1.6a2504p-10,
};

// expm1(r) = r + r^2 P(r), |r| <= ln(2)/2; error 2^-26.1
inline constexpr double kExpm1F32[] = {
    0x1.fffffep-2, 0x1.5554b4p-3, 0x1.5556f2p-5, 0x1.122548p-7, 0x1.6b9b9cp-10,
};

// 2^r = 1 + r P(r), |r| <= 1/2; error 2^-28.3
inline constexpr double kExp2F32[] = {
    0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7cp-5, 0x1.3b2dc6p-7, 0x1.5f083ap-10, 0x1.41885p-13,
};

// sinh(x) = x + x z P(z), z = x^2, |x| <= 1; error 2^-31.6
inline constexpr double kSinhF32[] = {
    0x1.555556p-3, 0x1.1110ep-7, 0x1.a022bcp-13, 0x1.756c1ep-19,
};

// sin(r) = r + r z P(z), z = r^2, |r| <= pi/4; error 2^-27.8
inline constexpr double kSinF32[] = {
    -0x1.555544p-3, 0x1.1106c6p-7, -0x1.991c36p-13,
};

// cos(r) = 1 - z/2 + z^2 P(z), z = r^2, |r| <= pi/4; error 2^-32.7
inline constexpr double kCosF32[] = {
    0x1.55554ap-5, -0x1.6c0c14p-10, 0x1.99de6ap-16,
};

// asin(x) = x + x z P(z), z = x^2, |x| <= 1/2; error 2^-27.6
inline constexpr double kAsinF32[] = {
    0x1.5555c8p-3, 0x1.330206p-4, 0x1.747b76p-5, 0x1.8c4118p-6, 0x1.5959ecp-5,
};

// atan(x) = x + x z P(z), z = x^2, |x| <= 1; error 2^-28.5
inline constexpr double kAtanF32[] = {
    -0x1.55553ep-2, 0x1.9991ecp-3, -0x1.242116p-3, 0x1.c09412p-4, -0x1.582468p-4, 0x1.da9562p-5, -0x1.fe6d06p-6,
    0x1.653e48p-7, -0x1.d57b3ap-10,
};

// exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2; error 2^-56.4
inline constexpr double kExpF64[] = {
    0x1.000000000000ap-1, 0x1.55555555554fap-3, 0x1.555555555083ap-5, 0x1.1111111127a61p-7, 0x1.6c16c18439404p-10,
    0x1.a01a012ae621p-13, 0x1.a01999e1f0249p-16, 0x1.71df23eb56959p-19, 0x1.28ad9b24201f7p-22, 0x1.ad81f62844223p-26,
};

// expm1(r) = r + r^2 P(r), |r| <= ln(2)/2; error 2^-59.9
inline constexpr double kExpm1F64[] = {
    0x1p-1, 0x1.5555555555559p-3, 0x1.555555555553fp-5, 0x1.111111110f6c4p-7, 0x1.6c16c16c1ee42p-10,
    0x1.a01a01afddaaap-13, 0x1.a01a017c8f74cp-16, 0x1.71ddf863d083ap-19, 0x1.27e5345a2c0a1p-22, 0x1.af5ea786e807ep-26,
    0x1.1eeb7ec094a71p-29,
};

// 2^r = 1 + r P(r), |r| <= 1/2; error 2^-55.6
inline constexpr double kExp2F64[] = {
    0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0cfp-5, 0x1.3b2ab6fba4e22p-7, 0x1.5d87fe78a26ccp-10,
    0x1.430912f883e1p-13, 0x1.ffcbfc74d4ce3p-17, 0x1.62c021e23c833p-20, 0x1.b524dd587f277p-24, 0x1.e4d06cf449a0ep-28,
    0x1.ea014956fa126p-32, 0x1.c2ce2372030bcp-36,
};

// sinh(x) = x + x z P(z), z = x^2, |x| <= 1; error 2^-63.0
inline constexpr double kSinhF64[] = {
    0x1.5555555555555p-3, 0x1.111111111119bp-7, 0x1.a01a01a00735bp-13, 0x1.71de3a68d04f6p-19, 0x1.ae644122247cbp-26,
    0x1.61314dec2b976p-33, 0x1.a664aa5538308p-41, 0x1.d2be5e2814263p-48,
};

// sin(r) = r + r z P(z), z = r^2, |r| <= pi/4; error 2^-57.7
inline constexpr double kSinF64[] = {
    -0x1.5555555555547p-3, 0x1.111111110f573p-7, -0x1.a01a019bad9fap-13, 0x1.71de351f18e31p-19, -0x1.ae5e1fa90531fp-26,
    0x1.5d7e4290ac36bp-33,
};

// cos(r) = 1 - z/2 + z^2 P(z), z = r^2, |r| <= pi/4; error 2^-63.7
inline constexpr double kCosF64[] = {
    0x1.5555555555549p-5, -0x1.6c16c16c14bcfp-10, 0x1.a01a019c24e99p-16, -0x1.27e4f7a4e74fap-22, 0x1.1ee9a7a24930cp-29,
    -0x1.8f8b6fefab6f2p-37,
};

// asin(x) = x + x z P(z), z = x^2, |x| <= 1/2; error 2^-55.9
inline constexpr double kAsinF64[] = {
    0x1.5555555555392p-3, 0x1.333333336e4d4p-4, 0x1.6db6db42982c9p-5, 0x1.f1c72c2ff7eb5p-6, 0x1.6e89f51083571p-6,
    0x1.1c6bd59f09631p-6, 0x1.c6feac5ca6be9p-7, 0x1.8ebd0532ae5b8p-7, 0x1.ac0297f3dffadp-8, 0x1.3fd1dbba398a5p-6,
    -0x1.099cefe9fafep-6, 0x1.055afbcfabd8dp-5,
};

// atan(x) = x + x z P(z), z = x^2, |x| <= tan(pi/8); error 2^-59.4
inline constexpr double kAtanF64[] = {
    -0x1.555555555553dp-2, 0x1.999999999586cp-3, -0x1.24924922ad7abp-3, 0x1.c71c70e61fe81p-4, -0x1.745cf8dee7f1p-4,
    0x1.3b11195367015p-4, -0x1.10ebbb2db7501p-4, 0x1.df0f7b8896c7cp-5, -0x1.9cd3af77e8a78p-5, 0x1.37d84538cabf7p-5,
    -0x1.257088b888157p-6,
};

// exp(r) = 1 + r P(r), -ln(2)/16 <= r <= ln(2)/8; error 2^-30.2
inline constexpr double kExpNearF32[] = {
    0x1p+0, 0x1.ffff96p-2, 0x1.5558c4p-3, 0x1.5c5038p-5,
};

// 2^(i/8), twice; i/8 is taken off the mantissa's field
inline constexpr float kEighths[16] = {
    0x1p+0f, 0x1.f72b84p-1f, 0x1.f06fep-1f, 0x1.ebfdaep-1f, 0x1.ea09e6p-1f, 0x1.eace54p-1f, 0x1.ee89fap-1f,
    0x1.f5818ep-1f, 0x1p+0f, 0x1.f72b84p-1f, 0x1.f06fep-1f, 0x1.ebfdaep-1f, 0x1.ea09e6p-1f, 0x1.eace54p-1f,
    0x1.ee89fap-1f, 0x1.f5818ep-1f,
};

// tanh(x) = x + x z P(z), z = x^2, |x| <= 0.5625; error 2^-59.8
inline constexpr double kTanhF64[] = {
    -0x1.555555555554bp-2, 0x1.111111111026ep-3, -0x1.ba1ba1b933001p-5, 0x1.664f4848d9481p-6, -0x1.226e2cf5b9b62p-7,
    0x1.d6d245f3b205fp-9, -0x1.7d8b846e069f1p-10, 0x1.346032e14ce4cp-11, -0x1.e8066c71511fap-13, 0x1.59680e716d403p-14,
    -0x1.3d11936b2cd5ep-16,
};

// erf(x) = x + x P(z), z = x^2, |x| <= 1; error 2^-56.3
inline constexpr double kErfF64[] = {
    0x1.06eba8214db69p-3, -0x1.812746b0379fbp-2, 0x1.ce2f21a04363ep-4, -0x1.b82ce312b3062p-6, 0x1.565bcd14aa39cp-8,
    -0x1.c02db52a1bc12p-11, 0x1.f9a34bcd069cbp-14, -0x1.f4d57a4b9a5d9p-17, 0x1.ba15b18562821p-20,
    -0x1.615d53ba938d6p-23, 0x1.0beaeaa5112abp-26, -0x1.cdbec1f93e6a7p-30, 0x1.0bdd05fbadc67p-32,
    -0x1.e774c8e291566p-36,
};

// log(erfc(1 + t)) = P(t), 0 <= t <= 5; weighed by erfc; error 2^-55.9
inline constexpr double kErfcF64[] = {
    -0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c21ap+1, -0x1.afabc11a2b01bp-1, -0x1.5477f099b213cp-5, 0x1.48c9d37f0b2b8p-7,
    -0x1.033f5a02296ffp-9, 0x1.f1b0468297649p-13, 0x1.b92e2f20360e7p-16, -0x1.c8534a998b051p-16, 0x1.448617d41fccfp-17,
    -0x1.1e2b35af3ae91p-19, 0x1.b81e10b75ef65p-23, 0x1.f1b424c8743f9p-25, -0x1.1e97ea9d1583ep-25,
    0x1.24730e673a30cp-27, -0x1.6a3b10d8fd6f7p-30, 0x1.06180f20541ddp-33, -0x1.55e11beac5b02p-38,
};

// log(1 + f) = f - f^2/2 + f^3 P(f), sqrt(1/2) <= 1 + f <= sqrt(2); error 2^-27.3
inline constexpr double kLogF32[] = {
    0x1.555554p-2, -0x1.000226p-2, 0x1.99a00ep-3, -0x1.547262p-3, 0x1.22d9eep-3, -0x1.0d8444p-3, 0x1.055ba6p-3,
    -0x1.38b99ap-4,
};

// log((1 + s)/(1 - s)) = 2s + s z P(z), z = s^2, |s| <= 3 - sqrt(8); error 2^-66.6
inline constexpr double kLogF64[] = {
    0x1.5555555555555p-1, 0x1.9999999999d0fp-2, 0x1.2492492439b72p-2, 0x1.c71c724b1d6b8p-3, 0x1.745ce1e0db26ep-3,
    0x1.3b202051b03bfp-3, 0x1.0f67a2c4c4bcp-3, 0x1.0f0a7b963219bp-3,
};

// log2((1 + s)/(1 - s)) = s P(z), z = s^2, |s| <= 3 - sqrt(8), in f64; error 2^-37.8
inline constexpr double kPowLogF32[] = {
    0x1.71547652bedfp+1, 0x1.ec709d12da142p-1, 0x1.27777fde730f3p-1, 0x1.a58d8e26c2d5bp-2, 0x1.5ce7e85e8babbp-2,
};

// 2^r = P(r), |r| <= 1/2, in f64; error 2^-34.5
inline constexpr double kPowExpF32[] = {
    0x1.ffffffffabe54p-1, 0x1.62e42ff115359p-1, 0x1.ebfbe0a4937ecp-3, 0x1.c6b08ab07e77bp-5, 0x1.3b29dc56a517ep-7,
    0x1.5d8a6f7e3e68ap-10, 0x1.446a12e8de8efp-13, 0x1.fe187c46dc06ap-17,
};

// atanh(s) = s + s z/3 + s z^2 P(z), z = s^2, |s| <= 3 - sqrt(8); error 2^-54.0
inline constexpr double kPowLogF64[] = {
    0x1.999999999999ap-3, 0x1.249249249226dp-3, 0x1.c71c71c77b30dp-4, 0x1.745d171536a7ap-4, 0x1.3b13b9438a348p-4,
    0x1.11124408aa40cp-4, 0x1.e0b1341f6c73fp-5, 0x1.d4dfa8c7af734p-5,
};

// (1 + 2x) exp(x^2) erfc(x) = P(q), q = (x - 2)/(x + 2), 0 <= x <= 11; error 2^-24.9
inline constexpr double kErfcxF32[] = {
    0x1.46e80ep+0, -0x1.7bf5fap-4, -0x1.54085cp-3, 0x1.4ffacep-3, -0x1.bc07b4p-5, -0x1.076dacp-7, 0x1.1ad80ap-7,
    0x1.48dd18p-10, -0x1.482e96p-10, -0x1.67c24ap-12, 0x1.3834b4p-15,
};

// (1 + 2x) exp(x^2) erfc(x) = P(q), q = (x - 4)/(x + 4), 0 <= x <= 28; error 2^-53.8
inline constexpr double kErfcxF64[] = {
    0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a29cp-3, 0x1.f7f5df66fd719p-7, 0x1.16ecefcfa6042p-4, -0x1.9ddb23c3e8a34p-4,
    0x1.7fee004df6af2p-4, -0x1.0fb06dfe58e49p-4, 0x1.3079edf9f932dp-5, -0x1.09623880743ecp-6, 0x1.49c67191cd275p-8,
    -0x1.8d4a9ff0a1af2p-11, -0x1.a1de83e7f6b54p-13, 0x1.3be0d2eb8029dp-13, -0x1.9969d39bf2421p-16,
    -0x1.78a872ea1231dp-17, 0x1.7fae50db21f58p-18, 0x1.4438e25eafbefp-22, -0x1.bfe088c86b416p-21,
    0x1.0bf7be52c3059p-24, 0x1.ec06e46203466p-24, -0x1.0b54dbd92f424p-27, -0x1.cbeed889162dp-27,
    -0x1.d80b60d579001p-30,
};

// erfinv(x) = x P(t), w = -log(1 - x^2), t = w - 5/2, w <= 5; error 2^-23.1
inline constexpr double kErfinvF32[] = {
    0x1.805c5ep+0, 0x1.f91ec6p-3, -0x1.11ca5p-8, -0x1.48a6dap-10, 0x1.ca7166p-13, -0x1.2712b8p-18, -0x1.d9a6f6p-19,
    0x1.7116cep-22, 0x1.ea661cp-26,
};

// erfinv(x) = x P(t), w = -log(1 - x^2), t = sqrt(w) - 3, 5 <= w <= 17; error 2^-22.7
inline constexpr double kErfinvTailF32[] = {
    0x1.6a9efep+1, 0x1.006dc2p+0, 0x1.350808p-7, -0x1.f46cb8p-8, 0x1.7b7f5cp-8, -0x1.dade5cp-9, 0x1.44e72ap-10,
    0x1.abb4d4p-15, -0x1.fddc38p-14,
};

// erfinv(x) = x P(t), w = -log(1 - x^2), t = w - 25/8, w <= 25/4; error 2^-51.8
inline constexpr double kErfinvF64[] = {
    0x1.a755e7c99ae86p+0, 0x1.ebd80d9b13e45p-3, -0x1.8b6c33114f458p-8, -0x1.845769485e59cp-11, 0x1.879c2a20fd67p-13,
    -0x1.d1d1f7afe1b89p-17, -0x1.6e8a5404b3bb9p-20, 0x1.c6b4f4aa90243p-22, -0x1.f36ce23fe8f1ep-26,
    -0x1.1a9e0dedda076p-28, 0x1.20f4df851b9eap-30, -0x1.dc5fbe18fe3d2p-35, -0x1.c895e503e93cep-37,
    0x1.72bc5ba80d004p-39, -0x1.6d6e7c620d702p-44, -0x1.6e19d21bf4641p-45, 0x1.dab128af59916p-48,
    0x1.0e852ba0feae2p-55, -0x1.2a05fea8ed85ep-53, 0x1.8d3ac3d327bcep-57, 0x1.44a394a922393p-60,
    -0x1.7b6965556505ap-63,
};

// erfinv(x) = x P(t), w = -log(1 - x^2), t = sqrt(w) - 13/4, 25/4 <= w <= 16; error 2^-52.3
inline constexpr double kErfinvMiddleF64[] = {
    0x1.8abcc380d5a48p+1, 0x1.0158a6d641d3p+0, 0x1.5ffcfe5b74d14p-8, -0x1.ebadabb825eb3p-9, 0x1.468eeca639d7ap-9,
    -0x1.ba924149bb833p-10, 0x1.f3cc554babab3p-11, -0x1.7448a458faa25p-12, 0x1.932d5d620a9p-16, 0x1.1e67e13a6184p-14,
    -0x1.8cf0b8362eed8p-15, 0x1.a2a60385e0f0dp-17, 0x1.88b85deb6b6cbp-19, -0x1.0d8dcf5294dcep-18,
    0x1.920ce2e3d4ebdp-20, 0x1.6c5f50bb9524dp-26, -0x1.21e7c7e5be5ffp-22, 0x1.803fd9e5ffcf8p-24,
};

// erfinv(x) = x P(t), w = -log(1 - x^2), t = sqrt(w) - 5, 16 <= w <= 37; error 2^-51.8
inline constexpr double kErfinvTailF64[] = {
    0x1.3664ddd1ad7fbp+2, 0x1.02a30d1fba0b7p+0, -0x1.22ea5df226622p-13, -0x1.c2f36a8494542p-13, 0x1.3ebf4f099be53p-14,
    -0x1.4a349bb48345fp-16, 0x1.2fbcf931a83f8p-18, -0x1.0a8c1cef21964p-20, 0x1.ebe20f883ef58p-23,
    -0x1.22fe8819d7c87p-24, 0x1.f2fef71ab48bfp-26, -0x1.001caff0ef2bdp-26, 0x1.09f7c694399eep-27,
    -0x1.06c65c9a843e2p-28, 0x1.88d13ca8ca1cdp-30, -0x1.0f1331651e66ep-32, -0x1.f84b28b69717ep-38,
};

// log(gamma(2 + t)) = t P(t), |t| <= 1/2; error 2^-24.3
inline constexpr double kLgammaF32[] = {
    0x1.b0ee6p-2, 0x1.4a34ccp-2, -0x1.13dfecp-4, 0x1.51357ep-6, -0x1.e4247ep-8, 0x1.795d42p-9, -0x1.34c302p-10,
    0x1.2abe9ep-11, -0x1.1af9e2p-12,
};

// log(gamma(2 + t)) = t P(t), |t| <= 1/2; error 2^-53.7
inline constexpr double kLgammaF64[] = {
    0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa7p-2, -0x1.13e001a557616p-4, 0x1.51322ac7d800bp-6, -0x1.e404fc21888b3p-8,
    0x1.7add6eae555b7p-9, -0x1.38ac5c309bfa8p-10, 0x1.0b36af36922afp-11, -0x1.d3fd494410f53p-13, 0x1.a127dc20f89ap-14,
    -0x1.78defd9133ba8p-15, 0x1.5806f5e9e6fep-16, -0x1.3ca942795a377p-17, 0x1.263e9a32b30b6p-18,
    -0x1.131ccd4f67cacp-19, 0x1.ee187401f036p-21, -0x1.c30869dd13128p-22, 0x1.2b056f44aa276p-22,
    -0x1.33b2510caeae7p-23,
};

// tanh(x), 0 <= x <= 9.2, by bits 21 … 24 of 1 + 1.62 x: centres, then powers of x - centre; error 2^-25.5
inline constexpr float kTanhPieces[7][16] = {
    {
        0x1.8b0f32p-1f, 0x1.148b1cp+0f, 0x1.6390c4p+0f, 0x1.b28c8cp+0f, 0x1.14881ap+1f, 0x1.63683cp+1f, 0x1.b2710ep+1f,
        0x1.000cbep+2f, 0x1.3d312ap+2f, 0x1.8b7bccp+2f, 0x1.d1cb7ep+2f, 0x1.154246p+3f, 0x0p+0f, 0x1.da1098p-3f,
        0x1.8b1104p-2f, 0x1.148ad6p-1f,
    },
    {
        0x1.4bb42ep-1f, 0x1.962a3ap-1f, 0x1.c41006p-1f, 0x1.dec42cp-1f, 0x1.f29204p-1f, 0x1.fc0c24p-1f, 0x1.fed8e2p-1f,
        0x1.ffa83ap-1f, 0x1.fff302p-1f, 0x1.fffeep-1f, 0x1.ffffep-1f, 0x1.fffffep-1f, 0x0p+0f, 0x1.d1c68p-3f,
        0x1.7890d2p-2f, 0x1.f8e9fep-2f,
    },
    {
        0x1.291a4ap-1f, 0x1.7b9604p-2f, 0x1.c36ed2p-3f, 0x1.013daap-3f, 0x1.a81c9ap-5f, 0x1.f7fa26p-7f, 0x1.26c908p-8f,
        0x1.5ef9bp-10f, 0x1.9fd1e2p-13f, 0x1.200a8ep-16f, 0x1.ffc04p-20f, 0x1.001744p-23f, 0x1p+0f, 0x1.e5846ap-1f,
        0x1.bac2c8p-1f, 0x1.8384bap-1f,
    },
    {
        -0x1.80f634p-2f, -0x1.2d206ep-2f, -0x1.8e9752p-3f, -0x1.e116fep-4f, -0x1.9cf7ep-5f, -0x1.f404bp-7f,
        -0x1.2612a2p-8f, -0x1.5eae8ep-10f, -0x1.9e7d02p-13f, -0x1.1f27dap-16f, -0x1.ff5a9p-20f, -0x1.fee9a4p-24f,
        0x1.dea1ecp-21f, -0x1.b9ae9cp-3f, -0x1.45a416p-2f, -0x1.7e279ep-2f,
    },
    {
        0x1.9a923ap-5f, 0x1.c16f46p-4f, 0x1.92e8bep-4f, 0x1.165f54p-4f, 0x1.04cdb6p-5f, 0x1.48355ep-7f, 0x1.8657ep-9f,
        0x1.d321eap-11f, 0x1.1371ccp-13f, 0x1.7e67a4p-17f, 0x1.597ce2p-20f, 0x1.51e86ap-24f, -0x1.5562dcp-2f,
        -0x1.11721cp-2f, -0x1.5ed55cp-3f, -0x1.17a1fp-4f,
    },
    {
        0x1.7c80fp-4f, 0x1.7c4558p-7f, -0x1.624cdep-6f, -0x1.8e376cp-6f, -0x1.d3c906p-7f, -0x1.429892p-8f,
        -0x1.896748p-10f, -0x1.d9d96ap-12f, -0x1.2910c2p-14f, -0x1.9c14e2p-18f, -0x1.64c098p-21f, -0x1.6a35e6p-25f,
        0x1.d0764cp-11f, 0x1.0e99f8p-3f, 0x1.5910d8p-3f, 0x1.430dfp-3f,
    },
    {
        -0x1.02754p-4f, -0x1.3204fap-5f, -0x1.1dd20ap-7f, 0x1.743178p-9f, 0x1.1ae124p-8f, 0x1.e0c0a6p-10f,
        0x1.34187p-11f, 0x1.706eap-13f, 0x1.ebefep-16f, 0x1.4dc20cp-19f, 0x1.c4b996p-23f, 0x1.42f282p-26f,
        0x1.06a8c4p-3f, 0x1.4411p-4f, 0x1.c7bf58p-7f, -0x1.3cab14p-5f,
    },
};

// erf(x), 0 <= x <= 4, likewise of 1 + 3.7 x; the first piece, at 12, is erf(x) - x; error 2^-24.9
inline constexpr float kErfPieces[7][16] = {
    {
        0x1.59f3c4p-2f, 0x1.e4520cp-2f, 0x1.375a34p-1f, 0x1.7c874ap-1f, 0x1.e44e44p-1f, 0x1.375c8ap+0f, 0x1.7c8992p+0f,
        0x1.c1af24p+0f, 0x1.14f5ep+1f, 0x1.597f9ap+1f, 0x1.8ef87cp+1f, 0x1.ea8f96p+1f, 0x0p+0f, 0x1.9f21eap-4f,
        0x1.59f2d2p-3f, 0x1.e4545cp-3f,
    },
    {
        0x1.780226p-2f, 0x1.fc5788p-2f, 0x1.386d64p-1f, 0x1.69de4ep-1f, 0x1.a3558p-1f, 0x1.d44348p-1f, 0x1.edce2ap-1f,
        0x1.f95a04p-1f, 0x1.fedde6p-1f, 0x1.ffee5p-1f, 0x1.fffea2p-1f, 0x1.fffffep-1f, 0x0p+0f, 0x1.d2d3fp-4f,
        0x1.82ae08p-3f, 0x1.0c3e72p-2f,
    },
    {
        0x1.01b4dap+0f, 0x1.cded52p-1f, 0x1.8f2382p-1f, 0x1.4c87cap-1f, 0x1.d84012p-2f, 0x1.07375cp-2f, 0x1.fb3812p-4f,
        0x1.a6793ap-5f, 0x1.5675b4p-7f, 0x1.95661ep-11f, 0x1.1d7964p-14f, 0x1.fcff8ap-22f, 0x1.06eba8p-3f,
        0x1.1de9bep+0f, 0x1.18bd34p+0f, 0x1.112734p+0f,
    },
    {
        -0x1.5c42p-2f, -0x1.b4f454p-2f, -0x1.e570bep-2f, -0x1.ee4948p-2f, -0x1.beb4b6p-2f, -0x1.40242ap-2f,
        -0x1.78fd64p-3f, -0x1.730f26p-4f, -0x1.726bep-6f, -0x1.10fccap-9f, -0x1.beb35cp-13f, -0x1.e8db9cp-20f,
        0x1.5c9a92p-22f, -0x1.cfa35cp-4f, -0x1.7b6134p-3f, -0x1.02641ap-2f,
    },
    {
        -0x1.092c1ap-2f, -0x1.545268p-3f, -0x1.152p-4f, 0x1.73a512p-6f, 0x1.f115dep-4f, 0x1.57ae7p-3f, 0x1.210dep-3f,
        0x1.6c1e9ap-4f, 0x1.dd7d72p-6f, 0x1.ca55bep-9f, 0x1.bc5678p-12f, 0x1.164b84p-18f, -0x1.812d2cp-2f,
        -0x1.758a64p-2f, -0x1.6108dp-2f, -0x1.43510ap-2f,
    },
    {
        0x1.4120f2p-3f, 0x1.734b26p-3f, 0x1.6d5538p-3f, 0x1.37feeap-3f, 0x1.685a6cp-4f, 0x1.5e70c6p-9f,
        -0x1.609276p-5f, -0x1.8667ep-5f, -0x1.8c924ep-6f, -0x1.1473a8p-8f, -0x1.21c856p-11f, -0x1.00226p-17f,
        0x1.15124cp-11f, 0x1.c7544p-5f, 0x1.734fe4p-4f, 0x1.f227c8p-4f,
    },
    {
        0x1.d0896p-5f, 0x1.c7df3ep-7f, -0x1.8fa8b4p-6f, -0x1.b059e6p-5f, -0x1.1ae4d4p-4f, -0x1.a403ccp-5f,
        -0x1.111b16p-6f, 0x1.bbc6eap-8f, 0x1.8393fcp-7f, 0x1.b73678p-9f, 0x1.774982p-12f, 0x1.42e0dp-16f,
        0x1.bd9a6ap-4f, 0x1.971ac8p-3f, 0x1.2b4f06p-3f, -0x1.cae1e6p-7f,
    },
};

// ln 2, in 2 parts
inline constexpr double kLn2F32[] = {
    0x1.62e43p-1, -0x1.05c61p-29,
};

// pi/2, in 3 parts
inline constexpr double kHalfPiF32[] = {
    0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50,
};

// ln 2, in 2 parts
inline constexpr double kLn2F64[] = {
    0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56,
};

// pi/2, in 3 parts
inline constexpr double kHalfPiF64[] = {
    0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110,
};

// 2 / ln 2, in 2 parts
inline constexpr double kTwoOverLn2[] = {
    0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55,
};

// 1/3, in 2 parts
inline constexpr double kThird[] = {
    0x1.5555555555555p-2, 0x1.5555555555555p-56,
};

// where the other windows of 2/pi begin
inline constexpr double kTwoOverPiStartsF32[] = {
    0x1p+46, 0x1p+67, 0x1p+88, 0x1p+108,
};

// 2/pi modulo 4/ulp(x), high part, for each range of x
inline constexpr double kTwoOverPiHighF32[] = {
    0x1.45f306dc9c883p-1, 0x1.b727220a94fe1p-23, 0x1.054a7f09d5f48p-46, 0x1.fc2757d1f534ep-64, 0x1.7d1f534ddc0dbp-84,
};

// and the low part
inline constexpr double kTwoOverPiLowF32[] = {
    -0x1.6b01ec5417056p-55, 0x1.d5f47d4d37703p-78, -0x1.596447e493ad5p-101, -0x1.1f924eb53361ep-119,
    0x1.8a5664f10e41p-138,
};

// 2/pi as a fixed-point number of 19 words; the first bit stands for 2^33.
inline constexpr std::uint64_t kTwoOverPiWords[19] = {
    0x0000000028be60db, 0x9391054a7f09d5f4, 0x7d4d377036d8a566, 0x4f10e4107f9458ea,
    0xf7aef1586dc91b8e, 0x909374b801924bba, 0x827464873f877ac7, 0x2c4a69cfba208d7d,
    0x4baed1213a671c09, 0xad17df904e64758e, 0x60d4ce7d272117e2, 0xef7e4a0ec7fe25ff,
    0xf7816603fbcbc462, 0xd6829b47db4d9fb3, 0xc9f2c26dd3d18fd9, 0xa797fa8b5d49eeb1,
    0xfaf97c5ecf41ce7d, 0xe294a4ba9afed7ec, 0x47e357421580cc11,
};

}  // namespace weft::kernel
