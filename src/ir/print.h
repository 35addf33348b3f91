// ir/print.h: graphs as text, one line per node: `%3 = add f32[2, 3] %1 %2`.
#pragma once

#include "ir/node.h"

#include <span>
#include <string>

namespace weft::ir {

std::string print_graph(std::span<const NodeRef> roots);
std::string print_line(const Node& node);           // "add f32[2, 3]": one node without its sources
std::string print_expression(const NodeRef& node);  // a kernel expression as nested text: "(a[i * 4 + j] + 1)"

}  // namespace weft::ir
