// weft/cuda.h: NVIDIA's GPUs: what is there, its memory, its order of work, and memory that is shared with other libraries. Tensors go there as to
// any device: x.to("cuda").
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace WEFT_API weft {
namespace cuda {

int device_count();     // that the driver finds, of those that CUDA_VISIBLE_DEVICES lets it see; 0 without a driver
std::string problem();  // why cuda:0 cannot be used: "NVIDIA's driver is not installed (…)"; empty: it can

bool is_open(Device device);          // whether it was used: asking does not open it
GpuProperties properties(int index);  // does not open the device; ValueError where there is none

// ---- memory ----------------------------------------------------------------------------------------------------------

DeviceMemory memory_use(Device device);
void reset_most_used(Device device);  // most_… count from here
void release_memory(Device device);   // what is kept goes back to the driver

// The values in page-locked memory of the host, from which a GPU copies while the program goes on; x itself if it is there.
Tensor pinned(const Tensor& x, Device device = "cuda");
bool is_pinned(const Tensor& x);
Tensor copy(const Tensor& x);  // computed, dense, and in memory that nobody else has

// ---- order -----------------------------------------------------------------------------------------------------------

// A device does its work in one stream, in the order of the calls, and the program waits only where it reads a value.
void synchronize(
    Device device);           // computes what was recorded there, and waits for it; throws what went wrong on the way
bool is_idle(Device device);  // whether it has done all that was launched
std::uintptr_t stream(Device device);  // the stream, as the driver's functions take it

// A place in that order.
//
//     const cuda::Event before("cuda");
//     y = matmul(x, x);
//     const cuda::Event after("cuda");
//     after.wait();
//     after.milliseconds_after(before);
class Event {
public:
    explicit Event(Device device);                // behind all that was recorded before, which is launched
    static Event behind_launched(Device device);  // behind what was launched: computes nothing
    bool reached() const;                         // does not wait
    void wait() const;
    double milliseconds_after(const Event& before) const;  // both were reached; ValueError for events of two devices

private:
    Event() = default;
    Device device_;
    std::shared_ptr<const void> event_;
};

// ---- other libraries -------------------------------------------------------------------------------------------------

// Libraries that use the device in a stream of theirs; 1 is the default stream.
void run_after(Device device, std::uintptr_t stream);   // what comes here waits for what is there
void run_before(Device device, std::uintptr_t stream);  // what comes there waits for what is here
void take_back(Device device,
               std::uintptr_t stream) noexcept;  // memory that was handed out: what is there may still use it

// While one lives, a library's memory is used here (from_memory, from_shared_memory): runs and the default stream wait for each other.
class Sharing {
public:
    explicit Sharing(Device device);
    ~Sharing();
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;
    Device device() const { return device_; }

private:
    Device device_;
};

}  // namespace cuda
}  // namespace weft
