// tests/support/oracle.cpp: the evaluator that takes the compiler's place.
#include "tests/support/oracle.h"

#include "ir/build.h"
#include "pipeline/pipeline.h"
#include "tests/support/eager.h"

namespace weft::testing {
namespace {

pipeline::Result evaluate_on_oracle(const pipeline::Request& request, double jitter) {
    const std::vector<std::vector<Word>> values = evaluate_eagerly(request.roots, jitter);
    pipeline::Result result;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ir::Node& root = *request.roots[i];
        const std::size_t width = size_of(root.dtype);
        const auto storage = std::make_shared<HostStorage>(values[i].size() * width);
        for (std::size_t j = 0; j < values[i].size(); ++j)
            store_word(root.dtype, storage->memory.data() + j * width, values[i][j]);
        result.values.push_back(ir::buffer(storage, root.dtype, root.shape, 0, row_major_strides(root.shape)));
    }
    return result;
}

}  // namespace

OracleScope::OracleScope(double jitter) {
    pipeline::replace_evaluator(
        [jitter](const pipeline::Request& request) { return evaluate_on_oracle(request, jitter); });
}
OracleScope::~OracleScope() { pipeline::replace_evaluator({}); }

}  // namespace weft::testing
