// backend/c/printer.h: prints a kernel as a C function. An expression is printed once, at the outermost loop where all
// its variables are known and nothing it loads is stored to; equal expressions are one node, so nothing is computed
// twice. Statements are in print_statements.cpp, expressions in print_expressions.cpp, loads and stores in
// print_memory.cpp.
#pragma once

#include "backend/c/prelude.h"
#include "backend/placement.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft::backend::c {

struct Printed {
    std::vector<Piece> helpers;
    std::string comment;   // in front of the function
    std::string function;  // from its parameter list on: the name is chosen when the text is known
};

// The value of an expression as C text that can stand as an operand.
struct Value {
    std::string text;
    bool vector = false;
    std::size_t mask = 0;  // a vector of bools: masks of so many bytes each
};

class Printer {
public:
    Printer(const kernel::Kernel& kernel, int register_bytes);  // 0 bytes: no vectors at all
    Printed run();

private:
    using Node = ir::Node;
    using NodeRef = ir::NodeRef;

    struct Scope : TextScope<Value> {
        std::string note;  // the last comment on lanes
    };

    // statements
    void print(const kernel::Body& body);
    void print(const kernel::Loop& loop);
    void print(const kernel::Store& store);
    void line(std::string_view text) { line(innermost(), text); }
    void line(int level, std::string_view text);
    void forget(std::uint64_t buffers) { forget_values(scopes_, placement_, buffers); }
    int innermost() const { return static_cast<int>(scopes_.size()) - 1; }
    Scope& innermost_scope() { return scopes_.back(); }
    std::string declarations();
    std::string declare_local(int buffer);
    std::string header_comment() const;

    // expressions
    const ExprFacts& facts(const Node& node) { return placement_.facts(node); }
    int level_of(const Node& node) { return placement_.level_of(node); }
    Value value(const Node& node, int user_level);
    Value compute(const Node& node, int level);
    Value scalar_op(const Node& node, const std::vector<Value>& in);
    Value vector_op(const Node& node, const std::vector<Value>& in);
    Value bool_op(const Node& node, const std::vector<Value>& in);
    Value cast(const Node& node, Value from);
    Value vector_cast(DType from, DType to, Value value);
    Value bitcast(const Node& node, Value from);
    Value check(const Node& node, const Value& from);
    bool stays_inline(const Node& node, const Value& value, int level, int user_level) const;
    std::string type_of(const Node& node, const Value& value);
    std::string as_vector(const Value& value, DType t);
    std::string as_mask(const Value& value, std::size_t bytes);
    std::string as_memory(const Value& value, DType t);  // a vector as it lies in memory: bools are 0 and 1
    Value from_memory(std::string text, DType t);        // the other way
    std::string last_lane(const Value& value, DType t, int lanes) const;

    // memory
    struct LaneIndex {
        bool affine = false;
        std::int64_t stride = 0;
        NodeRef base;  // the index in lane 0
    };
    LaneIndex lane_index(const NodeRef& index, int lane);
    Value load(const Node& node, int level);
    Value lane_load(const Node& node, int level);
    Value variable_load(const Node& node, int level);
    void lane_store(const kernel::Store& store, int lane, const Value& value);
    void variable_store(const kernel::Store& store, const Value& value);
    std::string variable(int buffer, std::int64_t number) const;
    std::string column(int buffer, std::int64_t number, int level);  // of a block: its variable, once it is transposed
    std::string element(int buffer, const Node& index, int level);   // "x[i * 4 + j]"
    std::string address(int buffer, const Node& index, int level);   // "x + (i * 4 + j)"
    bool in_variables(int buffer) const;
    int lanes_of(int lane) const { return expanded_.lane_vars.at(lane); }

    const kernel::Kernel kernel_;
    Expanded expanded_;
    Placement placement_;
    const int lanes_;
    Prelude prelude_;
    std::vector<Scope> scopes_;
    std::vector<std::string> names_;  // of buffers
    std::vector<NodeRef> kept_;       // nodes made here: facts and names go by address
    int temporaries_ = 0;
    bool streams_ = false;
    std::unordered_set<int> transposed_;  // blocks whose variables hold columns now
};

// "(a + b)" as "a + b", where nothing can bind tighter.
std::string without_parentheses(std::string text);

}  // namespace weft::backend::c
