// pipeline/observer.h: who watches runs: a profile, or nobody. Times are nanoseconds of the steady clock.
#pragma once

#include "pipeline/plan_cache.h"
#include "schedule/capture.h"

#include <cstdint>
#include <memory>

namespace weft::pipeline {

std::int64_t now();

class Observer {
public:
    virtual ~Observer() = default;
    // What a plan is about to compute, and for whom; gives a number for the calls below. With the graph lock.
    virtual int captured(const schedule::Captured& captured, const std::shared_ptr<const CachedPlan>& plan) = 0;
    // The same for a plan that jit captured before anybody watched. Without the graph lock.
    virtual int captured_before(const std::shared_ptr<const CachedPlan>& plan) = 0;
    // By the thread that runs.
    virtual void planned(std::int64_t start, std::int64_t end) = 0;
    virtual void launched(int run, std::size_t step, std::int64_t start, std::int64_t end) = 0;
    virtual void ran(int run, std::int64_t start, std::int64_t end) = 0;
    virtual void stored(int run, int value, const ir::StorageRef& storage) = 0;  // a result that outlives the run
};

// Set by one thread while no run is under way (the run lock). Read by whoever holds it.
void set_observer(Observer* observer);
Observer* observer();

}  // namespace weft::pipeline
