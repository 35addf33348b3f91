// tensor/check.cpp: argument checks and their messages, and type promotion, shared by all op functions.
#include "tensor/check.h"

#include "core/word.h"
#include "ir/build.h"
#include "tensor/cell.h"

#include <weft/debug.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace weft {

std::string to_string(const Scalar& scalar) {
    if (scalar.kind() == Scalar::Kind::Float) return word_to_string(DType::F64, to_word(scalar.as_double()));
    const bool huge = scalar.as_double() > 0 && scalar.as_int() < 0;  // beyond the int64 range
    return word_to_string(huge ? DType::U64 : scalar.dtype(), to_word(scalar.as_int()));
}

bool fits(const Scalar& scalar, DType dtype) {
    if (!is_int(dtype) || scalar.kind() != Scalar::Kind::Int) return true;
    if (size_of(dtype) == 8) return dtype == DType::U64 || scalar.as_double() < 0 || scalar.as_int() >= 0;
    const int bits = static_cast<int>(8 * size_of(dtype)) - !is_unsigned(dtype);
    const std::int64_t end = std::int64_t{1} << bits;
    const bool huge = scalar.as_double() > 0 && scalar.as_int() < 0;
    return !huge && scalar.as_int() < end && scalar.as_int() >= -end;
}

Checker::Argument::Argument(std::string_view name, const Operand& operand) : name(name), value(operand.scalar()) {
    if (!operand.is_scalar()) value = &operand.tensor();
}

Checker::Checker(std::string_view function, std::initializer_list<Argument> arguments)
    : function_(function), arguments_(arguments), origin_(function) {
    for (const Argument& argument : arguments_) {
        if (const auto* tensor = std::get_if<const Tensor*>(&argument.value))
            value((*tensor)->defined() || argument.optional, argument.name, " is undefined");
        if (const auto* tensors = std::get_if<std::span<const Tensor>>(&argument.value))
            for (const Tensor& tensor : *tensors) value(tensor.defined(), "one of ", argument.name, " is undefined");
    }
    if (other_devices()) make_constants_there();
}

// Where the operands are, which must be one place; a number on the CPU goes anywhere.
void Checker::make_constants_there() {
    const std::lock_guard lock(ir::graph_lock());
    std::optional<Device> there;
    const auto look_at = [&](const Tensor& operand) {
        if (!operand.defined()) return;
        const ir::Node& facts = facts_of(operand);
        const Device here = Device::of_number(facts.device);
        if (facts.shape.empty() && here == cpu) return;
        if (!there) there = here;
        if (here != *there)
            value(false, "one operand is on ", there->name(), " and another on ", here.name(),
                  "; move one of them with to()");
    };
    for (const Argument& argument : arguments_) {
        if (const auto* tensor = std::get_if<const Tensor*>(&argument.value); tensor && *tensor) look_at(**tensor);
        if (const auto* tensors = std::get_if<std::span<const Tensor>>(&argument.value))
            for (const Tensor& tensor : *tensors) look_at(tensor);
    }
    if (there) there_.emplace(*there);
}

namespace {

std::string described(const Tensor& tensor) {
    return tensor.defined() ? str(tensor.dtype(), tensor.shape()) : "undefined";
}

struct Describe {
    std::string operator()(const Tensor* tensor) const { return described(*tensor); }
    std::string operator()(const Dims* dims) const { return str(*dims); }
    std::string operator()(DType dtype) const { return str(dtype); }
    std::string operator()(const Scalar& scalar) const { return to_string(scalar); }
    std::string operator()(std::span<const Tensor> tensors) const {
        constexpr std::size_t kShown = 4;
        std::string text = "[";
        for (std::size_t i = 0; i < std::min(kShown, tensors.size()); ++i)
            text += str(i ? ", " : "", described(tensors[i]));
        return text + (tensors.size() > kShown ? str(", … ", tensors.size(), " tensors]") : "]");
    }
};

}  // namespace

