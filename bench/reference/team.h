// bench/reference/team.h: the caller and one helper that spins, so that a reference pays half a microsecond for its second thread. They
// claim pieces of the work one by one: a neighbour on one core delays a piece, not half of the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace bench {

class Team {
public:
    Team();
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Calls work(i) for i in 0 … pieces - 1, each once, on both threads; returns when all are done.
    void run(std::int64_t pieces, const std::function<void(std::int64_t)>& work);

private:
    void help();
    void take_part();

    std::atomic<std::uint64_t> ticket_{0};  // high half: which job; low half: pieces that nobody has claimed
    alignas(64) std::atomic<std::int64_t> done_{0};
    alignas(64) std::atomic<std::uint32_t> wake_{0};
    std::atomic<bool> asleep_{false}, stop_{false};
    const std::function<void(std::int64_t)>* work_ = nullptr;  // these two are read by holders of a claim only
    std::int64_t pieces_ = 0;
    std::thread helper_;
};

Team& team();  // started when first asked for

}  // namespace bench
