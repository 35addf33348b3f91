// weft/shape.h: Shape, a short list of 64-bit sizes, and the small vector it is made of. Every part may include this.
#pragma once

#include <weft/api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace WEFT_API weft {

// A vector whose first N elements need no allocation: nodes are made by the million, and most have few dimensions.
template <class T, std::size_t N>
class InlineVector {
public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    InlineVector() = default;
    InlineVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
    InlineVector(std::span<const T> values) { append(values.begin(), values.end()); }
    InlineVector(const std::vector<T>& values) { append(values.begin(), values.end()); }
    template <std::input_iterator It>
    InlineVector(It first, It last) {
        append(first, last);
    }
    InlineVector(const InlineVector& other) { copy(other); }
    InlineVector(InlineVector&& other) noexcept { take(other); }
    InlineVector& operator=(const InlineVector& other) {
        if (this != &other) {
            clear();
            copy(other);
        }
        return *this;
    }
    InlineVector& operator=(InlineVector&& other) noexcept {
        if (this != &other) {
            release();
            take(other);
        }
        return *this;
    }
    ~InlineVector() {
        std::destroy_n(data_, size_);
        if (data_ != inline_data()) deallocate();
    }

    // A named function, for Shape(3, 1) would be read as the shape [3, 1].
    static InlineVector filled(std::size_t count, const T& value = T()) {
        InlineVector result;
        result.resize(count, value);
        return result;
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T& front() { return data_[0]; }
    const T& front() const { return data_[0]; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }

    void reserve(std::size_t count) {
        if (count > capacity_) grow(count);
    }
    void push_back(T value) {
        if (size_ == capacity_) grow(size_ + 1);
        std::construct_at(data_ + size_, std::move(value));
        ++size_;
    }
    void pop_back() { std::destroy_at(data_ + --size_); }
    void clear() {
        std::destroy_n(data_, size_);
        size_ = 0;
    }
    void resize(std::size_t count, const T& value = T()) {
        while (size_ > count) pop_back();
        reserve(count);
        while (size_ < count) push_back(value);
    }
    void assign(std::size_t count, const T& value) {
        clear();
        resize(count, value);
    }
    template <class It>
    void append(It first, It last) {
        reserve(size_ + static_cast<std::size_t>(std::distance(first, last)));
        for (; first != last; ++first, ++size_) std::construct_at(data_ + size_, *first);
    }
    T* insert(const T* where, T value) {
        const std::size_t at = where - data_;
        push_back(std::move(value));
        std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
        return data_ + at;
    }
    T* erase(const T* where) {
        T* at = data_ + (where - data_);
        std::move(at + 1, end(), at);
        pop_back();
        return at;
    }

    operator std::span<const T>() const { return {data_, size_}; }
    friend bool operator==(const InlineVector& a, const InlineVector& b) {
        return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    // Short lists of numbers are copied by every op, as the few words that they are; so these have values at any time.
    static constexpr bool kWords = std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64;
    struct Room {
        Room() {
            if constexpr (kWords) std::memset(bytes, 0, sizeof bytes);
        }
        alignas(T) std::byte bytes[N * sizeof(T)];
    };

    // What long lists need is not repeated wherever a short one is copied.
    [[gnu::noinline]] void grow(std::size_t least) {
        const std::size_t wanted = std::max(least, 2 * capacity_);
        T* fresh = std::allocator<T>().allocate(wanted);
        std::uninitialized_move_n(data_, size_, fresh);
        const std::size_t count = size_;
        release();
        data_ = fresh;
        size_ = count;
        capacity_ = wanted;
    }
    void release() {
        std::destroy_n(data_, size_);
        if (data_ != inline_data()) deallocate();
        data_ = inline_data();
        size_ = 0;
        capacity_ = N;
    }
    [[gnu::noinline]] void deallocate() { std::allocator<T>().deallocate(data_, capacity_); }
    [[gnu::noinline]] void copy_each(const InlineVector& other) { append(other.begin(), other.end()); }
    [[gnu::noinline]] void take_memory(InlineVector& other) noexcept {
        data_ = std::exchange(other.data_, other.inline_data());
        size_ = std::exchange(other.size_, 0);
        capacity_ = std::exchange(other.capacity_, N);
    }
    void copy(const InlineVector& other) {  // into an empty one
        if constexpr (kWords)
            if (other.data_ == other.inline_data() && data_ == inline_data()) {
                copy_words(other);
                return;
            }
        copy_each(other);
    }
    void copy_words(const InlineVector& other) {
        std::memcpy(room_.bytes, other.room_.bytes, sizeof room_.bytes);
        size_ = other.size_;
    }
    void take(InlineVector& other) noexcept {
        if (other.data_ == other.inline_data()) {
            if constexpr (kWords) copy_words(other);
            else std::uninitialized_move_n(other.data_, other.size_, data_);
            size_ = other.size_;
            other.clear();
        } else {
            take_memory(other);
        }
    }
    T* inline_data() { return reinterpret_cast<T*>(room_.bytes); }
    const T* inline_data() const { return reinterpret_cast<const T*>(room_.bytes); }

    Room room_;
    T* data_ = inline_data();
    std::size_t size_ = 0;
    std::size_t capacity_ = N;
};

// Sizes, strides, starts and axes are all short lists of 64-bit numbers.
using Dims = InlineVector<std::int64_t, 6>;
using Shape = Dims;

std::string to_string(const Dims& dims);  // "[2, 3]"
std::ostream& operator<<(std::ostream& out, const Dims& dims);

// The number of elements. Throws ValueError if it does not fit 63 bits; 1 for a scalar.
std::int64_t numel(const Shape& shape);

// Strides, in elements, of a dense row-major array.
Dims row_major_strides(const Shape& shape);

}  // namespace weft
