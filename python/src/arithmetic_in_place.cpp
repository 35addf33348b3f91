// python/src/arithmetic_in_place.cpp: comparisons, logic, bits and divisions as methods that work in place, and limits from one side.
#include "elementwise.h"
#include "topics.h"

#include <weft/arithmetic.h>

namespace weft::python {

namespace {

void bind_limits(nb::module_& m, nb::handle t) {
    both(m, t, "clamp_min", "min", "No less than `min`.",
         [](const Tensor& x, const Operand& low) { return clamp_min(x, low); });
    method(t, "clamp_min_", "min", "The same, in place.",
           [](InPlace self, const Operand& low) { return stored(self, clamp_min(self.tensor(), low)); });
    both(m, t, "clamp_max", "max", "No more than `max`.",
         [](const Tensor& x, const Operand& high) { return clamp_max(x, high); });
    method(t, "clamp_max_", "max", "The same, in place.",
           [](InPlace self, const Operand& high) { return stored(self, clamp_max(self.tensor(), high)); });
}

void bind_pairs_in_place(nb::handle t) {
    in_place<eq>(t, "eq_");
    in_place<ne>(t, "ne_");
    in_place<lt>(t, "lt_");
    in_place<le>(t, "le_");
    in_place<gt>(t, "gt_");
    in_place<ge>(t, "ge_");
    in_place<logical_and>(t, "logical_and_");
    in_place<logical_or>(t, "logical_or_");
    in_place<logical_xor>(t, "logical_xor_");
    in_place<bitwise_and>(t, "bitwise_and_");
    in_place<bitwise_or>(t, "bitwise_or_");
    in_place<bitwise_xor>(t, "bitwise_xor_");
    in_place<shift_left>(t, "bitwise_left_shift_");
    in_place<shift_right>(t, "bitwise_right_shift_");
    in_place<floor_divide>(t, "floor_divide_");
    in_place<remainder>(t, "remainder_");
    in_place<fmod>(t, "fmod_");
    in_place<pow>(t, "pow_", "exponent");
}

}  // namespace

void bind_arithmetic_in_place(nb::module_& m, nb::handle tensor) {
    bind_limits(m, tensor);
    bind_pairs_in_place(tensor);
}

}  // namespace weft::python
