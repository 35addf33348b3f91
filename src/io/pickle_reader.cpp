// io/pickle_reader.cpp: the machine that reads pickles of the protocols 0 to 5. Each op takes memory in proportion to the bytes that it has in
// the file, whatever it says.
#include "io/json.h"
#include "io/pickle.h"

#include <bit>
#include <charconv>
#include <cstdlib>

namespace weft::io {
namespace {

// Names of Python 2, which protocols below 3 write.
std::string module_today(const std::string& module) {
    if (module == "__builtin__") return "builtins";
    if (module == "copy_reg") return "copyreg";
    return module;
}

class Machine {
public:
    Machine(const ErrorContext& context, std::span<const std::byte> bytes, PickleHost& host, Objects& objects)
        : context_(context), bytes_(bytes), host_(host), objects_(objects) {}

    std::size_t run() {
        while (step()) {}
        if (stack_.size() != 1 || !marks_.empty()) damaged("something is left over");
        objects_.root = stack_[0];
        return at_;
    }

private:
    [[noreturn]] void damaged(const std::string& what) const {
        context_.fail("it is damaged, or no file of tensors: " + what + " at byte " + std::to_string(at_) +
                      " of the pickle");
    }

    // ---- bytes
    std::span<const std::byte> take(std::uint64_t count) {
        if (count > bytes_.size() - at_) damaged("the pickle is cut short");
        at_ += count;
        return bytes_.subspan(at_ - count, count);
    }
    std::uint64_t number(int width) { return little_endian(take(width), 0, width); }
    std::string line() {
        const std::string_view left = text_of(bytes_.subspan(at_));
        const std::size_t length = left.find('\n');
        if (length == left.npos) damaged("a line has no end");
        at_ += length + 1;
        return std::string(left.substr(0, length));
    }

    // ---- the stack
    void push(Ref ref) { stack_.push_back(ref); }
    void push(Object object) { push(objects_.add(std::move(object))); }
    std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }  // what is beneath a mark is out of reach
    Ref pop() {
        if (stack_.size() <= floor()) damaged("a value is missing");
        const Ref top = stack_.back();
        stack_.pop_back();
        return top;
    }
    Ref top() const {
        if (stack_.size() <= floor()) damaged("a value is missing");
        return stack_.back();
    }
    std::vector<Ref> pop_mark() {
        if (marks_.empty()) damaged("a mark is missing");
        std::vector<Ref> values(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return values;
    }

    // ---- values
    Ref constant(Kind kind, bool value) {  // None, True, False: one object each
        Ref& known = constants_[kind == Kind::None ? 2 : value];
        if (known == kNone) known = objects_.add({.kind = kind, .integer = value});
        return known;
    }
    void integer(std::int64_t value) { push({.kind = Kind::Int, .integer = value}); }
    void text(std::string value) {
        if (!is_utf8(value)) damaged("a text is not valid UTF-8");
        push({.kind = Kind::Text, .text = std::move(value)});
    }
    void old_text(std::string value) {
        push({.kind = is_utf8(value) ? Kind::Text : Kind::Bytes, .text = std::move(value)});
    }
    void bytes(std::string value) { push({.kind = Kind::Bytes, .text = std::move(value)}); }
    void container(Kind kind, std::vector<Ref> items) { push({.kind = kind, .items = std::move(items)}); }
    void tuple(int count) {
        std::vector<Ref> items(static_cast<std::size_t>(count));
        for (int i = count - 1; i >= 0; --i) items[static_cast<std::size_t>(i)] = pop();
        container(Kind::Tuple, std::move(items));
    }
    void long_integer(std::string digits) {
        if (digits.size() > 8) return push({.kind = Kind::BigInt, .text = std::move(digits)});
        std::uint64_t value = !digits.empty() && (digits.back() & 0x80) ? ~std::uint64_t{0} : 0;
        for (std::size_t i = digits.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
        integer(static_cast<std::int64_t>(value));
    }
    void decimal(std::string_view digits) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc() || end != digits.data() + digits.size()) damaged("an integer is expected");
        integer(value);
    }
    void decimal_line() {
        const std::string digits = line();
        if (digits == "00" || digits == "01") return push(constant(Kind::Bool, digits == "01"));
        decimal(digits.ends_with('L') ? std::string_view(digits).substr(0, digits.size() - 1) : digits);
    }
    void float_line() {
        const std::string digits = line();
        char* end = nullptr;
        const double value = std::strtod(digits.c_str(), &end);
        if (digits.empty() || *end != 0) damaged("a number is expected");
        push({.kind = Kind::Float, .number = value});
    }
    void binary_float() {
        std::uint64_t bits = 0;
        for (const std::byte b : take(8)) bits = bits << 8 | std::to_integer<std::uint64_t>(b);
        push({.kind = Kind::Float, .number = std::bit_cast<double>(bits)});
    }
    void string_line() {  // of protocol 0: quoted, with few escapes in what anybody writes
        const std::string found = line();
        if (found.size() < 2 || (found[0] != '\'' && found[0] != '"') || found.back() != found[0] ||
            found.find('\\') != found.npos)
            damaged("a quoted text is expected");
        old_text(found.substr(1, found.size() - 2));
    }
    void unicode_line() {
        std::string found = line();
        if (found.find('\\') != found.npos) damaged("a text with escapes, which protocol 0 writes, is not read");
        text(std::move(found));
    }

