// inspect/code.cpp: the kernel is compiled once more, with its text; running programs do without it.
#include "inspect/code.h"

#include "backend/backend.h"

#include <weft/error.h>

#include <algorithm>
#include <bitset>
#include <sstream>

namespace weft::inspect {
namespace {

// "zmm12" and "ymm12" are one register: its number, or -1.
int vector_register(const std::string& line, std::size_t& at) {
    at = line.find("mm", at);
    if (at == std::string::npos) return -1;
    at += 2;
    int number = -1;
    if (at >= 3 && std::string_view("xyz").find(line[at - 3]) != std::string_view::npos)
        for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
            number = std::max(number, 0) * 10 + (line[at] - '0');
    return number;
}

void count_registers(Code& code) {
    std::bitset<64> used;
    code.spills = 0;
    std::istringstream lines(code.text);
    for (std::string line; std::getline(lines, line);) {
        bool any = false;
        for (std::size_t at = 0; at != std::string::npos;)
            if (const int number = vector_register(line, at); number >= 0 && number < 64) used.set(number), any = true;
        code.spills += any && line.find("[rsp") != std::string::npos;
    }
    code.registers = static_cast<int>(used.count());
}

}  // namespace

Code code_of(const kernel::Kernel& kernel, const Target& target) {
    Code code;
    const kernel::Kernel* const kernels[] = {&kernel};
    try {
        const auto program = backend::named(target).compile(kernels, target, backend::Detail::Machine).front();
        code.text = program->machine();
        if (!code.text.empty()) count_registers(code);
        else code.text = program->source();
    } catch (const BackendError&) {
        // It ran when it was compiled; without its compiler there is nothing to show now.
    }
    return code;
}

}  // namespace weft::inspect
