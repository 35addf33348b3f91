// core/config.cpp: reads the environment once. A value that makes no sense is refused with the variable's name and the choices.
#include "core/config.h"

#include "core/optimisations.h"
#include "core/str.h"

#include <weft/error.h>

#include <charconv>
#include <cstdlib>

namespace weft {
namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

// An integer within [low, high], or `fallback` if the variable is unset or empty.
int integer(const char* name, int low, int high, int fallback) {
    const std::string_view text = variable(name);
    if (text.empty()) return fallback;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < low || value > high)
        throw ValueError(str(name, "=", text, ": must be a whole number from ", low, " to ", high));
    return value;
}

std::string choice(const char* name, std::initializer_list<std::string_view> choices, std::string_view fallback) {
    const std::string_view text = variable(name);
    if (text.empty()) return std::string(fallback);
    std::string list;
    for (const std::string_view c : choices) {
        if (c == text) return std::string(text);
        list += str(list.empty() ? "" : ", ", c);
    }
    throw ValueError(str(name, "=", text, ": must be one of ", list));
}

std::set<std::string, std::less<>> optimisations(const char* variable_name) {
    const std::string_view all = variable(variable_name);
    std::set<std::string, std::less<>> result;
    std::string_view text = all;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view name = text.substr(0, comma);
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        if (!name.empty()) {
            check_optimisation(name, str(variable_name, "=", all));
            result.emplace(name);
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return result;
}

}  // namespace

void check_optimisation(std::string_view name, std::string_view where) {
    std::string list;
    for (const std::string_view known : kPassNames) {
        if (name == known) return;
        list += str(known, ", ");
    }
    if (name == "donate" || name == "split_sums" || name == "all") return;
    throw ValueError(
        str(where, ": there is no optimisation \"", name, "\"; must be among ", list, "donate, split_sums, all"));
}

Config read_environment() {
    Config c;
    c.debug = integer("WEFT_DEBUG", 0, 5, c.debug);
    if (const std::string_view backend = variable("WEFT_BACKEND"); !backend.empty()) c.backend = backend;
    c.threads = integer("WEFT_THREADS", 0, 1024, c.threads);
    c.off = optimisations("WEFT_OPT");
    c.keep_denormals = choice("WEFT_DENORMALS", {"keep", "flush"}, "flush") == "keep";
    c.plain_convolution = choice("WEFT_CONV", {"fast", "plain"}, "fast") == "plain";
    c.cpu = choice("WEFT_CPU", {"native", "avx512", "avx2", "sse"}, c.cpu);
    c.donate = !c.switched_off("donate");
    return c;
}

Config& config() {
    static Config& instance = *new Config(read_environment());
    return instance;
}

}  // namespace weft
