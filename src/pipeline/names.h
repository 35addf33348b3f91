// pipeline/names.h: names for kernels that a person recognises, from what they compute.
#pragma once

#include "schedule/plan.h"

#include <string>
#include <vector>

namespace weft::pipeline {

std::vector<std::string> ops_of_step(
    const schedule::PlanStep& step);                       // "matmul", "max": in the order of the graph, each once
std::string size_of_step(const schedule::PlanStep& step);  // "128×784×10": rows, terms and columns of a product
std::string joined_name(const std::vector<std::string>& ops, const std::string& size);  // "matmul+max 128×784×10"
std::string name_of_step(const schedule::PlanStep& step);

}  // namespace weft::pipeline
