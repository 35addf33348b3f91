// tests/fake/fake.h: a driver of one GPU that is not there: the functions of libcuda.so.1 that Weft calls, with the PTX machine (support/ptx_machine.h)
// in place of the multiprocessors. It is stricter than NVIDIA's where that one may choose:
// - nothing happens before somebody waits: copies and kernels stand in the queue of their stream until it, or an event in it, is synchronised;
// - memory of the device has addresses that the host cannot touch, which are never used again, and arbitrary contents;
// - a kernel may touch the allocations that its parameters point into, and nothing else;
// - every handle is checked, and the context of the thread.
// What a program does wrong is said on stderr, and is an error of the call, as in the driver's documentation; what a kernel does wrong is error 700 of
// every call from then on.
//
// Settings, when it is first called: WEFT_FAKE_MEMORY (bytes), WEFT_FAKE_DEVICES (0 or 1), WEFT_FAKE_VERSION (12080), and WEFT_FAKE_FAIL
// ("cuLaunchKernel:2:719": the third call from then on gives this error and does nothing; "kernel:0:700": the first kernel fails while it runs).
//
// A test finds these in the library, by name.
#pragma once

#include <cstdint>

extern "C" {
// How often a function was called ("cuLaunchKernel"), or any ("calls"), "kernel" was run, or "bytes" are allocated.
std::int64_t weft_fake_count(const char* what);
// As WEFT_FAKE_FAIL; `times`: so many calls, one after the other.
void weft_fake_fail(const char* what, int after, int error, int times);
void weft_fake_set_memory(std::uint64_t bytes);
}
