// tensor/mapped.h: a C++ function of f64 elements as a node, for functions that take a loop for each element.
#pragma once

#include "ir/build.h"

#include <functional>
#include <string>

namespace weft::nodes {

// f of each element; x is f64. `name` and `parameters` say which function it is. It has no derivative: see with_grads().
ir::NodeRef mapped(const std::string& name, const ir::NodeRef& x, std::function<double(double)> f,
                   const std::string& parameters = {});
// The same for two operands, which broadcast.
ir::NodeRef mapped(const std::string& name, const ir::NodeRef& a, const ir::NodeRef& b,
                   std::function<double(double, double)> f);

}  // namespace weft::nodes
