// tests/support/ptx_copies.cpp: instructions that start copies, wait for them, and use barriers in shared memory. What they do is in ptx_async.cpp.
#include "support/ptx_decode.h"

#include "core/str.h"

#include <cstring>

namespace weft::testing::ptx {
namespace {

// Addresses of these instructions are two slots of their list: the base, and the offset as a constant.
std::uint64_t address_at(const Thread& t, const Instruction& i, std::size_t which) {
    const std::uint32_t* const list = &t.block->code().lists[i.list + 2 * which];
    t.block->need(t, i, t.p[list[0]], "an address");
    return t.r[list[0]] + t.r[list[1]];
}
std::uint64_t value_at(const Thread& t, const Instruction& i, std::uint32_t slot, const char* what) {
    t.block->need(t, i, t.p[slot], what);
    return t.r[slot];
}

struct Addresses {
    std::vector<std::uint32_t> slots;
    void add(Decoder& d, std::size_t operand) {
        std::int64_t offset = 0;
        slots.push_back(d.address_slot(operand, offset));
        slots.push_back(d.constant(static_cast<std::uint64_t>(offset)));
    }
};

// ---- cp.async --------------------------------------------------------------------------------------------------------

const Instruction* copy(Thread& t, const Instruction& i) {
    const auto bytes = static_cast<std::uint32_t>(i.how);
    std::uint64_t valid = bytes;
    if (i.c) valid = value_at(t, i, i.c, "the size of a copy");
    if (valid > bytes) t.block->fault(t, i, str("copies ", valid, " bytes of ", bytes));
    t.block->async().copy(t, {address_at(t, i, 0), address_at(t, i, 1), bytes, static_cast<std::uint32_t>(valid), &i});
    return &i + 1;
}
const Instruction* commit_copies(Thread& t, const Instruction& i) {
    t.block->async().commit_copies(t);
    return &i + 1;
}
const Instruction* wait_copies(Thread& t, const Instruction& i) {
    t.block->async().wait_copies(t, static_cast<std::size_t>(i.offset), i.flags != 0);
    return &i + 1;
}

void decode_bulk(Decoder& d);

void decode_cp(Decoder& d) {
    Instruction& out = d.out();
    if (!d.take("async")) d.fail("is cp.async");
    if (d.take("bulk")) return decode_bulk(d);
    if (d.take("commit_group")) {
        d.expect_operands(0);
        out.run = commit_copies;
        return;
    }
    const bool all = d.take("wait_all");
    if (all || d.take("wait_group")) {
        d.expect_operands(all ? 0 : 1);
        out.offset = all ? 0 : d.number(0);
        out.flags = all;
        out.run = wait_copies;
        return;
    }
    const bool l1 = d.take_one({"ca", "cg"}) == "ca";
    if (!(d.take("shared") || d.take("shared::cta")) || !d.take("global"))
        d.fail("copies from global to shared memory");
    for (const std::string_view hint : {"L2::64B", "L2::128B", "L2::256B"}) d.take(hint);
    d.expect_operands(3, 4);
    const std::int64_t bytes = d.number(2);
    if (bytes != 16 && (!l1 || (bytes != 4 && bytes != 8))) d.fail(str("does not copy ", bytes, " bytes"));
    Addresses addresses;
    addresses.add(d, 0);
    addresses.add(d, 1);
    out.list = d.add_list(addresses.slots);
    out.how = static_cast<std::uint8_t>(bytes);
    if (d.operands() == 4) out.c = d.read(3, {'u', 32});
    out.run = copy;
}

// ---- cp.async.bulk ---------------------------------------------------------------------------------------------------

constexpr std::uint8_t kTensor = 1;

// Shared memory, then the device's or the tensor map; the coordinates follow, then the barrier.
BulkCopy bulk_copy(const Thread& t, const Instruction& i) {
    Block& block = *t.block;
    BulkCopy copy{.thread = t.number, .at = &i, .shared = address_at(t, i, 0), .device = address_at(t, i, 1)};
    copy.is_tensor = i.flags & kTensor;
    if (!copy.is_tensor) {
        copy.bytes = static_cast<std::uint32_t>(value_at(t, i, i.c, "the size of a copy"));
        if (copy.bytes == 0 || copy.bytes % 16 || copy.shared % 16 || copy.device % 16)
            block.fault(t, i,
                        str("copies ", copy.bytes, " bytes between ", copy.shared, " and ", copy.device,
                            ": sizes and addresses are multiples of 16"));
        return copy;
    }
    if (copy.device % 64) block.fault(t, i, "a tensor map lies at a multiple of 64 bytes");
    const auto from = block.place_bytes(t, i, Space::Generic, copy.device, 128, false);
    std::memcpy(&copy.map, from.data, sizeof copy.map);
    if (copy.map.magic != TensorMap::kMagic || copy.map.rank != i.how)
        block.fault(t, i, str("has no tensor map of ", int{i.how}, " axes"));
    if (copy.shared % 128) block.fault(t, i, "a box in shared memory begins at a multiple of 128 bytes");
    const std::uint32_t* const slots = &block.code().lists[i.list + 4];
    for (std::size_t k = 0; k < i.how; ++k)
        copy.corner[k] = static_cast<std::int32_t>(value_at(t, i, slots[k], "a coordinate"));
    copy.bytes = copy.map.bytes();
    return copy;
}
const Instruction* bulk_load(Thread& t, const Instruction& i) {
    BulkCopy copy = bulk_copy(t, i);
    const std::uint32_t* const barrier = &t.block->code().lists[i.list + 4 + i.how];
    copy.barrier = value_at(t, i, barrier[0], "an address") + t.r[barrier[1]];
    t.block->async().load(t, copy);
    return &i + 1;
}
const Instruction* bulk_store(Thread& t, const Instruction& i) {
    t.block->async().store(t, bulk_copy(t, i));
    return &i + 1;
}
const Instruction* commit_stores(Thread& t, const Instruction& i) {
    t.block->async().commit_stores(t);
    return &i + 1;
}
const Instruction* wait_stores(Thread& t, const Instruction& i) {
    t.block->async().wait_stores(t, static_cast<std::size_t>(i.offset));
    return &i + 1;
}

void decode_bulk(Decoder& d) {
    Instruction& out = d.out();
    if (d.take("commit_group")) {
        d.expect_operands(0);
        out.run = commit_stores;
        return;
    }
    if (d.take("wait_group")) {
        d.take("read");  // here a copy reads and writes at once
        d.expect_operands(1);
        out.offset = d.number(0);
        out.run = wait_stores;
        return;
    }
    const bool is_tensor = d.take("tensor");
    if (is_tensor) out.how = static_cast<std::uint8_t>(1 + d.take_index({"1d", "2d", "3d", "4d", "5d"}));
    d.take("tile");
    const bool load = d.take("mbarrier::complete_tx::bytes");
    if (!load && !d.take("bulk_group")) d.fail("needs .mbarrier::complete_tx::bytes or .bulk_group");
    if (!d.take("global") || !(d.take("shared::cta") || (load && d.take("shared::cluster"))))
        d.fail("copies between global and shared memory");
    d.expect_operands(is_tensor ? (load ? 3 : 2) : (load ? 4 : 3));
    const std::size_t shared = load ? 0 : 1, device = load ? 1 : 0;
    Addresses addresses;
    addresses.add(d, shared);
    addresses.add(d, device);
    if (is_tensor) {
        const Operand& at = d.operand(device);
        if (at.parts.empty() || at.parts[0].parts.size() != out.how) d.fail("has other coordinates");
        for (const Operand& coordinate : at.parts[0].parts) addresses.slots.push_back(d.read(coordinate, {'s', 32}));
        out.flags = kTensor;
    } else out.c = d.read(2, {'u', 32});
    if (load) addresses.add(d, is_tensor ? 2 : 3);
    out.list = d.add_list(addresses.slots);
    out.run = load ? bulk_load : bulk_store;
}

// ---- barriers in shared memory, and fences ---------------------------------------------------------------------------

std::uint64_t barrier_address(const Thread& t, const Instruction& i) {
    t.block->need(t, i, t.p[i.a], "an address");
    return t.r[i.a] + static_cast<std::uint64_t>(i.offset);
}
const Instruction* init_barrier(Thread& t, const Instruction& i) {
    t.block->async().init_barrier(t, i, barrier_address(t, i), value_at(t, i, i.b, "a count"));
    return &i + 1;
}
const Instruction* drop_barrier(Thread& t, const Instruction& i) {
    t.block->async().drop_barrier(t, i, barrier_address(t, i));
    return &i + 1;
}
const Instruction* arrive(Thread& t, const Instruction& i) {
    const std::uint64_t count = i.b ? value_at(t, i, i.b, "a count") : 1,
                        bytes = i.c ? value_at(t, i, i.c, "a size") : 0;
    t.r[i.d] = t.block->async().arrive(t, i, barrier_address(t, i), count, bytes);
    t.p[i.d] = 0;
    return &i + 1;
}
const Instruction* expect_bytes(Thread& t, const Instruction& i) {
    t.block->async().expect(t, i, barrier_address(t, i), value_at(t, i, i.c, "a size"));
    return &i + 1;
}
const Instruction* wait_phase(Thread& t, const Instruction& i) {
    const std::uint64_t phase = value_at(t, i, i.b, "a phase");
    if (i.flags && phase > 1) t.block->fault(t, i, "a parity is 0 or 1");
    if (!t.block->async().wait_phase(t, i, barrier_address(t, i), phase, i.flags != 0)) return nullptr;
    t.r[i.d] = 1;
    t.p[i.d] = 0;
    return &i + 1;
}

void decode_mbarrier(Decoder& d) {
    Instruction& out = d.out();
    const std::string_view what = d.take_one({"init", "inval", "arrive", "expect_tx", "try_wait", "test_wait"});
    const bool expects = d.take("expect_tx"), parity = d.take("parity");
    if (d.take_space() != Space::Shared) d.fail("is in shared memory");
    for (const std::string_view part : {"release", "acquire", "relaxed", "cta", "cluster"}) d.take(part);
    if (d.take_type() != Type{'b', 64}) d.fail("has 64 bits");
    if (what == "init") {
        d.expect_operands(2);
        d.address(0);
        out.b = d.read(1, {'u', 32});
        out.run = init_barrier;
    } else if (what == "inval") {
        d.expect_operands(1);
        d.address(0);
        out.run = drop_barrier;
    } else if (what == "arrive") {
        d.expect_operands(expects ? 3 : 2, 3);
        d.address(1);
        if (d.operands() == 3) (expects ? out.c : out.b) = d.read(2, {'u', 32});
        out.d = d.write(0, {'b', 64});
        out.run = arrive;
    } else if (what == "expect_tx") {
        d.expect_operands(2);
        d.address(0);
        out.c = d.read(1, {'u', 32});
        out.run = expect_bytes;
    } else {  // both wait here, until the phase has ended
        d.expect_operands(3, 4);
        d.address(1);
        out.b = d.read(2, parity ? Type{'u', 32} : Type{'b', 64});
        out.d = d.write(0, {'p', 1});
        out.flags = parity;
        out.run = wait_phase;
    }
}

const Instruction* proxy_fence(Thread& t, const Instruction& i) {
    t.block->clocks().fence(t.number);
    t.block->async().fence_barriers(t);
    return &i + 1;
}
const Instruction* barrier_fence(Thread& t, const Instruction& i) {
    t.block->async().fence_barriers(t);
    return &i + 1;
}
const Instruction* nothing_here(Thread&, const Instruction& i) { return &i + 1; }

void decode_fence(Decoder& d) {
    d.expect_operands(0);
    const bool proxy = d.take("proxy") && d.take("async"), init = d.take("mbarrier_init");
    for (const std::string_view part : {"acq_rel", "sc", "release", "acquire", "cta", "cluster", "gpu", "sys", "gl",
                                        "global", "shared::cta", "shared::cluster"})
        d.take(part);
    d.out().run = proxy ? proxy_fence : init ? barrier_fence : nothing_here;
}

// What helps the hardware, and changes no value.
void decode_hint(Decoder& d) {
    for (const std::string_view part :
         {"tensormap", "wait", "launch_dependents", "global", "L1", "L2", "param", "const", "u32"})
        d.take(part);
    d.out().run = nothing_here;
}

}  // namespace

std::span<const Family> copy_instructions() {
    static constexpr Family kTable[] = {
        {"cp", decode_cp},        {"mbarrier", decode_mbarrier}, {"fence", decode_fence},
        {"membar", decode_fence}, {"prefetch", decode_hint},     {"griddepcontrol", decode_hint},
    };
    return kTable;
}

}  // namespace weft::testing::ptx
