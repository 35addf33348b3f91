#!/usr/bin/env python3
"""Prints src/kernel/math_tables.h: the polynomials and split constants behind kernel/math_*.cpp.

Each polynomial is a weighted minimax fit (Remez exchange on a dense Chebyshev grid). The coefficients are rounded to
the format one after the other, lowest power first, and the rest is fitted again each time, so that rounding costs next
to nothing. Needs mpmath; takes some minutes.   tools/minimax.py > src/kernel/math_tables.h
"""
import struct
import sys
from mpmath import mp, mpf

mp.prec = 300


def round_to(value, bits):
    """The nearest number with `bits` significant bits."""
    if value == 0:
        return mpf(0)
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def remez(values, weights, points, powers):
    """Coefficients c of sum c_i x^powers[i] that minimise max |weight * (sum - value)| over the points."""
    # The lowest power goes into the weight: 1, x, x^2 … alternate properly on both sides of zero, x^3, x^4 … do not.
    n, lowest = len(powers), powers[0]
    columns = [[x ** (p - lowest) for p in powers] for x in points]
    values = [v / x**lowest for v, x in zip(values, points)]
    weights = [w * abs(x) ** lowest for w, x in zip(weights, points)]
    last = len(points) - 1
    chosen = [round(last * (1 - mp.cos(mp.pi * i / n)) / 2) for i in range(n + 1)]
    for _ in range(60):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for row, i in enumerate(chosen):
            for col in range(n):
                a[row, col] = columns[i][col]
            a[row, n] = (-1) ** row / weights[i]
            b[row] = values[i]
        solution = mp.lu_solve(a, b)
        c, level = list(solution)[:n], abs(solution[n])
        error = [w * (mp.fdot(c, col) - v) for w, col, v in zip(weights, columns, values)]
        worst = max(abs(e) for e in error)
        if worst <= level * mpf("1.0001"):
            break
        # one extremum per run of equal sign; drop the weaker end while there are too many
        runs = []
        for i, e in enumerate(error):
            if runs and (error[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(error[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > n + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < n + 1:
            break
        chosen = runs
    return c, worst


def fit(f, low, high, powers, weight, bits, fixed=()):
    """f(x) ~ fixed powers + sum c_i x^powers[i], weight(x) times the error levelled: rounded c, log2 of the error."""
    count = max(12 * len(powers), 120)
    low, high = mpf(low), mpf(high)
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / count) for i in range(count)]
    points = [x for x in points if x != 0]
    weights = [abs(mpf(weight(x))) for x in points]
    values = [f(x) - sum(c * x**p for p, c in fixed) for x in points]
    def rounded(refit):
        rest, left, result = values, list(powers), []
        c, _ = remez(rest, weights, points, left)
        while left:
            power, coefficient = left.pop(0), round_to(c.pop(0), bits)
            result.append(coefficient)
            rest = [v - coefficient * x**power for v, x in zip(rest, points)]
            if refit and left:  # close to zero the remaining powers can correct nothing: leave that part out
                kept = [i for i, x in enumerate(points) if abs(x) > far * refit]
                c, _ = remez([rest[i] for i in kept], [weights[i] for i in kept], [points[i] for i in kept], left)
        return max(abs(w * v) for w, v in zip(weights, rest)), result

    far = max(abs(x) for x in points)
    worst, result = min(rounded(refit) for refit in (0, 0.02, 0.1, 0.25))
    return result, float(mp.log(worst, 2))


def hex_of(value):
    mantissa, exponent = float(value).hex().split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent


def less_bits(value, bits):
    """The f32 number whose bits, as an integer, are so much smaller."""
    return mpf(struct.unpack("f", struct.pack("I", struct.unpack("I", struct.pack("f", value))[0] - bits))[0])


def show_items(items, indent):
    line = indent
    for item in items:
        if len(line) + len(item) > 117:
            print(line)
            line = indent
        line += f" {item},"
    print(line)


def show(name, coefficients, note):
    print(f"// {note}")
    print(f"inline constexpr double {name}[] = {{")
    show_items(map(hex_of, coefficients), "   ")
    print("};\n")


def split(value, bits, parts):
    """value as a sum of `parts` numbers of `bits` bits, each the rounding of what is left."""
    result = []
    for _ in range(parts):
        result.append(round_to(value, bits))
        value -= result[-1]
    return result


def relative(f):
    return lambda x: 1 / f(x)


def centre_of(f, inverse, low, high):
    """A float c around the middle of low … high for which f(c) is nearly a float as well; c and that."""
    inside = lambda c: 3 * low + high < 4 * c < low + 3 * high
    middle = round_to(f((low + high) / 2), 24)
    step = mp.ldexp(1, mp.frexp(middle)[1] - 24)
    values = [middle + k * step for k in range(-300, 301) if abs(middle + k * step) < 1]
    pairs = [(round_to(inverse(v), 24), v) for v in values]
    return min((pair for pair in pairs if inside(pair[0])), key=lambda pair: abs(f(pair[0]) - pair[1]))


def pieces(name, what, f, inverse, scale, top, powers, slope):
    """16 polynomials for 0 <= x <= top, four to each octave of u = 1 + scale x, around a centre each; in f32.

    Printed as a table of the centres and one for each power; entry i is for those u whose bits 21 … 24 are i. The first
    piece, centred at 0, needs a small relative error. If f's slope there is 1, that is its first term. If not, rounding
    the slope would cost too much: the piece is f(x) - x.
    """
    edge = lambda k: (mpf(4 + k % 4) / 4 * 2 ** (k // 4) - 1) / mpf(scale)
    rows, worst = [], -100
    for k in range(16):
        low, high = edge(k), min(edge(k + 1), mpf(top))
        centre, value = centre_of(f, inverse, low, high) if k else (mpf(0), mpf(0))
        fixed = [(0, value)] if k or slope != 1 else [(0, 0), (1, 1)]
        less = 0 if k or slope == 1 else 1
        slack = (high - low) / 1000
        c, error = fit(lambda y: f(centre + y) - less * y, low - centre - slack if k else mpf("1e-9"),
                       high - centre + slack, list(range(len(fixed), powers)), lambda y: 1 / f(centre + y), 24, fixed)
        rows.append([centre] + [value for _, value in fixed] + c)
        worst = max(worst, error)
    rows = rows[4:] + rows[:4]  # u = 1 has bits 1100
    print(f"{name}: 2^{worst:.1f}", file=sys.stderr)
    print(f"// {what}; error 2^{worst:.1f}")
    print(f"inline constexpr float {name}[{powers + 1}][16] = {{")
    for column in zip(*rows):
        print("    {")
        show_items((hex_of(v) + "f" for v in column), "       ")
        print("    },")
    print("};\n")


def erfinv_ratio(w):
    """erfinv(x) / x for w = -log(1 - x^2), by Newton's method on erfc, which knows x close to 1."""
    x = mp.sqrt(-mp.expm1(-w))
    y, rest = mp.sqrt(w), mp.exp(-w) / (1 + x)
    if w < 20:
        y = mp.erfinv(x)
    for _ in range(60):
        step = (mp.erfc(y) - rest) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mpf(2) ** -200:
            break
    return y / x


def main():
    half_ln2 = mp.log(2) / 2 * mpf("1.0005")
    log_low, log_high = mp.sqrt(mpf(1) / 2) - 1 - mpf("1e-6"), mp.sqrt(2) - 1 + mpf("1e-6")
    quarter_pi = mp.pi / 4 * mpf("1.01")
    root = lambda f: (lambda z: f(mp.sqrt(z)))

    def even(f, limit):  # an odd function over x, or an even one, as a function of z = x*x
        return root(f), mpf(limit) ** 2 * mpf("1e-9"), mpf(limit) ** 2

    def poly(name, what, f, low, high, powers, weight, bits, fixed=()):
        coefficients, error = fit(f, low, high, powers, weight, bits, fixed)
        print(f"{name}: 2^{error:.1f}", file=sys.stderr)
        show(name, coefficients, f"{what}; error 2^{error:.1f}")

    print("// kernel/math_tables.h: polynomials (lowest power first) and constants in parts for kernel/math_*.cpp.")
    print("// Printed by tools/minimax.py.")
    print("#pragma once\n\n// clang-format off\n\n#include <cstdint>\n\nnamespace weft::kernel {\n")

    for bits, tag in ((24, "F32"), (53, "F64")):
        narrow = bits == 24
        pick = lambda a, b: range(a if narrow else b)
        poly("kExp" + tag, "exp(r) = 1 + r + r^2 P(r), |r| <= ln(2)/2", mp.exp, -half_ln2, half_ln2,
             [k + 2 for k in pick(5, 10)], relative(mp.exp), bits, [(0, 1), (1, 1)])
        poly("kExpm1" + tag, "expm1(r) = r + r^2 P(r), |r| <= ln(2)/2", mp.expm1, -half_ln2, half_ln2,
             [k + 2 for k in pick(5, 11)], relative(mp.expm1), bits, [(1, 1)])
        exp2 = lambda r: mp.power(2, r)
        poly("kExp2" + tag, "2^r = 1 + r P(r), |r| <= 1/2", exp2, mpf("-0.5"), mpf("0.5"),
             [k + 1 for k in pick(6, 12)], relative(exp2), bits, [(0, 1)])
        f, low, high = even(lambda x: mp.sinh(x) / x, 1)
        poly("kSinh" + tag, "sinh(x) = x + x z P(z), z = x^2, |x| <= 1", f, low, high,
             [k + 1 for k in pick(4, 8)], relative(f), bits, [(0, 1)])
        f, low, high = even(lambda x: mp.sin(x) / x, quarter_pi)
        poly("kSin" + tag, "sin(r) = r + r z P(z), z = r^2, |r| <= pi/4", f, low, high,
             [k + 1 for k in pick(3, 6)], relative(f), bits, [(0, 1)])
        f, low, high = even(mp.cos, quarter_pi)
        poly("kCos" + tag, "cos(r) = 1 - z/2 + z^2 P(z), z = r^2, |r| <= pi/4", f, low, high,
             [k + 2 for k in pick(3, 6)], relative(f), bits, [(0, 1), (1, mpf(-1) / 2)])
        f, low, high = even(lambda x: mp.asin(x) / x, mpf("0.5"))
        poly("kAsin" + tag, "asin(x) = x + x z P(z), z = x^2, |x| <= 1/2", f, low, high,
             [k + 1 for k in pick(5, 12)], relative(f), bits, [(0, 1)])
        f, low, high = even(lambda x: mp.atan(x) / x, 1 if narrow else mp.sqrt(2) - 1 + mpf("1e-9"))
        poly("kAtan" + tag, f"atan(x) = x + x z P(z), z = x^2, |x| <= {'1' if narrow else 'tan(pi/8)'}", f, low, high,
             [k + 1 for k in pick(9, 11)], relative(f), bits, [(0, 1)])

    eighth = mp.log(2) / 8 * mpf("1.0005")
    poly("kExpNearF32", "exp(r) = 1 + r P(r), -ln(2)/16 <= r <= ln(2)/8", mp.exp, -eighth / 2, eighth, [1, 2, 3, 4], relative(mp.exp),
         24, [(0, 1)])
    eighths = [round_to(mp.power(2, mpf(i) / 8), 24) for i in range(8)]
    print("// 2^(i/8), twice; i/8 is taken off the mantissa's field")
    print("inline constexpr float kEighths[16] = {")
    show_items((hex_of(less_bits(v, i << 20)) + "f" for i, v in [*enumerate(eighths)] * 2), "   ")
    print("};\n")
    f, low, high = even(lambda x: mp.tanh(x) / x, mpf("0.5625"))
    poly("kTanhF64", "tanh(x) = x + x z P(z), z = x^2, |x| <= 0.5625", f, low, high,
         [k + 1 for k in range(11)], relative(f), 53, [(0, 1)])
    f, low, high = even(lambda x: mp.erf(x) / x - 1, 1)
    poly("kErfF64", "erf(x) = x + x P(z), z = x^2, |x| <= 1", f, low, high, range(14), lambda z: 1 / (1 + f(z)), 53)
    poly("kErfcF64", "log(erfc(1 + t)) = P(t), 0 <= t <= 5; weighed by erfc", lambda t: mp.log(mp.erfc(1 + t)), 0, 5,
         range(18), lambda t: mp.erfc(1 + t), 53)
    poly("kLogF32", "log(1 + f) = f - f^2/2 + f^3 P(f), sqrt(1/2) <= 1 + f <= sqrt(2)", mp.log1p, log_low, log_high,
         [k + 3 for k in range(8)], relative(mp.log1p), 24, [(1, 1), (2, mpf(-1) / 2)])
    s_high = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.00001")
    f, low, high = even(lambda s: 2 * mp.atanh(s) / s, s_high)
    poly("kLogF64", "log((1 + s)/(1 - s)) = 2s + s z P(z), z = s^2, |s| <= 3 - sqrt(8)", f, low, high,
         [k + 1 for k in range(8)], relative(f), 53, [(0, 2)])

    f, low, high = even(lambda s: 2 * mp.atanh(s) / s / mp.log(2), s_high)
    poly("kPowLogF32", "log2((1 + s)/(1 - s)) = s P(z), z = s^2, |s| <= 3 - sqrt(8), in f64", f, low, high,
         range(5), relative(f), 53)
    poly("kPowExpF32", "2^r = P(r), |r| <= 1/2, in f64", exp2, mpf("-0.5"), mpf("0.5"),
         range(8), relative(exp2), 53)
    f, low, high = even(lambda s: (mp.atanh(s) / s - 1 - s**2 / 3) / s**4, s_high)
    poly("kPowLogF64", "atanh(s) = s + s z/3 + s z^2 P(z), z = s^2, |s| <= 3 - sqrt(8)", f, low, high,
         range(8), relative(f), 53)

    for bits, tag, k, top, count in ((24, "F32", 2, 11, 11), (53, "F64", 4, 28, 23)):
        x_of = lambda q: k * (1 + q) / (1 - q)
        f = lambda q: (1 + 2 * x_of(q)) * mp.exp(x_of(q) ** 2) * mp.erfc(x_of(q))
        poly("kErfcx" + tag, f"(1 + 2x) exp(x^2) erfc(x) = P(q), q = (x - {k})/(x + {k}), 0 <= x <= {top}", f,
             -1, mpf(top - k) / (top + k), range(count), relative(f), bits)
    for name, bits, what, w_of, low, high, count in (
        ("kErfinvF32", 24, "t = w - 5/2, w <= 5", lambda t: t + mpf(5) / 2, -2.5, 2.5, 9),
        ("kErfinvTailF32", 24, "t = sqrt(w) - 3, 5 <= w <= 17", lambda t: (t + 3) ** 2, mp.sqrt(5) - 3, 1.2, 9),
        ("kErfinvF64", 53, "t = w - 25/8, w <= 25/4", lambda t: t + mpf(25) / 8, -3.125, 3.125, 22),
        ("kErfinvMiddleF64", 53, "t = sqrt(w) - 13/4, 25/4 <= w <= 16", lambda t: (t + mpf(13) / 4) ** 2, -0.75, 0.75, 18),
        ("kErfinvTailF64", 53, "t = sqrt(w) - 5, 16 <= w <= 37", lambda t: (t + 5) ** 2, -1, mpf("1.1"), 17),
    ):
        f = lambda t: erfinv_ratio(w_of(t))
        poly(name, f"erfinv(x) = x P(t), w = -log(1 - x^2), {what}", f, low, high, range(count), relative(f), bits)
    f = lambda t: mp.loggamma(2 + t) / t
    for bits, tag, count in ((24, "F32", 9), (53, "F64", 19)):
        poly("kLgamma" + tag, "log(gamma(2 + t)) = t P(t), |t| <= 1/2", f, mpf("-0.5"), mpf("0.5"), range(count),
             relative(f), bits)

    pieces("kTanhPieces", "tanh(x), 0 <= x <= 9.2, by bits 21 … 24 of 1 + 1.62 x: centres, then powers of x - centre",
           mp.tanh, mp.atanh, 1.62, 9.2, 6, 1)
    pieces("kErfPieces", "erf(x), 0 <= x <= 4, likewise of 1 + 3.7 x; the first piece, at 12, is erf(x) - x",
           mp.erf, mp.erfinv, 3.7, 4, 6, 2 / mp.sqrt(mp.pi))

    def pair(name, value, bits, what, parts=2):
        show(name, split(value, bits, parts), f"{what}, in {parts} parts")

    for bits, tag in ((24, "F32"), (53, "F64")):
        pair("kLn2" + tag, mp.log(2), bits, "ln 2")
        pair("kHalfPi" + tag, mp.pi / 2, bits, "pi/2", 3)
    pair("kTwoOverLn2", 2 / mp.log(2), 53, "2 / ln 2")
    pair("kThird", mpf(1) / 3, 53, "1/3")

    # 2/pi less what is a multiple of 4 once an x of 24 bits with x >= 2^start is multiplied in.
    starts = (46, 67, 88, 108)
    rest = [2 / mp.pi] + [2 / mp.pi - mp.ldexp(mp.floor(mp.ldexp(2 / mp.pi, a - 25)), 25 - a) for a in starts]
    parts = [split(value, 53, 2) for value in rest]
    show("kTwoOverPiStartsF32", [mp.ldexp(1, a) for a in starts], "where the other windows of 2/pi begin")
    show("kTwoOverPiHighF32", [p[0] for p in parts], "2/pi modulo 4/ulp(x), high part, for each range of x")
    show("kTwoOverPiLowF32", [p[1] for p in parts], "and the low part")

    mp.prec = 1400
    words = int(mp.floor(mp.ldexp(2 / mp.pi, 19 * 64 - 34)))
    print("// 2/pi as a fixed-point number of 19 words; the first bit stands for 2^33.")
    print("inline constexpr std::uint64_t kTwoOverPiWords[19] = {")
    for i in range(0, 19, 4):
        row = [f"0x{(words >> (64 * (18 - j))) & (2**64 - 1):016x}," for j in range(i, min(i + 4, 19))]
        print("    " + " ".join(row))
    print("};\n\n}  // namespace weft::kernel")


main()
