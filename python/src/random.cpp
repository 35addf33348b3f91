// python/src/random.cpp: generators, tensors from chance, and dropout.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/ops.h>

#include <limits>

namespace weft::python {

namespace {

// weft.Generator is a class in Python over this one. It has the core by a pointer of its own: a traced function keeps that alive,
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

void bind_uniform_and_normal(nb::module_& m) {
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
             [](const Dims& size, nb::handle generator, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 const Drawing drawing(generator, "rand");
                 return leaf_if(rand(size, dtype.value_or(default_dtype())), requires_grad);
             });
    function(m, "randn", "*size, generator=None, dtype=None, device=None, requires_grad=False",
             "Normal, with mean 0 and variance 1.",
             [](const Dims& size, nb::handle generator, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 const Drawing drawing(generator, "randn");
                 return leaf_if(randn(size, dtype.value_or(default_dtype())), requires_grad);
             });
    function(m, "rand_like", "input, *, generator=None, dtype=None, device=None, requires_grad=False",
             "Uniform in [0, 1), of a tensor's shape and type.",
             [](const Tensor& x, nb::handle generator, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const DeviceScope there(on.or_that_of(x));
                 const Drawing drawing(generator, "rand_like");
                 return leaf_if(rand(x.shape(), dtype.value_or(x.dtype())), requires_grad);
             });
    function(m, "randn_like", "input, *, generator=None, dtype=None, device=None, requires_grad=False",
             "Normal, of a tensor's shape and type.",
             [](const Tensor& x, nb::handle generator, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const DeviceScope there(on.or_that_of(x));
                 const Drawing drawing(generator, "randn_like");
                 return leaf_if(randn(x.shape(), dtype.value_or(x.dtype())), requires_grad);
             });
    function(m, "randint_like", "input, low, high=None, *, generator=None, dtype=None, device=None",
             "Integers in [low, high), of a tensor's shape and type; randint_like(x, 10) starts at 0.",
             [](const Tensor& x, std::int64_t low, std::optional<std::int64_t> high, nb::handle generator,
                std::optional<DType> dtype, OnDevice on) {
                 const DeviceScope there(on.or_that_of(x));
                 const Drawing drawing(generator, "randint_like");
                 const DType type = dtype.value_or(x.dtype());
                 const Tensor drawn = randint(high ? low : 0, high.value_or(low), x.shape(), is_int(type) ? type : i64);
                 return is_int(type) ? drawn : drawn.to(type);
             });
    function(m, "randperm", "n, *, generator=None, dtype=None, device=None",
             "The numbers 0 … n - 1 in random order. Runs the graph.",
             [](std::int64_t n, nb::handle generator, std::optional<DType> dtype, OnDevice) {
                 const Drawing drawing(generator, "randperm");
                 const Tensor result = without_gil([&] { return randperm(n); });
                 return dtype && *dtype != i64 ? result.to(*dtype) : result;
             });
    function(m, "randint",
             "low=None, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=False",
             "Integers in [low, high): randint(10, (3,)) or randint(0, 10, (3,)).",
             [](nb::handle low, nb::handle high, nb::handle size, nb::handle generator, std::optional<DType> dtype,
                OnDevice, bool requires_grad) {
                 if (low.is_none() && high.is_none()) raise(PyExc_TypeError, "randint() needs the argument 'high'");
                 const bool alone = !low.is_none() && (size.is_none() || high.is_none());  // randint(10, (3,))
                 const nb::handle shape = size.is_none() ? high : size, most = alone ? low : high;
                 if (shape.is_none()) raise(PyExc_TypeError, "randint() needs the argument 'size'");
                 const Drawing drawing(generator, "randint");
                 const std::int64_t first = alone || low.is_none() ? 0 : to_int(low.ptr(), {"randint", "low"});
                 return leaf_if(randint(first, to_int(most.ptr(), {"randint", "high"}),
                                        to_dims(shape.ptr(), {"randint", "size"}), dtype.value_or(i64)),
                                requires_grad);
             });
}

// normal(mean, std) with tensors, normal(mean, std, size) with numbers.
Tensor normal_of(const Operand& mean, const Operand& deviation, nb::handle size, std::optional<DType> dtype) {
    if (size.is_none()) {
        if (mean.is_scalar() && deviation.is_scalar())
            raise(PyExc_TypeError, "normal() needs the argument 'size' when 'mean' and 'std' are numbers");
        return normal(mean, deviation);
    }
    if (!mean.is_scalar() || !deviation.is_scalar())
        raise(PyExc_TypeError, "normal(): with the argument 'size', 'mean' and 'std' must be numbers");
    return normal(to_dims(size.ptr(), {"normal", "size"}), mean.scalar().as_double(), deviation.scalar().as_double(),
                  dtype.value_or(default_dtype()));
}

void bind_distributions(nb::module_& m, nb::handle t) {
    both(m, t, "bernoulli", "p=None, *, generator=None",
         "1 with the probability that stands in the tensor (or is p), else 0.",
         [](const Tensor& x, std::optional<double> p, nb::handle generator) {
             const Drawing drawing(generator, "bernoulli");
             return bernoulli(p ? full(x.shape(), *p, x.dtype()) : x);
         });
    function(m, "normal",
             "mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False",
             "Normal, with a mean and a standard deviation for each element, or of this size.",
             [](const Operand& mean, const Operand& deviation, nb::handle size, nb::handle generator,
                std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 const Drawing drawing(generator, "normal");
                 return leaf_if(normal_of(mean, deviation, size, dtype), requires_grad);
             });
    function(m, "truncated_normal",
             "size, mean=0.0, std=1.0, a=-2.0, b=2.0, *, generator=None, dtype=None, device=None, requires_grad=False",
             "Normal, but none outside of [a, b].",
             [](const Dims& size, double mean, double deviation, double a, double b, nb::handle generator,
                std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 const Drawing drawing(generator, "truncated_normal");
                 return leaf_if(truncated_normal(size, mean, deviation, a, b, dtype.value_or(f32)), requires_grad);
             });
    function(m, "_standard_gamma", "input, *, generator=None", "Of the gamma distribution of each shape, with rate 1.",
             [](const Tensor& shape, nb::handle generator) {
                 const Drawing drawing(generator, "_standard_gamma");
                 return standard_gamma(shape);
             });
    function(m, "_log_standard_gamma", "input, *, generator=None",
             "The logarithm of a sample of the gamma distribution, in float64.",
             [](const Tensor& shape, nb::handle generator) {
                 const Drawing drawing(generator, "_log_standard_gamma");
                 return log_standard_gamma(shape);
             });
    both(m, t, "multinomial", "num_samples, replacement=False, *, generator=None",
         "Positions drawn with probabilities proportional to the weights in the tensor. Reads them.",
         [](const Tensor& x, std::int64_t count, bool replacement, nb::handle generator) {
             const Drawing drawing(generator, "multinomial");
             return without_gil([&] { return multinomial(x, count, replacement); });
         });
    function(m, "poisson", "input, generator=None",
             "How often something happens that happens `input` times on average.",
             [](const Tensor& x, nb::handle generator) {
                 const Drawing drawing(generator, "poisson");
                 return poisson(x);
             });
}

// Fills the tensor with what `draw` makes of its shape, in its own type.
template <class F>
void fill(nb::handle self, nb::handle generator, const char* name, F draw) {
    const Drawing drawing(generator, name);
    Tensor& x = *nb::inst_ptr<Tensor>(self);
    x.assign(draw(x.shape(), x.dtype()));
}

DType wide(DType dtype) { return dtype == f64 ? f64 : f32; }

void bind_filling(nb::handle t) {
    method(t, "uniform_", "from_=0.0, to=1.0, *, generator=None", "Fills with uniform numbers in [from_, to).",
           [](nb::handle self, double from, double to, nb::handle generator) {
               fill(self, generator, "uniform_", [&](const Shape& s, DType d) { return uniform(s, from, to, d); });
               return nb::borrow(self);
           });
    method(t, "normal_", "mean=0.0, std=1.0, *, generator=None", "Fills with normal numbers.",
           [](nb::handle self, double mean, double deviation, nb::handle generator) {
               fill(self, generator, "normal_", [&](const Shape& s, DType d) { return normal(s, mean, deviation, d); });
               return nb::borrow(self);
           });
    method(t, "log_normal_", "mean=1.0, std=2.0, *, generator=None", "Fills with exp() of normal numbers.",
           [](nb::handle self, double mean, double deviation, nb::handle generator) {
               fill(self, generator, "log_normal_",
                    [&](const Shape& s, DType d) { return log_normal(s, mean, deviation, d); });
               return nb::borrow(self);
           });
    method(t, "exponential_", "lambd=1.0, *, generator=None", "Fills with exponential numbers of this rate.",
           [](nb::handle self, double rate, nb::handle generator) {
               fill(self, generator, "exponential_", [&](const Shape& s, DType d) { return exponential(s, rate, d); });
               return nb::borrow(self);
           });
    method(t, "cauchy_", "median=0.0, sigma=1.0, *, generator=None", "Fills with numbers of the Cauchy distribution.",
           [](nb::handle self, double median, double scale, nb::handle generator) {
               fill(self, generator, "cauchy_", [&](const Shape& s, DType d) { return cauchy(s, median, scale, d); });
               return nb::borrow(self);
           });
    method(t, "geometric_", "p, *, generator=None", "Fills with the number of tries up to the first success.",
           [](nb::handle self, double p, nb::handle generator) {
               fill(self, generator, "geometric_", [&](const Shape& s, DType d) { return geometric(s, p, d); });
               return nb::borrow(self);
           });
    method(t, "bernoulli_", "p=0.5, *, generator=None", "Fills with 1 (with this probability) and 0.",
           [](nb::handle self, const Operand& p, nb::handle generator) {
               fill(self, generator, "bernoulli_", [&](const Shape& s, DType d) {
                   return bernoulli(p.is_scalar() ? full(s, p.scalar(), wide(d)) : broadcast_to(p.tensor(), s));
               });
               return nb::borrow(self);
           });
    method(t, "random_", "from_=0, to=None, *, generator=None",
           "Fills with integers in [from_, to), or below a limit that the type holds exactly.",
           [](nb::handle self, std::int64_t from, std::optional<std::int64_t> to, nb::handle generator) {
               fill(self, generator, "random_", [&](const Shape& s, DType d) {
                   const std::int64_t limit = d == f64           ? INT64_C(1) << 53
                                              : d == f32         ? 1 << 24
                                              : d == DType::F16  ? 1 << 11
                                              : d == DType::BF16 ? 1 << 8
                                              : is_bool(d)       ? 2
                                              : size_of(d) == 8  ? std::numeric_limits<std::int64_t>::max()
                                              : is_signed_int(d) ? INT64_C(1) << (8 * size_of(d) - 1)
                                                                 : INT64_C(1) << (8 * size_of(d));
                   return randint(from, to.value_or(limit), s);
               });
               return nb::borrow(self);
           });
}

void bind_dropout(nb::module_& f) {
    function(f, "dropout", "input, p=0.5, training=True, inplace=False",
             "In training each element is 0 with probability p, and the others are scaled by 1 / (1 - p).",
             [](const Tensor& x, double p, bool training, bool inplace) {
                 return placed(x, dropout(x, p, training), inplace);
             });
    function(f, "dropout1d", "input, p=0.5, training=True, inplace=False", "The same for whole channels of sequences.",
             [](const Tensor& x, double p, bool training, bool inplace) {
                 return placed(x, dropout1d(x, p, training), inplace);
             });
    function(f, "dropout2d", "input, p=0.5, training=True, inplace=False", "The same for whole channels of images.",
             [](const Tensor& x, double p, bool training, bool inplace) {
                 return placed(x, dropout2d(x, p, training), inplace);
             });
    function(f, "dropout3d", "input, p=0.5, training=True, inplace=False", "The same for whole channels of volumes.",
             [](const Tensor& x, double p, bool training, bool inplace) {
                 return placed(x, dropout3d(x, p, training), inplace);
             });
}

}  // namespace

void bind_random(nb::module_& m, nb::module_& f, nb::handle tensor) {
    bind_uniform_and_normal(m);
    bind_distributions(m, tensor);
    bind_filling(tensor);
    bind_dropout(f);
}

}  // namespace weft::python
