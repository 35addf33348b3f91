// kernel/expressions.h: the scalar expression of one element of a node: views become index arithmetic, maths becomes exact ops.
#pragma once

#include "ir/index_map.h"
#include "kernel/kernel.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::kernel {

using ir::IndexList;

// An index that is data: the index itself, if its checks keep it below `size`; else (a custom function has computed it) clamped to that.
NodeRef in_range(const Kernel& kernel, const NodeRef& index, std::int64_t size);

// A factor as this product takes it: rounded to tf32 if it says so.
NodeRef as_factor(const Kernel& kernel, const ir::Node& product, const NodeRef& value);

// Lowers elements of a KernelGraph's nodes into a kernel. Memoised by (node, index, gate): equal elements are one expression.
class Elements {
public:
    explicit Elements(Kernel& kernel) : kernel_(kernel) {}

    // The element at `index`. Loads happen only where `gate` holds (null: always).
    NodeRef value(const ir::Node& node, const IndexList& index, const NodeRef& gate = nullptr);

    // From now on, this Reduce's value is the local's; it may be read at this one index only.
    void bind(const ir::Node& reduce, const IndexList& index, int local);

    // From now on, elements of this node (which has `length` per row) that are computed are noted, with their place in the row …
    void watch(const ir::Node& node, const NodeRef& row, std::int64_t length) { watched_[&node] = {row, length, -1}; }
    struct Noted {
        const ir::Node* node;
        NodeRef place, value;
    };
    std::vector<Noted> take_noted() { return std::exchange(noted_, {}); }
    // … and from now on they are read from there instead: element i of the row is the local's.
    void keep(const ir::Node& node, int local) { watched_.at(&node).local = local; }

    // The value, in which all checks of the index are seen to be made: those that neither it nor the address `at` has are added.
    NodeRef keeping_checks(NodeRef value, const NodeRef& index, const NodeRef& at = nullptr) const;

    // The element's address: a position in a Param's buffer.
    NodeRef position(const ir::Node& param, const IndexList& index) const;

private:
    struct Request {
        const ir::Node* node;
        IndexList index;
        NodeRef gate;
        friend bool operator==(const Request&, const Request&) = default;
    };
    struct RequestHash {
        std::size_t operator()(const Request& request) const;
    };
    struct StoredValue {
        IndexList index;
        int local;
    };

    struct Watched {
        NodeRef row;
        std::int64_t length = 0;
        int local = -1;  // where the row's elements are kept; -1: they are not
    };

    NodeRef place_in_row(const Request& request, const Watched& watched) const;  // null: not one of the row's
    NodeRef kept(const Request& request) const;                                  // the element's load, or null
    // What a node needs first; then the node itself from those results.
    std::vector<Request> needs(const Request& request, const std::vector<NodeRef>& so_far);
    NodeRef combine(const Request& request, const std::vector<NodeRef>& operands);
    NodeRef checked_operand(const Request& request, const NodeRef& operand, const ir::CheckArg& check) const;
    NodeRef gated(const Request& request, const NodeRef& inner, const NodeRef& gate) const;
    NodeRef both(const NodeRef& a, const NodeRef& b) const;

    Kernel& kernel_;
    std::unordered_map<Request, NodeRef, RequestHash> done_;
    std::unordered_map<const ir::Node*, StoredValue> bound_;
    std::unordered_map<const ir::Node*, Watched> watched_;
    std::vector<Noted> noted_;
};

}  // namespace weft::kernel
