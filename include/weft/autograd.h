// weft/autograd.h: more about gradients: of several outputs at once, derivatives of one's own, and hooks.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace WEFT_API weft {

// ---- gradients of several outputs ------------------------------------------------------------------------------------

struct BackwardOptions {
    std::span<const Tensor> gradients =
        {};  // one per output, undefined for ones; none at all: outputs have one element each
    bool retain_graph = false;
    bool create_graph = false;            // .grad can be differentiated itself; keeps the graph
    std::span<const Tensor> inputs = {};  // the leaves whose .grad is wanted; none: all of them
};

// Adds d(sum of outputs)/d(leaf) to the .grad of each leaf, in one walk.
//
//     backward({{loss, penalty}});
void backward(std::span<const Tensor> outputs, const BackwardOptions& options = {});

struct GradOptions {
    std::span<const Tensor> gradients =
        {};                     // one per output, undefined for ones; none at all: outputs have one element each
    bool create_graph = false;  // the result can be differentiated itself
    bool allow_unused = false;  // an input that no output depends on gets an undefined tensor, else GradError
};

// d(sum of outputs)/d(inputs) as values. Touches no .grad and never lets go of the graph. Inputs must require a gradient.
std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                              const GradOptions& options = {});

// The leaves that require a gradient and that the outputs were computed from, each once.
std::vector<Tensor> leaves(std::span<const Tensor> outputs);

// What a tensor was computed by, for people to read: "MulBackward0"; empty for leaves and for what needs no gradient.
std::string grad_fn_name(const Tensor& tensor);

// ---- derivatives of one's own ----------------------------------------------------------------------------------------

// The value of a tensor now, with its history, for later: no later write changes it, and it keeps nothing else alive.
class SavedTensor {
public:
    SavedTensor() = default;
    explicit SavedTensor(const Tensor& tensor);
    Tensor unpack() const;  // undefined for an empty one

private:
    std::shared_ptr<const void> value_;
};

// Gets d(loss)/d(output) for each output (undefined where nothing depends on one) and the outputs, and gives d(loss)/d(input) for each
// input, undefined where none flows. It is called while the graph of the gradient is built, once per walk. What it does is recorded,
// so that it can be differentiated again. A gradient that is larger than its input by broadcasting is summed.
using BackwardFunction =
    std::function<std::vector<Tensor>(std::span<const Tensor> gradients, std::span<const Tensor> outputs)>;

// Inside a BackwardFunction: whether the gradients will be differentiated themselves (create_graph).
bool creates_graph();

// The outputs, with `backward` as their derivative with respect to the inputs, whatever they were computed from.
// `backward` should hold inputs as SavedTensor, and not the outputs at all, which it is given.
//
//     Tensor clipped_exp(const Tensor& x) {
//         const Tensor y = minimum(exp(x.detach()), 100);
//         return custom_gradient("clipped_exp", {{x}}, {{y}}, [](auto gradients, auto outputs) {
//             return std::vector<Tensor>{gradients[0] * outputs[0]};
//         })[0];
//     }
std::vector<Tensor> custom_gradient(const std::string& name, std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs, BackwardFunction backward);

// ---- hooks -----------------------------------------------------------------------------------------------------------

struct GradHooks;

class HookHandle {
public:
    HookHandle() = default;
    HookHandle(std::weak_ptr<GradHooks> hooks, std::uint64_t id) : hooks_(std::move(hooks)), id_(id) {}
    void remove() const;  // a second time: nothing

private:
    std::weak_ptr<GradHooks> hooks_;
    std::uint64_t id_ = 0;
};

// Calls `hook` with the gradient of a tensor, whenever one is built. A defined tensor that it returns replaces the gradient, in .grad
// and for what comes before. A tensor that others were computed from already must live until then.
//
//     register_hook(hidden, [](const Tensor& g) { return g.clamp(-1, 1); });
HookHandle register_hook(const Tensor& tensor, std::function<Tensor(const Tensor& gradient)> hook);

// Calls `hook` with the leaf after each backward() that has added to its .grad.
HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor& leaf)> hook);

}  // namespace weft
