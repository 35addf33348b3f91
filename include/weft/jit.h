// weft/jit.h: traces a function of tensors. The first call with a signature runs it and keeps its plan; later calls
// only bind memory and launch kernels: nothing is built, hashed or looked up.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace WEFT_API weft {

// A traced function of any number of tensors.
//
// - Tensors that the function closes over (parameters, an optimiser's state, running statistics) are read at each
//   call, and those that it writes are written, gradients included. Random numbers and learning rates are drawn anew.
//   Everything else that the function does, in C++ or Python, happens only while it is traced, and numbers that it
//   takes from there are fixed.
// - Inputs of other shapes, dtypes or strides are traced anew, as is a change of which tensors require or have a
//   gradient. A slice at another place is not.
// - The function cannot read a value: item(), realize(), bool and printing raise ValueError. An optimiser's step()
//   may stand in it.
// - Inputs and outputs are values: no gradient passes through them. Outputs are new tensors, except for an input or a
//   closed-over tensor that is handed back itself.
// - If a call raises, every tensor is as it was before.
class Jit {
public:
    using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
    explicit Jit(Function function);

    std::vector<Tensor> operator()(std::span<const Tensor> inputs) const;
    std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs) const {
        return (*this)(std::span<const Tensor>(inputs.begin(), inputs.size()));
    }

    std::int64_t traces() const;  // how often the function itself was called

private:
    struct State;
    std::shared_ptr<State> state_;  // copies share what they have traced
};

namespace detail {

template <class Result>
std::vector<Tensor> to_tensors(Result&& result) {
    using R = std::remove_cvref_t<Result>;
    if constexpr (std::is_same_v<R, Tensor>) return {std::forward<Result>(result)};
    else if constexpr (std::is_same_v<R, std::vector<Tensor>>) return std::forward<Result>(result);
    else
        return std::apply([](const auto&... each) { return std::vector<Tensor>{each...}; },
                          result);  // tuple, pair, array
}

template <class Result>
Result from_tensors(std::vector<Tensor> tensors) {
    if constexpr (std::is_same_v<Result, Tensor>) return tensors[0];
    else if constexpr (std::is_same_v<Result, std::vector<Tensor>>) return tensors;
    else {
        Result result;
        std::apply(
            [&](auto&... each) {
                std::size_t i = 0;
                ((each = tensors[i++]), ...);
            },
            result);
        return result;
    }
}

template <class Result, class... Inputs>
auto jit(std::function<Result(Inputs...)> function) {
    static_assert((std::is_same_v<std::remove_cvref_t<Inputs>, Tensor> && ...), "jit takes functions of tensors");
    const Jit traced([function = std::move(function)](std::span<const Tensor> inputs) {
        return [&]<std::size_t... I>(std::index_sequence<I...>)->std::vector<Tensor> {
            (void)inputs;  // there may be none
            if constexpr (std::is_void_v<Result>) return function(Tensor(inputs[I])...), std::vector<Tensor>{};
            else return to_tensors(function(Tensor(inputs[I])...));
        }
        (std::index_sequence_for<Inputs...>());
    });
    return [traced](std::type_identity_t<const std::remove_cvref_t<Inputs>&>... inputs) -> Result {
        if constexpr (std::is_void_v<Result>) traced({inputs...});
        else return from_tensors<Result>(traced({inputs...}));
    };
}

}  // namespace detail

// The same for a function with a fixed number of tensors, that returns a tensor, a vector or tuple of tensors, or
// nothing.
//
//     auto step = jit([&](Tensor x, Tensor labels) {
//         adam.zero_grad();
//         const Tensor loss = cross_entropy(net(x), labels);
//         loss.backward();
//         adam.step();
//         return loss;
//     });
//     for (…) std::cout << step(images.narrow(0, i, 128), labels.narrow(0, i, 128));
template <class F>
auto jit(F function) {
    return detail::jit(std::function(std::move(function)));
}

}  // namespace weft
