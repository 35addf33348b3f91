// backend/narrow.cpp: splits vector loops that are wider than the machine's registers.
#include "backend/narrow.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <map>

namespace weft::backend {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using kernel::Body;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Prefetch;
using kernel::Stmt;
using kernel::Store;

bool any_node(const Body& body, const std::function<bool(const Node&)>& test) {
    for (const Stmt& stmt : body) {
        if (stmt.loop()) {
            if (any_node(stmt.loop()->body, test)) return true;
            continue;
        }
        const std::vector<NodeRef> roots = stmt.prefetch() ? std::vector{stmt.prefetch()->load}
                                                           : std::vector{stmt.store()->index, stmt.store()->value};
        for (const Node* node : ir::topological_order(roots))
            if (test(*node)) return true;
    }
    return false;
}

bool has_wide_loop(const Body& body, int lanes) {
    return std::any_of(body.begin(), body.end(), [&](const Stmt& stmt) {
        const Loop* loop = stmt.loop();
        return loop && ((loop->kind == LoopKind::Vector && loop->extent() > lanes) || has_wide_loop(loop->body, lanes));
    });
}

bool counts_by(const Body& body, int var) {
    return std::any_of(body.begin(), body.end(), [&](const Stmt& stmt) {
        const Loop* loop = stmt.loop();
        return loop && ((loop->count && ir::depends_on(loop->count, var)) || counts_by(loop->body, var));
    });
}

// One of the vectors that a loop becomes: what replaces its variable and the locals private to its lanes.
struct Part {
    NodeRef var;                 // fresh
    NodeRef lane;                // first + var
    std::map<int, int> buffers;  // private local -> its copy for this part
};

class Narrower {
public:
    Narrower(const Kernel& kernel, int lanes) : result_(kernel), lanes_(lanes) {}

    Kernel run() {
        result_.body = split(result_.body);
        return std::move(result_);
    }

private:
    Body split(const Body& body) {
        Body out;
        for (const Stmt& stmt : body) {
            const Loop* loop = stmt.loop();
            // Lanes that count differently run one by one anyway.
            if (loop && loop->kind == LoopKind::Vector && loop->extent() > lanes_ &&
                !counts_by(loop->body, loop->id())) {
                distribute(loop->body, loop->id(), parts_of(*loop), out);
            } else if (loop) {
                out.emplace_back(loop->with(split(loop->body)));
            } else {
                out.push_back(stmt);
            }
        }
        return out;
    }

    std::vector<Part> parts_of(const Loop& loop) {
        std::vector<Part> parts;
        for (std::int64_t first = 0; first < loop.extent(); first += lanes_) {
            Part part{result_.new_var(std::min<std::int64_t>(lanes_, loop.extent() - first)), nullptr, {}};
            part.lane = first ? result_.add(part.var, result_.index(first)) : part.var;
            const int id = part.var->as<ir::LoopArg>().id;
            for (std::size_t b = 0, count = result_.buffers.size(); b < count; ++b) {
                if (result_.buffers[b].lane_loop != loop.id()) continue;
                kernel::Buffer copy = result_.buffers[b];
                copy.lane_loop = id;
                part.buffers[static_cast<int>(b)] = static_cast<int>(result_.buffers.size());
                result_.buffers.push_back(std::move(copy));
            }
            parts.push_back(std::move(part));
        }
        return parts;
    }

    // Lanes are independent, so a vector loop over several statements is one over each; serial loops inside are shared.
    void distribute(const Body& body, int var, const std::vector<Part>& parts, Body& out) {
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop()) {
                Loop outer{loop->var,   loop->kind == LoopKind::Vector ? LoopKind::Serial : loop->kind,
                           {},          loop->independent,
                           loop->count, loop->polls};
                distribute(loop->body, var, parts, outer.body);
                out.emplace_back(std::move(outer));
                continue;
            }
            for (const Part& part : parts) {
                if (const Prefetch* prefetch = stmt.prefetch()) {
                    out.emplace_back(Loop{part.var, LoopKind::Vector, {Prefetch{in_part(prefetch->load, var, part)}}});
                    continue;
                }
                const Store& store = *stmt.store();
                const auto renamed = part.buffers.find(store.buffer);
                const NodeRef index = ir::simplify_index(*result_.interner, in_part(store.index, var, part));
                Store copy{renamed == part.buffers.end() ? store.buffer : renamed->second, index,
                           in_part(store.value, var, part)};
                out.emplace_back(Loop{part.var, LoopKind::Vector, {std::move(copy)}});
            }
        }
    }

    NodeRef in_part(const NodeRef& root, int var, const Part& part) const {
        const auto replace = [&](const Node& node, const ir::Sources& sources) -> NodeRef {
            if (node.op != Op::Load) return result_.make(node.op, node.dtype, sources, node.arg);
            const int b = node.as<ir::LoadArg>().buffer;
            const auto renamed = part.buffers.find(b);
            return result_.make(node.op, node.dtype, sources,
                                ir::LoadArg{renamed == part.buffers.end() ? b : renamed->second});
        };
        const NodeRef renamed = part.buffers.empty() ? root : ir::rebuild(std::span(&root, 1), replace)[0];
        return kernel::substitute(result_, renamed, {{var, part.lane}});
    }

    Kernel result_;
    const int lanes_;
};

}  // namespace

int native_lanes(const Kernel& kernel, int register_bytes) {
    if (register_bytes == 0) return 1;
    const bool doubles = any_node(kernel.body, [](const Node& node) { return node.dtype == DType::F64; });
    return std::clamp(register_bytes / (doubles ? 8 : 4), 4, kernel::kMaxLanes);
}

Kernel narrow(const Kernel& kernel, int lanes) {
    return lanes > 1 && has_wide_loop(kernel.body, lanes) ? Narrower(kernel, lanes).run() : kernel;
}

}  // namespace weft::backend
