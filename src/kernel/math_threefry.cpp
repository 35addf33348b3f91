// kernel/math_threefry.cpp: rounds of additions, rotations and exclusive ors on words of 32 bits; every fourth round takes in the key.
#include "core/threefry.h"
#include "kernel/math.h"
#include "kernel/math_build.h"

namespace weft::kernel {
namespace {

Value word_of(const Value& x) { return {x.kernel, x.kernel->make(ir::Op::Cast, DType::U32, {x.node})}; }
Value rotated(const Value& x, int by) { return x << by | x >> (32 - by); }

}  // namespace

NodeRef expand_threefry(const Kernel& kernel, ir::Op op, const NodeRef& low, const NodeRef& high, const NodeRef& key) {
    const Value whole{&kernel, key}, first = word_of(whole), second = word_of(whole >> 32);
    const Value keys[3] = {first, second, first ^ second ^ std::int64_t{kThreefryParity}};
    Value x = Value{&kernel, low} + keys[0], y = Value{&kernel, high} + keys[1];
    for (int round = 0; round < kThreefryRounds; ++round) {
        x = x + y;
        y = rotated(y, kThreefryRotations[round % 8]) ^ x;
        if (round % 4 != 3) continue;
        const int injection = round / 4 + 1;
        x = x + keys[injection % 3];
        y = y + keys[(injection + 1) % 3] + injection;
    }
    return op == ir::Op::ThreefryX ? x.node : y.node;
}

}  // namespace weft::kernel
