// tests/fake/device.cpp: the start, the device and its context.
#include "fake/fake.h"
#include "fake/state.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::fake {
namespace {

struct ErrorText {
    Error error;
    const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kUnsupportedPtx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int find_error(int error, const char** text, const char* ErrorText::*field) {
    *text = nullptr;
    for (const ErrorText& each : kErrors)
        if (each.error == error) *text = each.*field;
    return *text ? kSuccess : kInvalidValue;
}

void check_device(int device) {
    if (device != 0) throw CallError{kInvalidDevice, "there is one device"};
}

// An H200.
constexpr std::pair<int, int> kAttributes[] = {{1, 1024}, {8, 49152},     {10, 32},    {12, 65536},
                                               {16, 132}, {38, 62914560}, {39, 2048},  {75, 9},
                                               {76, 0},   {81, 233472},   {97, 232448}};

}  // namespace
}  // namespace weft::fake

using namespace weft::fake;

WEFT_FAKE_EXPORT int cuInit(unsigned flags) {
    return call("cuInit", Needs::Nothing, [&] {
        State& s = state();
        if (flags != 0) throw CallError{kInvalidValue, "flags must be 0"};
        if (s.devices == 0) throw CallError{kNoDevice, ""};
        if (s.process == 0) std::atexit([] { state().is_gone = true; });
        s.process = ::getpid();
    });
}

WEFT_FAKE_EXPORT int cuDriverGetVersion(int* version) {
    return call("cuDriverGetVersion", Needs::Nothing, [&] { *version = state().version; });
}

WEFT_FAKE_EXPORT int cuGetErrorName(int error, const char** text) { return find_error(error, text, &ErrorText::name); }
WEFT_FAKE_EXPORT int cuGetErrorString(int error, const char** text) {
    return find_error(error, text, &ErrorText::text);
}

WEFT_FAKE_EXPORT int cuDeviceGetCount(int* count) {
    return call("cuDeviceGetCount", Needs::Init, [&] { *count = state().devices; });
}

WEFT_FAKE_EXPORT int cuDeviceGet(int* device, int index) {
    return call("cuDeviceGet", Needs::Init, [&] {
        check_device(index);
        *device = index;
    });
}

WEFT_FAKE_EXPORT int cuDeviceGetName(char* name, int length, int device) {
    return call("cuDeviceGetName", Needs::Init, [&] {
        check_device(device);
        std::snprintf(name, static_cast<std::size_t>(length), "Fake H200");
    });
}

WEFT_FAKE_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
    return call("cuDeviceGetAttribute", Needs::Init, [&] {
        check_device(device);
        for (const auto& [number, has] : kAttributes)
            if (number == attribute) {
                *value = has;
                return;
            }
        throw CallError{kInvalidValue, "the fake does not know the attribute " + std::to_string(attribute)};
    });
}

WEFT_FAKE_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
    return call("cuDeviceTotalMem_v2", Needs::Init, [&] {
        check_device(device);
        *bytes = state().memory;
    });
}

WEFT_FAKE_EXPORT int cuDevicePrimaryCtxRetain(Context** context, int device) {
    return call("cuDevicePrimaryCtxRetain", Needs::Init, [&] {
        check_device(device);
        *context = &state().context;
    });
}

WEFT_FAKE_EXPORT int cuCtxSetCurrent(Context* context) {
    return call("cuCtxSetCurrent", Needs::Init, [&] {
        if (context && context != &state().context) throw CallError{kInvalidContext, "this is no context"};
        current_context() = context;
    });
}
