// tensor/mapped.cpp: functions of f64 elements as Custom nodes, blocks of elements on all threads.
#include "tensor/mapped.h"

#include <algorithm>
#include <utility>

namespace weft::nodes {
namespace {

using ir::NodeRef;

constexpr std::int64_t kBlock = 1024;

template <class Each>
void for_each_element(const ir::CustomCall& call, Each each) {
    const std::int64_t count = numel(call.node.shape);
    call.for_each((count + kBlock - 1) / kBlock, [&](std::int64_t block) {
        for (std::int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) each(i);
    });
}

}  // namespace

NodeRef mapped(const std::string& name, const NodeRef& x, std::function<double(double)> f,
               const std::string& parameters) {
    const auto run = [f = std::move(f)](const ir::CustomCall& call) {
        for_each_element(call, [&](std::int64_t i) { call.result<double>(0)[i] = f(call.source<double>(0)[i]); });
    };
    const NodeRef sources[] = {x};
    return ir::custom(
        ir::shared({.name = name, .parameters = parameters, .results = {{DType::F64, x->shape}}, .run = run}), sources);
}

NodeRef mapped(const std::string& name, const NodeRef& a, const NodeRef& b, std::function<double(double, double)> f) {
    const auto run = [f = std::move(f)](const ir::CustomCall& call) {
        for_each_element(call, [&](std::int64_t i) {
            call.result<double>(0)[i] = f(call.source<double>(0)[i], call.source<double>(1)[i]);
        });
    };
    const Shape shape = ir::broadcast_shapes(a->shape, b->shape);
    const NodeRef sources[] = {ir::expand(a, shape), ir::expand(b, shape)};
    return ir::custom(ir::shared({.name = name, .results = {{DType::F64, shape}}, .run = run}), sources);
}

}  // namespace weft::nodes