    // ---- changes of objects
    void append(Ref target, const std::vector<Ref>& values) {
        Object& object = objects_[target];
        if (object.kind == Kind::List || object.kind == Kind::Set)
            object.items.insert(object.items.end(), values.begin(), values.end());
        else if (object.kind == Kind::Call)
            object.change().appended.insert(object.change().appended.end(), values.begin(), values.end());
        else damaged("elements are added to what is no list");
    }
    void set_members(Ref target, const std::vector<Ref>& values) {
        if (values.size() % 2 != 0) damaged("a key has no value");
        Object& object = objects_[target];
        if (object.kind == Kind::Dict) object.items.insert(object.items.end(), values.begin(), values.end());
        else if (object.kind == Kind::Call)
            object.change().members.insert(object.change().members.end(), values.begin(), values.end());
        else damaged("members are set of what is no dict");
    }
    void build() {
        const Ref state = pop();
        Object& object = objects_[top()];
        if (object.kind == Kind::Tensor)
            return;  // attributes that a program gave to a tensor: its value is what counts
        if (object.kind != Kind::Call) damaged("attributes are set of what has none");
        object.change().states.push_back(state);
    }

    // ---- globals and calls
    void global(std::string module, const std::string& name) {
        if (!is_utf8(module) || !is_utf8(name)) damaged("a name is not valid UTF-8");
        Object object{.kind = Kind::Global};
        object.text = module_today(module) + "\n" + name;
        if (!host_.allowed(global_name(object))) {
            const std::string full = one_line(global_name(object)),
                              shown = object.text.starts_with("builtins\n") ? one_line(name) : full;
            throw IoError(context_.call + ": the file asks for " + full +
                          ", but only tensors, numbers, strings and containers of them are loaded. If you trust that "
                          "class or function, allow "
                          "it with weft.serialization.add_safe_globals([" +
                          shown + "]); if you trust the whole file, code included, pass weights_only=False");
        }
        push(std::move(object));
    }
    void stack_global() {
        const Ref name = pop(), module = pop();
        if (objects_[name].kind != Kind::Text || objects_[module].kind != Kind::Text)
            damaged("the name of a global is no text");
        global(objects_[module].text, objects_[name].text);
    }
    void call(Ref callee, Ref arguments, std::optional<Ref> names, bool makes) {
        if (objects_[callee].kind != Kind::Global) damaged("something is called that is no function");
        if (objects_[arguments].kind != Kind::Tuple || (names && objects_[*names].kind != Kind::Dict))
            damaged("a call has no arguments");
        if (!names && !makes) {
            const std::vector<Ref> values = objects_[arguments].items;
            if (const auto found = host_.call(objects_, global_name(objects_[callee]), values)) return push(*found);
        }
        std::vector<Ref> items = {callee, arguments};
        if (names) items.push_back(*names);
        push({.kind = Kind::Call, .makes = makes, .items = std::move(items)});
    }
    void reduce(bool makes) {
        const Ref arguments = pop(), callee = pop();
        call(callee, arguments, {}, makes);
    }
    void call_marked(bool named) {  // of protocol 0: the class and its arguments since a mark
        std::vector<Ref> values = pop_mark();
        if (named) {
            const std::string module = line(), name = line();
            global(module, name);
        } else {
            if (values.empty()) damaged("a class is missing");
            push(values[0]);
            values.erase(values.begin());
        }
        const Ref callee = pop();
        call(callee, objects_.add({.kind = Kind::Tuple, .items = std::move(values)}), {}, false);
    }

    // ---- the memo
    void put(std::uint64_t key) { memo_[key] = top(); }
    void get(std::uint64_t key) {
        const auto found = memo_.find(key);
        if (found == memo_.end()) damaged("an object is recalled that was not kept");
        push(found->second);
    }
    std::uint64_t key_line() {
        const std::string digits = line();
        std::uint64_t key = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), key);
        if (error != std::errc() || end != digits.data() + digits.size()) damaged("a number is expected");
        return key;
    }

    std::string taken_text(std::uint64_t count) { return std::string(text_of(take(count))); }

    bool step();
    bool step_new(unsigned char op);

    static constexpr Ref kNone = ~Ref{0};
    const ErrorContext& context_;
    std::span<const std::byte> bytes_;
    PickleHost& host_;
    Objects& objects_;
    std::size_t at_ = 0;
    std::vector<Ref> stack_;
    std::vector<std::size_t> marks_;
    std::unordered_map<std::uint64_t, Ref> memo_;
    Ref constants_[3] = {kNone, kNone, kNone};
};

