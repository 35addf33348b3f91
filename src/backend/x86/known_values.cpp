// backend/x86/known_values.cpp: values by node, the nodes by level and by buffer.
#include "backend/x86/known_values.h"

#include <bit>

namespace weft::backend::x86 {

const KnownValue* KnownValues::find(Form form, const ir::Node& node) const {
    const auto found = values_[form].find(&node);
    return found == values_[form].end() ? nullptr : &found->second;
}

void KnownValues::remember(Form form, const ir::Node& node, const KnownValue& known, std::uint64_t loads_from) {
    values_[form].insert_or_assign(&node, known);
    levels_[static_cast<std::size_t>(known.level)].nodes.push_back(&node);
    for (std::uint64_t buffers = loads_from; buffers; buffers &= buffers - 1)
        loading_[static_cast<std::size_t>(std::countr_zero(buffers))].push_back(&node);
}

const Reg* KnownValues::find_address(int level, const AddressSum& sum) const {
    const auto& known = levels_[static_cast<std::size_t>(level)].addresses;
    const auto found = known.find(sum);
    return found == known.end() ? nullptr : &found->second.reg;
}

void KnownValues::remember_address(int level, AddressSum sum, Reg reg, std::uint64_t loads_from) {
    levels_[static_cast<std::size_t>(level)].addresses.emplace(std::move(sum), Address{reg, loads_from});
    loading_addresses_ |= loads_from;
}

void KnownValues::close_level() {
    const int level = static_cast<int>(levels_.size()) - 1;
    for (const ir::Node* node : levels_.back().nodes)
        for (auto& values : values_)
            if (const auto found = values.find(node); found != values.end() && found->second.level == level)
                values.erase(found);
    levels_.pop_back();
}

void KnownValues::forget(std::uint64_t buffers) {
    for (std::uint64_t rest = buffers; rest; rest &= rest - 1) {
        std::vector<const ir::Node*>& nodes = loading_[static_cast<std::size_t>(std::countr_zero(rest))];
        for (const ir::Node* node : nodes)
            for (auto& values : values_) values.erase(node);
        nodes.clear();
    }
    if (!(loading_addresses_ & buffers)) return;
    for (Level& level : levels_)
        std::erase_if(level.addresses, [&](const auto& entry) { return (entry.second.loads_from & buffers) != 0; });
}

KnownValues::Mark KnownValues::mark(int level) const {
    const Level& marked = levels_[static_cast<std::size_t>(level)];
    return {level, marked.nodes.size(), marked.addresses};
}

void KnownValues::return_to(Mark mark) {
    Level& level = levels_[static_cast<std::size_t>(mark.level)];
    for (std::size_t i = mark.nodes; i < level.nodes.size(); ++i)
        for (auto& values : values_) values.erase(level.nodes[i]);
    level.nodes.resize(mark.nodes);
    level.addresses = std::move(mark.addresses);
}

}  // namespace weft::backend::x86
