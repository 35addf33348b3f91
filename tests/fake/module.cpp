// tests/fake/module.cpp: the assembler, and modules. Machine code is a head and the PTX itself.
#include "fake/state.h"

#include "support/ptx_block.h"
#include "support/ptx_tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace weft::fake;

namespace {

struct CubinHead {
    char magic[8] = {'\177', 'E', 'L', 'F', 'f', 'a', 'k', 'e'};
    std::uint64_t bytes = 0, hash = 0;  // of the text behind it
};

std::string cubin_of(const std::string& text) {
    CubinHead head;
    head.bytes = text.size();
    head.hash = std::hash<std::string>()(text);
    return std::string(reinterpret_cast<const char*>(&head), sizeof head) + text;
}

std::string text_of(const void* image) {
    CubinHead head, wanted;
    if (std::memcmp(image, wanted.magic, 4) != 0) {
        const auto* const text = static_cast<const char*>(image);
        if (*text == '.' || *text == '/') return text;
        throw CallError{kInvalidImage, "this is neither PTX nor machine code"};
    }
    std::memcpy(&head, image, sizeof head);
    if (std::memcmp(head.magic, wanted.magic, sizeof head.magic) != 0)
        throw CallError{kInvalidImage, "this is machine code of something else"};
    std::string text(static_cast<const char*>(image) + sizeof head, head.bytes);
    if (std::hash<std::string>()(text) != head.hash) throw CallError{kInvalidImage, "this machine code is damaged"};
    return text;
}

std::shared_ptr<Module> module_of(std::string text) {
    auto module = std::make_shared<Module>();
    module->program = ptx::load(std::move(text));
    return module;
}

constexpr int kErrorLog = 5, kErrorLogBytes = 6, kPtxInput = 1, kRegisters = 4, kMostDynamicShared = 8;

}  // namespace

WEFT_FAKE_EXPORT int cuLinkCreate_v2(unsigned count, int* names, void** values, Link** link) {
    return call("cuLinkCreate_v2", Needs::Context, [&] {
        auto made = std::make_shared<Link>();
        for (unsigned i = 0; i < count; ++i) {
            if (names[i] == kErrorLog) made->log = static_cast<char*>(values[i]);
            if (names[i] == kErrorLogBytes) made->log_bytes = reinterpret_cast<std::size_t>(values[i]);
        }
        *link = state().links.add(std::move(made));
    });
}

WEFT_FAKE_EXPORT int cuLinkAddData_v2(Link* link, int type, void* data, std::size_t bytes, const char*, unsigned, int*,
                                      void**) {
    return call("cuLinkAddData_v2", Needs::Context, [&] {
        Link& to = *state().links[link];
        if (type != kPtxInput) throw CallError{kInvalidValue, "the fake takes PTX"};
        const auto* const text = static_cast<const char*>(data);
        if (bytes == 0 || text[bytes - 1] != '\0') throw CallError{kInvalidValue, "PTX ends with a zero"};
        to.text = text;
        try {
            ptx::load(to.text);
        } catch (const std::exception& wrong) {
            if (to.log) std::strncpy(to.log, wrong.what(), to.log_bytes - 1);
            throw CallError{kInvalidPtx, wrong.what()};
        }
    });
}

WEFT_FAKE_EXPORT int cuLinkComplete(Link* link, void** cubin, std::size_t* bytes) {
    return call("cuLinkComplete", Needs::Context, [&] {
        Link& from = *state().links[link];
        from.cubin = cubin_of(from.text);
        *cubin = from.cubin.data();
        *bytes = from.cubin.size();
    });
}

WEFT_FAKE_EXPORT int cuLinkDestroy(Link* link) {
    return call("cuLinkDestroy", Needs::Context, [&] {
        std::ranges::fill(state().links[link]->cubin, '\0');  // the program must have copied it
        state().links.remove(link);
    });
}

WEFT_FAKE_EXPORT int cuModuleLoadDataEx(Module** module, const void* image, unsigned, int*, void**) {
    return call("cuModuleLoadDataEx", Needs::Context, [&] {
        try {
            *module = state().modules.add(module_of(text_of(image)));
        } catch (const std::runtime_error& wrong) {
            throw CallError{kInvalidPtx, wrong.what()};
        }
    });
}

// Kernels of it that are in the queue keep the program; a graph that has one must not be launched any more.
WEFT_FAKE_EXPORT int cuModuleUnload(Module* module) {
    return call("cuModuleUnload", Needs::Context, [&] {
        for (const auto& [name, function] : state().modules[module]->functions)
            state().functions.remove(function.get());
        state().modules.remove(module);
    });
}

WEFT_FAKE_EXPORT int cuModuleGetFunction(Function** function, Module* module, const char* name) {
    return call("cuModuleGetFunction", Needs::Context, [&] {
        const std::shared_ptr<Module>& from = state().modules[module];
        std::shared_ptr<Function>& found = from->functions[name];
        if (!found) {
            const ptx::Code* code = nullptr;
            try {
                code = &from->program->entry(name);
            } catch (const std::runtime_error&) {
                from->functions.erase(name);
                throw CallError{kNotFound, std::string("the module has no ") + name};
            }
            found = std::make_shared<Function>();
            found->module = from;
            found->name = name;
            for (const ptx::Parameter& parameter : code->parameters) found->parameters.push_back(parameter.bytes);
            found->static_shared = static_cast<std::int64_t>(code->shared_bytes);
            found->most_dynamic_shared -= found->static_shared;
            state().functions.add(found);
        }
        *function = found.get();
    });
}

WEFT_FAKE_EXPORT int cuFuncSetAttribute(Function* function, int attribute, int value) {
    return call("cuFuncSetAttribute", Needs::Context, [&] {
        Function& of = *state().functions[function];
        if (attribute != kMostDynamicShared) throw CallError{kInvalidValue, "the fake does not know this attribute"};
        if (value < 0 || value + of.static_shared > ptx::kMostShared)
            throw CallError{kInvalidValue, "a block has no " + std::to_string(value) + " bytes of shared memory"};
        of.most_dynamic_shared = value;
    });
}

WEFT_FAKE_EXPORT int cuFuncGetAttribute(int* value, int attribute, Function* function) {
    return call("cuFuncGetAttribute", Needs::Context, [&] {
        static_cast<void>(*state().functions[function]);
        if (attribute != kRegisters) throw CallError{kInvalidValue, "the fake does not know this attribute"};
        *value = 32;
    });
}

WEFT_FAKE_EXPORT int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* address,
                                            const std::uint64_t* dims, const std::uint64_t* strides,
                                            const std::uint32_t* box, const std::uint32_t* element_strides,
                                            int interleave, int swizzle, int l2, int fill) {
    return call("cuTensorMapEncodeTiled", Needs::Init, [&] {
        if (reinterpret_cast<std::uintptr_t>(map) % 64)
            throw CallError{kInvalidValue, "a map lies at a multiple of 64"};
        if (ptx::encode_tiled(map, type, rank, address, dims, strides, box, element_strides, interleave, swizzle, l2,
                              fill))
            throw CallError{kInvalidValue, "no tensor map can describe that"};
    });
}
