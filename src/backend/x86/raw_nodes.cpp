// backend/x86/raw_nodes.cpp: from what is stored down to its operands.
#include "backend/x86/raw_nodes.h"

#include "ir/walk.h"

#include <vector>

namespace weft::backend::x86 {

using ir::Node;
using ir::NodeRef;
using ir::Op;

// A stored value is raw; so is what an op that computes nothing passes on, if its own result is.
std::unordered_set<const Node*> raw_nodes(const kernel::Body& body) {
    std::vector<NodeRef> stored;
    std::vector<const kernel::Body*> bodies{&body};
    while (!bodies.empty()) {
        const kernel::Body& next = *bodies.back();
        bodies.pop_back();
        for (const kernel::Stmt& stmt : next) {
            if (const kernel::Loop* loop = stmt.loop()) {
                bodies.push_back(&loop->body);
                if (loop->count) stored.push_back(loop->count);
            } else if (stmt.prefetch()) {
                stored.push_back(stmt.prefetch()->load);
            } else {
                stored.push_back(stmt.store()->value);
                stored.push_back(stmt.store()->index);
            }
        }
    }
    std::unordered_set<const Node*> raw;
    for (const NodeRef& root : stored) raw.insert(root.get());
    const std::vector<const Node*> order = ir::topological_order(stored);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
        switch ((*node)->op) {
            case Op::Add:
            case Op::Sub:
            case Op::Mul:
            case Op::Div:
            case Op::Fma:
            case Op::Scale:
            case Op::Sqrt:
            case Op::Recip:
            case Op::CmpLt:
            case Op::CmpLe:
            case Op::CmpEq: break;
            case Op::Max:
            case Op::Min:
                if (!raw.contains(*node)) break;
                [[fallthrough]];
            default:
                for (const NodeRef& source : (*node)->sources) raw.insert(source.get());
        }
    }
    return raw;
}

}  // namespace weft::backend::x86
