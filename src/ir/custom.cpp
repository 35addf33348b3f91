// ir/custom.cpp: functions in use, so that equal ones are one object: nodes and plan keys compare them by address.
#include "ir/custom.h"

#include "core/str.h"

#include <mutex>
#include <unordered_map>

namespace weft::ir {
namespace {

// Never destroyed: functions may outlive any static object.
using InUse = std::unordered_map<std::string, std::weak_ptr<const CustomFunction>>;
InUse& in_use() {  // under the graph lock
    static InUse& table = *new InUse;
    return table;
}

std::string key_of(const CustomFunction& function) {
    std::string key = str(function.name, "(", function.parameters, ")");
    for (const auto& [dtype, shape] : function.results) key += str(" ", dtype, shape);
    return key;
}

}  // namespace

std::shared_ptr<const CustomFunction> shared(CustomFunction function) {
    const std::string key = key_of(function);
    const std::lock_guard lock(graph_lock());
    std::weak_ptr<const CustomFunction>& entry = in_use()[key];
    if (auto found = entry.lock()) return found;
    const auto forget = [key](const CustomFunction* dropped) {
        {
            const std::lock_guard guard(graph_lock());
            const auto found = in_use().find(key);
            if (found != in_use().end() && found->second.expired()) in_use().erase(found);
        }
        delete dropped;
    };
    std::shared_ptr<const CustomFunction> made(new CustomFunction(std::move(function)), forget);
    entry = made;
    return made;
}

}  // namespace weft::ir
