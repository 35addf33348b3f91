// ir/custom.cpp: functions in use, so that equal ones are one object: nodes and plan keys compare them by address.
#include "ir/custom.h"

#include "core/str.h"

#include <mutex>
#include <unordered_map>

namespace weft::ir {
namespace {

// Never destroyed: functions may outlive any static object.
struct InUse {
    std::mutex mutex;
    std::unordered_map<std::string, std::weak_ptr<const CustomFunction>> functions;
};
InUse& in_use() {
    static auto* const table = new InUse;
    return *table;
}

std::string key_of(const CustomFunction& function) {
    std::string key = str(function.name, "(", function.parameters, ")");
    for (const auto& [dtype, shape] : function.results) key += str(" ", dtype, shape);
    return key;
}

}  // namespace

std::shared_ptr<const CustomFunction> shared(CustomFunction function) {
    const std::string key = key_of(function);
    InUse& table = in_use();
    const std::lock_guard lock(table.mutex);
    std::weak_ptr<const CustomFunction>& entry = table.functions[key];
    if (auto found = entry.lock()) return found;
    const auto forget = [key](const CustomFunction* dropped) {
        {
            InUse& uses = in_use();
            const std::lock_guard guard(uses.mutex);
            const auto found = uses.functions.find(key);
            if (found != uses.functions.end() && found->second.expired()) uses.functions.erase(found);
        }
        delete dropped;
    };
    std::shared_ptr<const CustomFunction> made(new CustomFunction(std::move(function)), forget);
    entry = made;
    return made;
}

}  // namespace weft::ir