std::string Checker::call() const {
    std::string text = str(function_, "(");
    for (const Argument& argument : arguments_) {
        const auto* tensor = std::get_if<const Tensor*>(&argument.value);
        if (tensor && !(*tensor)->defined() && argument.optional) continue;
        text += str(text.ends_with('(') ? "" : ", ", argument.name, ": ");
        text += std::visit(Describe(), argument.value);
    }
    return text + ")";
}

int Checker::axis(std::int64_t axis, int rank) const {
    index(rank > 0, "axis ", axis, " of a scalar, which has no axes");
    index(axis >= -rank && axis < rank, "axis ", axis, " is out of range [", -rank, ", ", rank, ")");
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims Checker::axes(const Dims& axes, int rank) const {
    Dims result;
    if (axes.empty())
        for (int d = 0; d < rank; ++d) result.push_back(d);
    for (const std::int64_t given : axes) {
        // A scalar may be reduced over its "last" axis, as in PyTorch: there is nothing to do.
        if (rank == 0 && (given == 0 || given == -1)) continue;
        const int d = axis(given, rank);
        value(std::find(result.begin(), result.end(), d) == result.end(), "axis ", given, " is given twice");
        result.push_back(d);
    }
    std::sort(result.begin(), result.end());
    return result;
}

void Checker::table(double count) const {
    const auto limit = static_cast<double>(memory_limit());
    if (count * 8 > limit)
        throw MemoryError(
            message(str("cannot allocate a table of ", count, " numbers, the limit is ", memory_limit(), " bytes")));
}

Shape Checker::broadcast(const Shape& a, const Shape& b) const {
    const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    Shape result = longer;
    for (std::size_t back = 1; back <= shorter.size(); ++back) {
        std::int64_t& size = result[longer.size() - back];
        const std::int64_t other = shorter[shorter.size() - back];
        that(size == other || size == 1 || other == 1, "sizes ", a[a.size() - back], " and ", b[b.size() - back],
             " at axis -", back, " do not broadcast: they must be equal, or one of them 1");
        if (size == 1) size = other;
    }
    return result;
}

void Checker::sizes(const Shape& shape) const {
    for (const std::int64_t size : shape) value(size >= 0, "size ", size, " is negative");
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
        value(size == 0 || !__builtin_mul_overflow(count, size, &count), "the number of elements does not fit 63 bits");
    value(bytes_fit(shape), "the number of bytes does not fit 63 bits");
}

Shape shape_of(const Operand& operand) { return operand.is_scalar() ? Shape() : operand.tensor().shape(); }

// ---- promotion -------------------------------------------------------------------------------------------------------

namespace {

std::optional<DType> join(std::optional<DType> a, DType b) { return a ? promote(*a, b) : b; }

// `strong` decides; `weak` only raises the kind.
std::optional<DType> raise_kind(std::optional<DType> strong, std::optional<DType> weak) {
    if (!strong || !weak) return strong ? strong : weak;
    const bool raises = is_bool(*strong) ? !is_bool(*weak) : !is_float(*strong) && is_float(*weak);
    return raises ? promote(*strong, *weak) : strong;
}

}  // namespace

DType promote(std::initializer_list<Operand> operands) {
    std::optional<DType> dimensioned, zero_d, numbers;
    const std::lock_guard lock(ir::graph_lock());
    for (const Operand& operand : operands) {
        if (operand.is_scalar()) {
            numbers = join(numbers, operand.scalar().dtype());
            continue;
        }
        const ir::Node& tensor = facts_of(operand.tensor());
        std::optional<DType>& kind = tensor.shape.empty() ? zero_d : dimensioned;
        kind = join(kind, tensor.dtype);
    }
    return raise_kind(dimensioned, raise_kind(zero_d, numbers)).value();
}

ir::NodeRef as_node(const Operand& operand, DType dtype, const Checker& check) {
    if (!operand.is_scalar()) return ir::cast(node_of(operand.tensor()), dtype);
    if (!fits(operand.scalar(), dtype)) check.value(false, to_string(operand.scalar()), " does not fit ", dtype);
    return ir::constant(dtype, operand.scalar());
}

}  // namespace weft
