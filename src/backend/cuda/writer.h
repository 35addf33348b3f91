// backend/cuda/writer.h: writes the entries of a module. An expression is computed once, at the outermost loop where all its variables
// are known and nothing that it loads is stored to (backend/placement.h). Statements are in write_statements.cpp, expressions in
// write_expressions.cpp, conversions in write_casts.cpp, loads and stores in
// write_memory.cpp, tensor cores in write_products.cpp, what copies slices for them in write_pipeline.cpp.
#pragma once

#include "backend/cuda/barriers.h"
#include "backend/cuda/ptx.h"
#include "backend/cuda/shared_memory.h"
#include "backend/cuda/vector_access.h"
#include "backend/placement.h"
#include "core/str.h"
#include "kernel/box_copy.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::backend::cuda {

// An operand: a register or a constant. An i64 that is known to fit may be held in 32 bits.
struct Value {
    std::string text;
    bool narrow = false;
};

inline constexpr std::int64_t kWarpgroup = 128;        // threads that a tensor core serves together
inline constexpr std::int64_t kProductStepBytes = 32;  // of a factor, in one instruction of tensor cores
inline constexpr std::int64_t kFactorRowBytes = 128;   // in shared memory (kernel/matrix_product.h)
inline constexpr std::int64_t kTableBytes = 4 * ir::kTableSize;

class Writer {
public:
    Writer(const kernel::Kernel& kernel, const WriteOptions& options);
    Module run();

private:
    using Node = ir::Node;
    using NodeRef = ir::NodeRef;

    struct Scope : TextScope<Value> {
        std::map<std::pair<int, const Node*>, std::string> addresses;  // of a buffer, moved by an index
    };
    enum class Space : std::uint8_t { Registers, Global, Shared, Local };
    struct Home {  // of a buffer
        Space space = Space::Global;
        std::string base;         // a register, or a symbol
        std::int64_t offset = 0;  // in bytes
    };

    // statements
    void write_entry(const kernel::Stmt* statement);
    void write(const kernel::Body& body);
    void write(const kernel::Loop& loop);
    void write_stores(std::span<const kernel::Stmt> statements);
    void write(std::span<const kernel::Stmt> stores);       // to neighbours; most often one
    bool write_copy(std::span<const kernel::Stmt> stores);  // as copies under way; false: they are none
    std::string stored_value(const kernel::Store& store);
    std::string inside(const kernel::Loop& loop, bool guarded, const kernel::Body& body);
    void write_blocks(const kernel::Loop& loop);
    void write_threads(const kernel::Loop& loop);
    void write_serial(const kernel::Loop& loop);
    void write_condition(const kernel::Loop& loop);
    void write_product(const kernel::Loop& loop);  // by tensor cores
    std::string matrix_descriptor(const kernel::MatrixProduct::Operand& operand, bool is_left);
    void wait_for_products(const kernel::Body& body);
    bool by_warps() const { return options_.capability != 90; }  // who multiplies: each warp, or four of them
    struct Matrices;
    Matrices matrices_of(const kernel::MatrixProduct::Operand& operand, bool is_left);
    std::string matrix_address(Matrices& matrices, std::int64_t step, std::int64_t column);
    void write_warp_product(const kernel::Loop& loop);
    void write_copies(const kernel::Loop& loop);                                // of a box, by all threads
    const kernel::Loop* pipeline_of(std::span<const kernel::Stmt> body) const;  // null: it has none
    std::int64_t pipeline_slices() const { return kernel::slices_of(kernel_, *pipeline_); }
    void write_pipeline(const kernel::Loop& loop);
    void write_box(const kernel::BoxCopy& box, const std::string& barrier);
    std::size_t map_of(const kernel::BoxCopy& box);
    std::string slot_of(const std::string& iteration, const std::string& barriers);  // the barrier of its slice
    void wait_for_phase(const std::string& barrier, const std::string& iteration, bool opposite);
    std::string parameters() const;
    std::int64_t table_bytes() const { return static_cast<std::int64_t>(tables_.size()) * kTableBytes; }
    bool is_dynamic() const;                                     // shared memory is asked for at the launch
    int alignment() const { return sums_.empty() ? 16 : 1024; }  // of shared memory
    bool two_blocks() const;
    std::string prologue();
    std::string declarations() const;
    void place_locals();
    void wait_for(Sync sync, const kernel::Loop& threads);
    void wait_for_copies(const kernel::Body& body);
    std::string global_tables() const;
    std::string fill_tables() const;
    void line(int level, std::string_view text);
    void line(std::string_view text) { line(innermost(), text); }
    void forget(std::uint64_t buffers) { forget_values(scopes_, placement_, buffers); }
    int innermost() const { return static_cast<int>(scopes_.size()) - 1; }
    std::string fresh(std::string_view kind);  // a register of a kind: "r"
    std::string label();
    static std::string_view kind_of(DType t);  // of the registers that hold it

