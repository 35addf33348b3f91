// pipeline/observer.h: who watches runs: a profile, or nobody. Times are nanoseconds of the steady clock.
#pragma once

#include "backend/device.h"
#include "device/threads.h"
#include "pipeline/plan_cache.h"
#include "schedule/capture.h"

#include <cstdint>
#include <memory>
#include <span>

namespace weft::pipeline {

std::int64_t now();

// A step that the host ran, or handed to a device.
struct LaunchedStep {
    int run;
    std::size_t step;
    std::int64_t start, end;                       // on the thread that runs
    std::span<const device::ThreadSpan> threads;   // others that worked on it, and the wait for them
    std::unique_ptr<device::Moment> began, ended;  // on the device; null: the host
    const device::DeviceRuntime* device;
    std::shared_ptr<const Compiled> kernel;  // null: a host function
    int track = -1;                          // the observer's name for the thread
};

class Observer {
public:
    virtual ~Observer() = default;
    // What a plan is about to compute, and for whom; gives a number for the calls below. With the graph lock.
    virtual int captured(const schedule::Captured& captured, const std::shared_ptr<const CachedPlan>& plan) = 0;
    // The same for a plan that jit traced before anybody watched. Without the graph lock.
    virtual int traced_before(const std::shared_ptr<const CachedPlan>& plan) = 0;
    // By the thread that runs.
    virtual void planned(std::int64_t start, std::int64_t end) = 0;
    virtual void launched(LaunchedStep step) = 0;
    virtual void waited(std::uint8_t device, std::int64_t start, std::int64_t end) = 0;
    virtual void copied(std::uint8_t from, std::uint8_t to, std::int64_t start, std::int64_t end) = 0;
    virtual void ran(int run, std::int64_t start, std::int64_t end) = 0;
    virtual void stored(int run, int value, const ir::StorageRef& storage) = 0;  // a result that outlives the run
};

// Set by one thread while no run is under way (the run lock). Read by whoever holds it.
void set_observer(Observer* observer);
Observer* observer();

}  // namespace weft::pipeline
