// kernel/expressions.h: the scalar expression of one element of a node: views become index arithmetic, maths becomes exact ops.
#pragma once

#include "ir/index_map.h"
#include "kernel/kernel.h"

#include <unordered_map>
#include <vector>

namespace weft::kernel {

using ir::IndexList;

// Lowers elements of a KernelGraph's nodes into a kernel. Memoised by (node, index, gate): equal elements are one expression.
class Elements {
public:
    explicit Elements(Kernel& kernel) : kernel_(kernel) {}

    // The element at `index`. Loads happen only where `gate` holds (null: always).
    NodeRef value(const ir::Node& node, const IndexList& index, const NodeRef& gate = nullptr);

    // From now on, this Reduce's value is the local's; it may be read at this one index only.
    void bind(const ir::Node& reduce, const IndexList& index, int local);

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
    struct Bound {
        IndexList index;
        int local;
    };

    // What a node needs first; then the node itself from those results.
    std::vector<Request> needs(const Request& request, const std::vector<NodeRef>& so_far);
    NodeRef combine(const Request& request, const std::vector<NodeRef>& operands);
    NodeRef gated(const Request& request, const NodeRef& inner, const NodeRef& gate) const;
    NodeRef keeping_checks(const NodeRef& value, const NodeRef& index) const;
    NodeRef both(const NodeRef& a, const NodeRef& b) const;

    Kernel& kernel_;
    std::unordered_map<Request, NodeRef, RequestHash> done_;
    std::unordered_map<const ir::Node*, Bound> bound_;
};

}  // namespace weft::kernel
