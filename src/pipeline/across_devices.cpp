// pipeline/across_devices.cpp: a plan has one device. What is to be moved is computed and copied first, and is memory to the runs that use it.
#include "pipeline/across_devices.h"

#include "ir/build.h"
#include "ir/walk.h"
#include "pipeline/observer.h"

#include <map>
#include <utility>

namespace weft::pipeline {
namespace {

using GraphLock = std::unique_lock<std::recursive_mutex>;

// What is to be moved between devices below these roots, and is not yet.
std::vector<ir::NodeRef> pending_moves(std::span<const ir::NodeRef> roots) {
    std::vector<ir::NodeRef> moves;
    for (const ir::Node* node :
         ir::topological_order(roots, [](const ir::Node& n) { return !n.in_memory() && n.crosses; }))
        if (node->op == ir::Op::ToDevice && !node->realized) moves.emplace_back(node);
    return moves;
}

void remember(const ir::NodeRef& node, const ir::NodeRef& buffer) {
    node->realized = buffer;
    ir::graph().forget(*node);
}

// The part of a request that one device can answer.
Request part_for(std::uint8_t device, const Request& request) {
    Request part{.wait = request.wait};
    for (const ir::NodeRef& node : request.keep)
        if (device_of(*node) == device && !node->in_memory()) part.keep.push_back(node);
    return part;
}

// What was stored on the way is memory to the runs that follow.
void add_kept(Result& result, Result&& computed) {
    for (auto& [node, buffer] : computed.kept) {
        if (!ir::is_made_of_constants(*node)) node->realized = buffer;
        result.kept.emplace_back(std::move(node), std::move(buffer));
    }
}

// The first of them, sources before users, whose own sources wait for no other move: their sources are computed, and copied.
void move_first(std::span<const ir::NodeRef> moves, const Request& request, Result& result, GraphLock& graph) {
    const std::uint8_t from = device_of(moves[0]->source());
    Request part = part_for(from, request);
    std::vector<ir::NodeRef> moving;
    for (const ir::NodeRef& move : moves) {
        if (device_of(move->source()) != from || !pending_moves(std::span(&move->sources[0], 1)).empty()) continue;
        moving.push_back(move);
        part.roots.push_back(ir::contiguous(move->sources[0]));
    }
    Result computed = evaluate_on(from, part, graph);
    for (std::size_t i = 0; i < moving.size(); ++i) {
        remember(moving[i], moved(*computed.values[i], moving[i]->device, observer()));
        const ir::NodeRef& source = moving[i]->sources[0];
        if (!source->in_memory() && !ir::is_made_of_constants(*source)) source->realized = computed.values[i];
    }
    add_kept(result, std::move(computed));
}

}  // namespace

ir::NodeRef moved(const ir::Node& buffer, std::uint8_t device, Observer* watching) {
    const auto& arg = buffer.as<ir::BufferArg>();
    const auto first = arg.offset * static_cast<std::int64_t>(size_of(buffer.dtype));
    const std::uint8_t from = arg.storage->device;
    if (watching && from != kCpu) {  // else the copy would seem to take as long as all kernels before it
        const std::int64_t start = now();
        device::runtime_of(from).synchronise();
        watching->waited(from, start, now());
    }
    const std::int64_t start = watching ? now() : 0;
    ir::StorageRef storage = device::runtime_of(device).allocate(ir::bytes_of(buffer));
    device::transfer(*arg.storage, first, *storage, static_cast<std::size_t>(ir::bytes_of(buffer)));
    if (watching) watching->copied(from, device, start, now());
    return ir::buffer(std::move(storage), buffer.dtype, buffer.shape, 0, row_major_strides(buffer.shape));
}

Result evaluate_across(const Request& request, GraphLock& graph) {
    Result result;
    for (;;) {
        const std::vector<ir::NodeRef> moves = pending_moves(request.roots);
        if (moves.empty()) break;
        move_first(moves, request, result, graph);
    }
    std::map<std::uint8_t, std::vector<std::size_t>> by_device;
    for (std::size_t i = 0; i < request.roots.size(); ++i) by_device[device_of(*request.roots[i])].push_back(i);
    result.values.resize(request.roots.size());
    for (const auto& [device, indices] : by_device) {
        Request part = part_for(device, request);
        for (const std::size_t i : indices) {
            part.roots.push_back(request.roots[i]);
            part.before.push_back(i < request.before.size() ? request.before[i] : nullptr);
        }
        if (by_device.size() == 1) part.donatable = request.donatable;  // else another of the runs may still read it
        Result computed = evaluate_on(device, part, graph);
        for (std::size_t i = 0; i < indices.size(); ++i) result.values[indices[i]] = std::move(computed.values[i]);
        add_kept(result, std::move(computed));
    }
    return result;
}

}  // namespace weft::pipeline
