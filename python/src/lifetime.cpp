// python/src/lifetime.cpp: what was put aside until somebody holds the GIL.
#include "lifetime.h"

#include <nanobind/nanobind.h>

#include <mutex>
#include <utility>
#include <vector>

namespace weft::python {

namespace {

struct Aside {
    std::mutex mutex;
    std::vector<std::function<void()>> waiting;
    bool announced = false;
};
Aside& aside() {
    static Aside& instance = *new Aside;  // never destroyed: tensors may outlive any order of destruction
    return instance;
}

int settle_for_python(void*) {
    settle();
    return 0;
}

}  // namespace

void put_aside(std::function<void()> let_go) {
    const std::lock_guard lock(aside().mutex);
    aside().waiting.push_back(std::move(let_go));
    if (!aside().announced) aside().announced = Py_AddPendingCall(settle_for_python, nullptr) == 0;
}

void settle() {
    std::vector<std::function<void()>> waiting;
    {
        const std::lock_guard lock(aside().mutex);
        waiting.swap(aside().waiting);
        aside().announced = false;
    }
    for (const auto& let_go : waiting) let_go();
}

}  // namespace weft::python