    // expressions
    Value value(const Node& node);
    Value compute(const Node& node, int level);
    Value arithmetic(const Node& node, int level);
    Value bool_op(const Node& node, const std::vector<std::string>& in, int level);
    Value float_op(const Node& node, const std::vector<std::string>& in, int level);
    Value int_op(const Node& node, const std::vector<std::string>& in, DType t, int level);
    Value divide(const Node& node, const std::vector<std::string>& in, DType t, int level);
    Value shift(const Node& node, const std::vector<std::string>& in, int level);
    Value power(const Node& node, const std::vector<std::string>& in, int level);
    Value greatest_divisor(const Node& node, const std::vector<std::string>& in, int level);
    Value limit(const Node& node, const std::vector<std::string>& in, int level);
    Value scale(const Node& node, const std::vector<std::string>& in, int level);
    Value remainder(const Node& node, const std::vector<std::string>& in, int level);
    Value compare(std::string_view how, DType t, const std::string& a, const std::string& b, int level);
    Value select(const Node& node, int level);
    Value lookup(const Node& node, int level);
    Value check(const Node& node, int level);
    std::string in_bits(DType t, const std::string& value, int level);  // an int of less than 32 bits, cut to its width
    std::string wide(const Value& value, int level);                    // an i64 in 64 bits
    std::string cut(const Value& value, int level);                     // … in 32
    std::string operand(const Node& node, int level);  // in the registers of its type; an i64 in 64 bits
    std::string as_register(const std::string& text, std::string_view kind, int level);
    bool fits(const NodeRef& index);  // an i64 that 32 bits can hold
    // One instruction, into a new register of a kind.
    template <class... Parts>
    std::string op(std::string_view kind, int level, std::string_view instruction, const Parts&... operands) {
        const std::string result = fresh(kind);
        std::string text = str(instruction, " ", result);
        ((text += ", ", text += operands), ...);
        line(level, text);
        return result;
    }

    // conversions
    Value cast(const Node& node, int level);
    Value bitcast(const Node& node, int level);
    std::string convert(DType from, DType to, const std::string& value, int level);
    std::string float_to_int(DType from, DType to, const std::string& value, int level);
    std::string int_to_int(DType from, DType to, const std::string& value, int level);

    // memory
    Value load(const Node& node, int level);
    void load_together(const VectorAccess::Lanes& lanes, const std::string& gate, int level);
    void require_alignment(int buffer, std::int64_t bytes);
    std::string address(int buffer, const NodeRef& index, int level);  // "[%l3+16]"
    std::string moved_base(const Home& home, int buffer, const Node& by, std::int64_t size, int level);
    std::string variable(int buffer, std::int64_t element) const;
    std::string_view space_of(int buffer) const;
    std::string loaded_from(int buffer) const;

    const kernel::Kernel& kernel_;
    const WriteOptions options_;
    Expanded expanded_;
    Placement placement_;
    Module module_;
    const std::string_view ftz_;  // ".ftz", where subnormals are flushed
    std::vector<Scope> scopes_;
    std::vector<Home> homes_;                         // by buffer
    std::vector<SharedPlace> places_;                 // … in shared memory
    std::map<std::string, int, std::less<>> counts_;  // of registers, by kind
    std::unordered_map<int, Value> vars_;             // of loops, by id
    std::unordered_map<const Node*, bool> fits_;
    std::set<int> async_;                // buffers that copies go to
    std::set<int> sums_;                 // of tensor cores
    std::vector<const float*> tables_;   // that the entry in hand looks up, in their order in shared memory
    std::int64_t most_table_bytes_ = 0;  // of any entry
    Barriers barriers_;
    VectorAccess vectors_;
    std::int64_t threads_ = 0;  // of the blocks of the entry in hand
    int labels_ = 0;
    bool copies_ = false, products_ = false;  // are under way when the threads' loop ends
    const kernel::Loop* pipeline_ = nullptr;  // of the entry in hand
    std::vector<TensorMap> maps_;             // … that it copies boxes of
    std::int64_t barriers_at_ = 0;            // in shared memory: two for each slice of a pipeline
};

}  // namespace weft::backend::cuda
