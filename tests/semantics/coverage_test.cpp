// How claims are checked, the run of all of them on `c`, and that no line of the document lacks a test, nor a test a line.
#include "tests/semantics/lines.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace weft::testing {

std::vector<LineEntry>& registered_lines() {
    static std::vector<LineEntry> entries;
    return entries;
}

namespace {

template <class T>
bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
    else return a == b;
}

template <class T>
std::string text_of(const std::vector<T>& values) {
    std::ostringstream out;
    for (const T value : values) out << ' ' << value;
    return out.str();
}

template <class T>
void check_values(const Claim& claim, const std::vector<T>& expected) {
    const std::vector<T> got = claim.value.to_vector<T>();
    const bool equal = std::equal(got.begin(), got.end(), expected.begin(), expected.end(), same<T>);
    const std::string is = text_of(got), must_be = text_of(expected);
    CHECK_MESSAGE(equal, claim.line, ": is", is, ", must be", must_be);
}

}  // namespace

void check_claims(const std::vector<Claim>& claims, std::string_view backend) {
    const BackendScope scope(backend);
    CAPTURE(backend);
    std::vector<Tensor> values;
    for (const Claim& claim : claims) values.push_back(claim.value);
    realize(values);
    for (const Claim& claim : claims)
        std::visit([&](const auto& expected) { check_values(claim, expected); }, claim.expected);
}

void check_line(const char* name, void (*body)(Line&), std::string_view backend) {
    std::vector<Claim> claims;
    Line line(name, claims);
    body(line);
    REQUIRE_FALSE(claims.empty());
    check_claims(claims, backend);
}

namespace {

// "S12" of "S12: …" and of a row "| S12 | …" of the document.
std::string number_of(std::string_view text) {
    std::size_t end = 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    return text.starts_with('S') && end > 1 ? std::string(text.substr(0, end)) : "";
}

}  // namespace

TEST_CASE("the listed values are the same on c") {
    constexpr std::size_t kClaimsPerRun = 150;  // one start of the compiler each
    std::vector<Claim> claims;
    for (const LineEntry& entry : registered_lines()) {
        Line line(entry.name, claims);
        if (entry.body) entry.body(line);
        if (claims.size() < kClaimsPerRun) continue;
        check_claims(claims, "c");
        claims.clear();
    }
    check_claims(claims, "c");
}

TEST_CASE("every line of docs/semantics.md has a test, and every test a line") {
    std::ifstream file(WEFT_SOURCE_DIR "/docs/semantics.md");
    REQUIRE(file);
    std::set<std::string> documented, tested;
    for (std::string row; std::getline(file, row);) {
        if (!row.starts_with("| S")) continue;
        const std::string number = number_of(std::string_view(row).substr(2));
        REQUIRE_MESSAGE(!number.empty(), row);
        CHECK_MESSAGE(documented.insert(number).second, number, " stands twice in the document");
    }
    for (const LineEntry& entry : registered_lines()) tested.insert(number_of(entry.name));
    for (const std::string& number : documented) CHECK_MESSAGE(tested.contains(number), number, " has no test");
    for (const std::string& number : tested) CHECK_MESSAGE(documented.contains(number), number, " has no line");
}

}  // namespace weft::testing