// clang-format off
// The ops of protocols 0 and 1; false at the end.
bool Machine::step() {
    const auto op = static_cast<unsigned char>(number(1));
    switch (op) {
        case '.': return false;
        case '(': marks_.push_back(stack_.size()); break;
        case '0': if (stack_.size() > floor()) pop(); else pop_mark(); break;
        case '1': pop_mark(); break;
        case '2': push(top()); break;
        case 'F': float_line(); break;
        case 'G': binary_float(); break;
        case 'I': case 'L': decimal_line(); break;
        case 'J': integer(static_cast<std::int32_t>(number(4))); break;
        case 'K': integer(static_cast<std::int64_t>(number(1))); break;
        case 'M': integer(static_cast<std::int64_t>(number(2))); break;
        case 'N': push(constant(Kind::None, false)); break;
        case 'P': old_text(line()); push(host_.persistent(objects_, pop())); break;
        case 'Q': push(host_.persistent(objects_, pop())); break;
        case 'R': reduce(false); break;
        case 'S': string_line(); break;
        case 'T': old_text(taken_text(number(4))); break;
        case 'U': old_text(taken_text(number(1))); break;
        case 'V': unicode_line(); break;
        case 'X': text(taken_text(number(4))); break;
        case 'B': bytes(taken_text(number(4))); break;
        case 'C': bytes(taken_text(number(1))); break;
        case 'a': { const Ref value = pop(); append(top(), {value}); break; }
        case 'e': { const auto values = pop_mark(); append(top(), values); break; }
        case 'b': build(); break;
        case 'c': { std::string module = line(); global(std::move(module), line()); break; }
        case 'd': { auto values = pop_mark(); container(Kind::Dict, {}); set_members(top(), values); break; }
        case '}': container(Kind::Dict, {}); break;
        case 'g': get(key_line()); break;
        case 'h': get(number(1)); break;
        case 'i': call_marked(true); break;
        case 'j': get(number(4)); break;
        case 'l': container(Kind::List, pop_mark()); break;
        case ']': container(Kind::List, {}); break;
        case 'o': call_marked(false); break;
        case 'p': put(key_line()); break;
        case 'q': put(number(1)); break;
        case 'r': put(number(4)); break;
        case 's': { const Ref value = pop(), key = pop(); set_members(top(), {key, value}); break; }
        case 't': container(Kind::Tuple, pop_mark()); break;
        case ')': container(Kind::Tuple, {}); break;
        case 'u': { const auto values = pop_mark(); set_members(top(), values); break; }
        default: return step_new(op);
    }
    return true;
}

// The ops of protocols 2 to 5.
bool Machine::step_new(unsigned char op) {
    switch (op) {
        case 0x80: if (number(1) > 5) damaged("the pickle is of an unknown protocol"); break;
        case 0x81: reduce(true); break;
        case 0x85: case 0x86: case 0x87: tuple(op - 0x84); break;
        case 0x88: case 0x89: push(constant(Kind::Bool, op == 0x88)); break;
        case 0x8a: long_integer(taken_text(number(1))); break;
        case 0x8b: long_integer(taken_text(number(4))); break;
        case 0x8c: text(taken_text(number(1))); break;
        case 0x8d: text(taken_text(number(8))); break;
        case 0x8e: bytes(taken_text(number(8))); break;
        case 0x8f: container(Kind::Set, {}); break;
        case 0x90: { const auto values = pop_mark(); append(top(), values); break; }
        case 0x91: container(Kind::FrozenSet, pop_mark()); break;
        case 0x92: { const Ref names = pop(), arguments = pop(), callee = pop(); call(callee, arguments, names, true); break; }
        case 0x93: stack_global(); break;
        case 0x94: put(memo_.size()); break;
        case 0x95: if (number(8) > bytes_.size() - at_) damaged("the pickle is cut short"); break;
        case 0x96: {  // a bytearray: the call that other protocols write
            push({.kind = Kind::Global, .text = "builtins\nbytearray"});
            bytes(taken_text(number(8)));
            tuple(1);
            reduce(false);
            break;
        }
        case 0x82: case 0x83: case 0x84: damaged("a name of a process' own table is not read");
        case 0x97: case 0x98: damaged("a buffer that lies outside of the file is not read");
        default: damaged("the byte " + std::to_string(op) + " is no op of a pickle");
    }
    return true;
}

// clang-format on

}  // namespace

std::string global_name(const Object& global) {
    std::string name = global.text;
    if (const auto end = name.find('\n'); end != name.npos) name[end] = '.';
    return name;
}

Ref Objects::add(Object object) {
    if (all.size() >= 0xfffffffe) throw IoError("a pickle has more than 4 billion objects");
    all.push_back(std::move(object));
    return static_cast<Ref>(all.size() - 1);
}

std::size_t read_pickle(const ErrorContext& context, std::span<const std::byte> bytes, PickleHost& host,
                        Objects& objects) {
    return Machine(context, bytes, host, objects).run();
}

}  // namespace weft::io
