// tests/device/ptx_snippets.h: pieces of PTX, written by hand, as entries that the PTX machine runs.
#pragma once

#include "core/str.h"
#include "support/ptx_machine.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::testing::ptx {

// An entry with registers of every kind, and the addresses of its memory in %out and %in. `head` stands before it.
inline std::string entry_text(const std::string& body, const std::string& head = "") {
    return str(
        ".version 8.1\n.target sm_90a\n.address_size 64\n", head,
        "\n.visible .entry test(.param .u64 pout, .param .u64 pin)\n{\n",
        ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %l<16>; .reg .f32 %f<32>; .reg .f64 %d<8>;\n",
        ".reg .b64 %out, %in, %at; .reg .b32 %t;\n", "ld.param.u64 %out, [pout]; cvta.to.global.u64 %out, %out;\n",
        "ld.param.u64 %in, [pin]; cvta.to.global.u64 %in, %in; mov.u32 %t, %tid.x;\n", body, "\nret;\n}\n");
}

struct Snippet {
    std::string body, head;
    std::int64_t threads = 1, blocks = 1, shared_bytes = 0;
    std::vector<Order> orders{Order::Forward, Order::Backward, Order::Shuffled};
};

// What it leaves in `out`, the same in every order of the threads; -1 where it writes nothing.
template <class T, class In = std::uint64_t>
std::vector<T> run_snippet(const Snippet& snippet, std::size_t results, std::vector<In> in = {}) {
    const auto program = load(entry_text(snippet.body, snippet.head));
    std::vector<T> first;
    for (const Order order : snippet.orders) {
        std::vector<T> out(results, static_cast<T>(-1));
        const std::uint64_t addresses[] = {reinterpret_cast<std::uint64_t>(out.data()),
                                           reinterpret_cast<std::uint64_t>(in.data())};
        run(*program, {.entry = "test",
                       .blocks = {snippet.blocks, 1, 1},
                       .threads = snippet.threads,
                       .parameters = {&addresses[0], &addresses[1]},
                       .memory = {range_of(out), range_of(in, false)},
                       .shared_bytes = snippet.shared_bytes,
                       .order = order,
                       .most_branches = 1000});
        if (first.empty()) first = out;
        if (out != first) throw std::runtime_error("the order of the threads changes the result");
    }
    return first;
}

// The complaint; empty where there is none.
inline std::string complaint(const Snippet& snippet, std::size_t results = 256) {
    for (const Order order : snippet.orders) {
        Snippet one = snippet;
        one.orders = {order};
        try {
            run_snippet<std::uint32_t>(one, results, std::vector<std::uint32_t>(256, 7));
            return {};  // every order must find it
        } catch (const Fault& fault) {
            if (order == snippet.orders.back()) return fault.what();
        }
    }
    return {};
}

inline void check_complaint(const Snippet& snippet, const std::string& what) {
    CAPTURE(snippet.body);
    const std::string found = complaint(snippet);
    CAPTURE(found);
    CHECK(found.find(what) != std::string::npos);
}

}  // namespace weft::testing::ptx
