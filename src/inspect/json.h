// inspect/json.h: a JSON value to be written. Members stay in the order in which they came. (A library for this would cost each build of Weft more
// time than these lines took.)
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft::inspect {

class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;

    Json() : value_(Object()) {}
    Json(std::initializer_list<std::pair<std::string_view, Json>> members) : value_(Object()) {
        for (const auto& [name, value] : members) (*this)[name] = value;
    }
    template <std::integral T>
    Json(T number) : value_(static_cast<std::int64_t>(number)) {}
    Json(double number) : value_(number) {}
    Json(std::string text) : value_(std::move(text)) {}
    Json(std::string_view text) : value_(std::string(text)) {}
    Json(const char* text) : value_(std::string(text)) {}
    template <class T>
    Json(const std::vector<T>& elements) : value_(Array(elements.begin(), elements.end())) {}
    template <class A, class B>
    Json(const std::pair<A, B>& both) : value_(Array{both.first, both.second}) {}
    static Json array() { return Json(Array()); }

    Json& operator[](std::string_view name);  // of an object; added if it is missing
    bool has(std::string_view name) const;
    Json& operator[](std::size_t index) { return std::get<Array>(value_)[index]; }
    void push_back(Json element) { std::get<Array>(value_).push_back(std::move(element)); }
    std::size_t size() const { return std::get<Array>(value_).size(); }
    bool contains(std::int64_t number) const;  // of an array

    std::string dump() const;

private:
    explicit Json(Array elements) : value_(std::move(elements)) {}
    void write(std::string& out) const;
    std::variant<std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace weft::inspect
