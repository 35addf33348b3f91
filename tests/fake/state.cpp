// tests/fake/state.cpp: what all functions of the fake driver have in common.
#include "fake/state.h"

#include "fake/fake.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>

namespace weft::fake {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
    const char* const value = std::getenv(name);
    return value && *value ? std::strtoull(value, nullptr, 10) : otherwise;
}

State* with_settings() {
    State& s = *new State;
    s.memory = setting("WEFT_FAKE_MEMORY", s.memory);
    s.version = static_cast<int>(setting("WEFT_FAKE_VERSION", 12080));
    s.devices = static_cast<int>(setting("WEFT_FAKE_DEVICES", 1));
    if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible && *visible != '0') s.devices = 0;
    if (const char* const given = std::getenv("WEFT_FAKE_FAIL")) {
        std::istringstream all(given);
        for (std::string one; std::getline(all, one, ',');) {
            char name[64];
            Failure failure;
            if (std::sscanf(one.c_str(), "%63[^:]:%d:%d", name, &failure.after, &failure.error) != 3)
                std::fprintf(stderr, "fake driver: WEFT_FAKE_FAIL is function:after:error\n");
            else s.failures[name] = failure;
        }
    }
    return &s;
}

}  // namespace

State& state() {
    static State& instance = *with_settings();  // calls come until the very end
    return instance;
}

Context*& current_context() {
    thread_local Context* context = nullptr;
    return context;
}

int injected(std::string_view what) {
    const auto found = state().failures.find(what);
    if (found == state().failures.end() || found->second.after-- > 0) return 0;
    const int error = found->second.error;
    if (--found->second.times <= 0) state().failures.erase(found);
    return error;
}

int call(const char* name, Needs needs, const std::function<void()>& body) {
    State& s = state();
    const pid_t process = s.process;
    if (process != 0 && process != ::getpid()) return kNotInitialized;  // and the mutex may be locked for ever
    if (s.is_gone) return kDeinitialized;
    const std::lock_guard lock(s.mutex);
    ++s.counts[name];
    ++s.calls;
    if (const int error = injected(name)) return error;
    if (needs >= Needs::Init && process == 0) return kNotInitialized;
    if (needs == Needs::Context && s.sticky) return s.sticky;
    try {
        if (needs == Needs::Context && current_context() != &s.context)
            throw CallError{kInvalidContext, "the thread has no context"};
        body();
    } catch (const CallError& failed) {
        if (!failed.why.empty())
            std::fprintf(stderr, "fake driver: %s gives %d: %s\n", name, failed.error, failed.why.c_str());
        return failed.error;
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "fake driver: %s: %s\n", name, failed.what());
        return kUnknown;
    }
    return kSuccess;
}

AllocationRef allocation_of(Address address, std::size_t bytes) {
    auto after = state().allocations.upper_bound(address);
    if (after != state().allocations.begin()) {
        const AllocationRef& found = std::prev(after)->second;
        if (address - found->address < found->bytes && bytes <= found->bytes - (address - found->address)) return found;
    }
    throw CallError{kInvalidValue, std::to_string(bytes) + " bytes at " + std::to_string(address) +
                                       " are not in memory that is allocated"};
}

Stream& stream_of(Stream* handle) {
    return reinterpret_cast<std::uintptr_t>(handle) <= 2 ? state().default_stream : *state().streams[handle];
}

void enqueue(Stream* stream, std::function<void()> work) { stream_of(stream).queue.push_back(std::move(work)); }

void drain(Stream& stream, const std::function<bool()>& done) {
    while (!done() && !stream.queue.empty()) {
        const auto work = std::move(stream.queue.front());
        stream.queue.pop_front();
        if (state().sticky == 0) work();
    }
    if (state().sticky) throw CallError{static_cast<Error>(state().sticky), ""};
}

}  // namespace weft::fake

using weft::fake::state;

WEFT_FAKE_EXPORT std::int64_t weft_fake_count(const char* what) {
    const std::lock_guard lock(state().mutex);
    if (std::string_view(what) == "bytes") return static_cast<std::int64_t>(state().used);
    if (std::string_view(what) == "calls") return state().calls;
    const auto found = state().counts.find(what);
    return found == state().counts.end() ? 0 : found->second;
}

WEFT_FAKE_EXPORT void weft_fake_fail(const char* what, int after, int error, int times) {
    const std::lock_guard lock(state().mutex);
    state().failures.erase(what);
    if (times > 0) state().failures[what] = {after, error, times};
}

WEFT_FAKE_EXPORT void weft_fake_set_memory(std::uint64_t bytes) {
    const std::lock_guard lock(state().mutex);
    state().memory = bytes;
}
