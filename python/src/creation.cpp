// python/src/creation.cpp: tensors from data, from nothing and from chance.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/creation.h>
#include <weft/random.h>
#include <weft/selection.h>

namespace weft::python {

namespace {

// weft.Generator is a class in Python over this one. It has the core by a pointer of its own: a captured function keeps that alive,
// not an object of Python's, whose end would need the GIL.
struct GeneratorHandle {
    std::shared_ptr<Generator> core = std::make_shared<Generator>();
};

GeneratorHandle& generator_in(nb::handle object, const Site& site) {
    if (!nb::isinstance<GeneratorHandle>(object)) wrong_type(site, "a weft.Generator", object.ptr());
    return *nb::inst_ptr<GeneratorHandle>(object);
}

// Draws from the argument `generator`; None: from the global one.
class Drawing {
public:
    Drawing(nb::handle object, const char* function)
        : scope_(object.is_none() ? nullptr : generator_in(object, {function, "generator"}).core) {}

private:
    GeneratorScope scope_;
};

RandomState state_from(nb::handle object, const char* function) {
    const Dims parts = to_dims(object.ptr(), {function, "new_state"});
    if (parts.size() != 2)
        raise(PyExc_ValueError,
              (std::string(function) + "(): argument 'new_state' must be a pair (seed, counter)").c_str());
    return {static_cast<std::uint64_t>(parts[0]), static_cast<std::uint64_t>(parts[1])};
}

Tensor leaf_if(Tensor tensor, bool requires_grad) {
    if (requires_grad) tensor.set_requires_grad();
    return tensor;
}

Scalar number(nb::handle object, const char* function, const char* parameter) {
    return Converter<Scalar>(object.ptr(), {function, parameter}).get();
}

void bind_copies(nb::module_& m) {
    function(m, "tensor", "data, *, dtype=None, device=None, requires_grad=False",
             "A copy of numbers in nested lists, of an array or of a tensor.",
             [](nb::handle data, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(tensor_from(data.ptr(), dtype, {"tensor", "data"}), requires_grad);
             });
    function(m, "as_tensor", "data, dtype=None, device=None",
             "A tensor over the same memory where that is possible, else a copy.",
             [](nb::handle data, std::optional<DType> dtype, Device) {
                 if (is_tensor(data.ptr())) {
                     const Tensor& tensor = tensor_in(data.ptr());
                     return dtype && *dtype != tensor.dtype() ? tensor.to(*dtype) : tensor;
                 }
                 if (!has_buffer(data.ptr())) return tensor_from(data.ptr(), dtype, {"as_tensor", "data"});
                 const Tensor shared = tensor_from_buffer(data.ptr(), false, {"as_tensor", "data"});
                 return dtype && *dtype != shared.dtype() ? shared.to(*dtype) : shared;
             });
    function(m, "from_numpy", "ndarray",
             "A tensor over an array's memory. It is read when the graph runs, so what is written there before then is "
             "seen.",
             [](nb::handle array) {
                 if (!has_buffer(array.ptr())) wrong_type({"from_numpy", "ndarray"}, "a NumPy array", array.ptr());
                 return tensor_from_buffer(array.ptr(), false, {"from_numpy", "ndarray"});
             });
}

void bind_constants(nb::module_& m) {
    function(m, "zeros", "*size, dtype=None, device=None, requires_grad=False", "Zeros: zeros(2, 3) or zeros((2, 3)).",
             [](const Dims& size, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "empty", "*size, dtype=None, device=None, requires_grad=False", "Zeros; nothing is ever uninitialised.",
             [](const Dims& size, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "ones", "*size, dtype=None, device=None, requires_grad=False", "Ones: ones(2, 3) or ones((2, 3)).",
             [](const Dims& size, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(ones(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "full", "size, fill_value, *, dtype=None, device=None, requires_grad=False",
             "Every element is `fill_value`.",
             [](const Dims& size, Scalar value, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(full(size, value, dtype), requires_grad);
             });
    function(m, "zeros_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Zeros of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros_like(x, dtype), requires_grad);
             });
    function(m, "empty_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Zeros of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros_like(x, dtype), requires_grad);
             });
    function(m, "ones_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Ones of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(ones_like(x, dtype), requires_grad);
             });
    function(m, "full_like", "input, fill_value, *, dtype=None, device=None, requires_grad=False",
             "`fill_value` everywhere, of a tensor's shape and type.",
             [](const Tensor& x, Scalar value, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(full_like(x, value, dtype), requires_grad);
             });
    function(m, "arange", "start=0, end=None, step=1, *, dtype=None, device=None, requires_grad=False",
             "start, start + step, … below `end`; arange(5) starts at 0.",
             [](nb::handle start, nb::handle end, Scalar step, std::optional<DType> dtype, Device, bool requires_grad) {
                 const Scalar first = number(start, "arange", "start");
                 if (end.is_none()) return leaf_if(arange(0, first, step, dtype), requires_grad);
                 return leaf_if(arange(first, number(end, "arange", "end"), step, dtype), requires_grad);
             });
    function(m, "linspace", "start, end, steps, *, dtype=None, device=None, requires_grad=False",
             "`steps` numbers at equal distances, both ends included.",
             [](double start, double end, std::int64_t steps, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(linspace(start, end, steps, dtype.value_or(f32)), requires_grad);
             });
    function(m, "eye", "n, m=None, *, dtype=None, device=None, requires_grad=False",
             "Ones on the diagonal, zeros elsewhere.",
             [](std::int64_t n, std::optional<std::int64_t> columns, std::optional<DType> dtype, Device,
                bool requires_grad) { return leaf_if(eye(n, columns, dtype.value_or(f32)), requires_grad); });
}

void bind_random(nb::module_& m) {
    function(m, "manual_seed", "seed", "Starts the random numbers over: the same calls then give the same numbers.",
             [](std::int64_t seed) { manual_seed(static_cast<std::uint64_t>(seed)); });
    function(m, "initial_seed", "", "The seed that the random numbers started from.",
             [] { return static_cast<std::int64_t>(random_state().seed); });
    function(m, "get_rng_state", "", "Where the random numbers stand, as (seed, counter).", [] {
        const RandomState state = random_state();
        return nb::object(nb::make_tuple(state.seed, state.counter));
    });
    function(m, "set_rng_state", "new_state", "Continues from a state of get_rng_state().",
             [](nb::handle state) { set_random_state(state_from(state, "set_rng_state")); });
    nb::class_<GeneratorHandle> generator(m, "_Generator", "What weft.Generator is made of.");
    generator.def(nb::init<>());
    method(generator, "get_state", "", "Where this generator stands, as (seed, counter).", [](nb::handle self) {
        const RandomState state = generator_in(self, {"get_state", "self"}).core->state();
        return nb::object(nb::make_tuple(state.seed, state.counter));
    });
    method(generator, "set_state", "new_state", "Continues from a state of get_state().",
           [](nb::handle self, nb::handle state) {
               generator_in(self, {"set_state", "self"}).core->set_state(state_from(state, "set_state"));
           });
    function(m, "rand", "*size, generator=None, dtype=None, device=None, requires_grad=False", "Uniform in [0, 1).",
             [](const Dims& size, nb::handle generator, std::optional<DType> dtype, Device, bool requires_grad) {
                 const Drawing drawing(generator, "rand");
                 return leaf_if(rand(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "randn", "*size, generator=None, dtype=None, device=None, requires_grad=False",
             "Normal, with mean 0 and variance 1.",
             [](const Dims& size, nb::handle generator, std::optional<DType> dtype, Device, bool requires_grad) {
                 const Drawing drawing(generator, "randn");
                 return leaf_if(randn(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "rand_like", "input, *, dtype=None", "Uniform in [0, 1), of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype) { return rand(x.shape(), dtype.value_or(x.dtype())); });
    function(m, "randn_like", "input, *, dtype=None", "Normal, of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype) { return randn(x.shape(), dtype.value_or(x.dtype())); });
    function(m, "randperm", "n, *, generator=None, dtype=None, device=None",
             "The numbers 0 … n - 1 in random order. Runs the graph.",
             [](std::int64_t n, nb::handle generator, std::optional<DType> dtype, Device) {
                 const Drawing drawing(generator, "randperm");
                 const Tensor result = without_gil([&] { return randperm(n); });
                 return dtype && *dtype != i64 ? result.to(*dtype) : result;
             });
    function(m, "randint", "low, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=False",
             "Integers in [low, high): randint(10, (3,)) or randint(0, 10, (3,)).",
             [](std::int64_t low, nb::handle high, nb::handle size, nb::handle generator, std::optional<DType> dtype,
                Device, bool requires_grad) {
                 const bool from_zero = size.is_none() || high.is_none();  // randint(10, (3,)), randint(10, size=(3,))
                 const nb::handle shape = size.is_none() ? high : size;
                 if (shape.is_none()) raise(PyExc_TypeError, "randint() needs the argument 'size'");
                 const Drawing drawing(generator, "randint");
                 const std::int64_t most = from_zero ? low : to_int(high.ptr(), {"randint", "high"});
                 return leaf_if(
                     randint(from_zero ? 0 : low, most, to_dims(shape.ptr(), {"randint", "size"}), dtype.value_or(i64)),
                     requires_grad);
             });
}

}  // namespace

void bind_creation(nb::module_& m, nb::handle tensor) {
    bind_copies(m);
    bind_constants(m);
    bind_random(m);
    both(m, tensor, "bernoulli", "*, generator=None", "1 with the probability that stands in the tensor, else 0.",
         [](const Tensor& x, nb::handle generator) {
             const Drawing drawing(generator, "bernoulli");
             return bernoulli(x);
         });
    both(m, tensor, "tril", "diagonal=0", "The lower triangle of the last two axes; the rest is 0.",
         [](const Tensor& x, std::int64_t diagonal) { return tril(x, diagonal); });
    both(m, tensor, "triu", "diagonal=0", "The upper triangle of the last two axes; the rest is 0.",
         [](const Tensor& x, std::int64_t diagonal) { return triu(x, diagonal); });
    method(tensor, "new_tensor", "data, *, dtype=None", "weft.tensor(data) of this tensor's type.",
           [](const Tensor& self, nb::handle data, std::optional<DType> dtype) {
               return tensor_from(data.ptr(), dtype.value_or(self.dtype()), {"new_tensor", "data"});
           });
    method(tensor, "new_zeros", "*size, dtype=None", "Zeros of this tensor's type.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype) {
               return zeros(size, dtype.value_or(self.dtype()));
           });
    method(tensor, "new_ones", "*size, dtype=None", "Ones of this tensor's type.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype) {
               return ones(size, dtype.value_or(self.dtype()));
           });
    method(tensor, "new_full", "size, fill_value, *, dtype=None", "`fill_value` everywhere, of this tensor's type.",
           [](const Tensor& self, const Dims& size, Scalar value, std::optional<DType> dtype) {
               return full(size, value, dtype.value_or(self.dtype()));
           });
}

}  // namespace weft::python
