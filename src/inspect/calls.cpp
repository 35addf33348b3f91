// inspect/calls.cpp: the log of calls, which exists while somebody looks.
#include "inspect/calls.h"

#include "core/str.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>

namespace weft {
namespace inspect {
namespace {

std::atomic<int (*)()> where{nullptr};

struct SiteLog final : ir::CallLog {
    ir::OriginId origin_of_call(std::string_view op) override {
        int (*const ask)() = where.load(std::memory_order_relaxed);
        return static_cast<ir::OriginId>(calls().site_of(ask ? ask() : -1, op)) << 1;
    }
};

SiteLog& site_log() {
    static SiteLog& instance = *new SiteLog;
    return instance;
}
int users = 0;  // under the graph lock

}  // namespace

Calls& calls() {
    static Calls& instance = *new Calls;
    return instance;
}

int Calls::add_line(const SourceLine& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    return static_cast<int>(lines_.size()) - 1;
}

int Calls::site_of(int line, std::string_view op) {
    const std::string key = str(line, " ", op);
    const std::lock_guard lock(mutex_);
    const auto [found, fresh] = numbers_.try_emplace(key, static_cast<int>(sites_.size()));
    if (fresh) sites_.push_back({line, std::string(op)});
    return found->second;
}

Site Calls::site(int number) const {
    const std::lock_guard lock(mutex_);
    return sites_.at(static_cast<std::size_t>(number));
}

SourceLine Calls::line(int number) const {
    if (number < 0) return {};
    const std::lock_guard lock(mutex_);
    return lines_.at(static_cast<std::size_t>(number));
}

void Calls::add_text(const std::string& file, std::string text) {
    const std::lock_guard lock(mutex_);
    for (auto& [known, known_text] : texts_)
        if (known == file) return void(known_text = std::move(text));
    texts_.emplace_back(file, std::move(text));
}

std::string Calls::text(const std::string& file) const {
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [known, text] : texts_)
            if (known == file) return text;
    }
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

CallLogScope::CallLogScope() {
    const std::lock_guard lock(ir::graph_lock());
    if (++users > 1) return;
    site_log().origins.start();
    ir::set_call_log(&site_log());
}

CallLogScope::~CallLogScope() {
    const std::lock_guard lock(ir::graph_lock());
    if (--users > 0) return;
    ir::set_call_log(nullptr);
    site_log().origins.stop();
}

}  // namespace inspect

Inspection::Inspection() : log_(std::make_shared<inspect::CallLogScope>()) {}
Inspection::~Inspection() = default;

struct NamedOp::Scope {
    explicit Scope(std::string_view name) : origin(name) {}
    ir::CallOrigin origin;
};

NamedOp::NamedOp(std::string_view name) {
    if (ir::call_log()) scope_ = std::make_unique<Scope>(name);
}
NamedOp::~NamedOp() = default;

int add_source_line(const SourceLine& line) { return inspect::calls().add_line(line); }
void add_source_text(const std::string& file, std::string text) { inspect::calls().add_text(file, std::move(text)); }
void set_source_callback(int (*ask)()) { inspect::where = ask; }

}  // namespace weft
