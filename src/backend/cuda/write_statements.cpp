// backend/cuda/write_statements.cpp: the text around a kernel: parameters, registers, blocks and threads, loops.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "core/str.h"
#include "ir/walk.h"
#include "kernel/box_copy.h"
#include "kernel/nest.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace weft::backend::cuda {

using kernel::Buffer;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;

namespace {

// Of a block.
std::int64_t most_shared(int capability) { return (capability == 90 ? 227 : 96) * 1024; }
constexpr std::int64_t kStaticShared = 48 * 1024;  // … without asking the driver
constexpr std::int64_t kRegisters = 64 * 1024;     // of a multiprocessor
constexpr std::int64_t kBarrierBytes = 8;

std::int64_t bytes_of(const Buffer& buffer) {
    return std::max<std::int64_t>(1, buffer.size) * static_cast<std::int64_t>(size_of(buffer.dtype));
}

std::int64_t most_threads(const kernel::Body& body, std::int64_t around = 1) {
    std::int64_t most = around;
    for (const Stmt& stmt : body)
        if (const Loop* const loop = stmt.loop())
            most = std::max(
                most, most_threads(loop->body, loop->kind == LoopKind::Thread ? around * loop->extent() : around));
    return most;
}

std::int64_t most_table_bytes(const kernel::Body& body) {
    std::vector<ir::NodeRef> values;
    kernel::for_each_store(
        body, [&](const kernel::Store& store, std::span<const Loop* const>) { values.push_back(store.value); });
    std::set<const float*> tables;
    for (const ir::Node* node : ir::topological_order(values))
        if (node->op == ir::Op::Lookup) tables.insert(node->as<ir::TableArg>().entries);
    return static_cast<std::int64_t>(tables.size()) * kTableBytes;
}

const Loop* pipeline_in(std::span<const Stmt> body) {
    for (const Stmt& stmt : body)
        if (const Loop* const loop = stmt.loop()) {
            if (kernel::is_pipeline(*loop)) return loop;
            if (const Loop* const inside = pipeline_in(loop->body)) return inside;
        }
    return nullptr;
}

bool loads_from(const ir::Node& root, int buffer) {
    std::vector<const ir::Node*> pending{&root};
    std::set<const ir::Node*> seen;
    while (!pending.empty()) {
        const ir::Node* const node = pending.back();
        pending.pop_back();
        if (!seen.insert(node).second) continue;
        if (node->op == ir::Op::Load && node->as<ir::LoadArg>().buffer == buffer) return true;
        for (const ir::NodeRef& source : node->sources) pending.push_back(source.get());
    }
    return false;
}
bool loads_from(const kernel::Body& body, int buffer) {
    return std::ranges::any_of(body, [&](const Stmt& stmt) {
        if (stmt.loop()) return loads_from(stmt.loop()->body, buffer);
        return stmt.store() && (loads_from(*stmt.store()->value, buffer) || loads_from(*stmt.store()->index, buffer));
    });
}

// Most kernels run as fast at the assembler's level 1 as at its default, and compile in half the time. Products in registers are 5 % faster at 3.
int assembler_level(const kernel::Kernel& kernel) {
    const bool has_tiles = std::ranges::any_of(kernel.schedule, [](const kernel::Decision& decision) {
        return std::holds_alternative<kernel::BlockTile>(decision);
    });
    return has_tiles ? 3 : 1;
}

}  // namespace

Module write_module(const kernel::Kernel& kernel, const WriteOptions& options) { return Writer(kernel, options).run(); }

Writer::Writer(const kernel::Kernel& kernel, const WriteOptions& options)
    : kernel_(kernel),
      options_(options),
      expanded_(expand(kernel, {.lanes = false, .threads = true})),
      placement_(kernel_, expanded_),
      ftz_(kernel.numerics.keep_subnormals ? "" : ".ftz") {
    place_locals();
    kernel::for_each_store(kernel.body, [&](const kernel::Store& store, std::span<const Loop* const>) {
        if (kernel.buffers[static_cast<std::size_t>(store.buffer)].late > 0 && store.value->op == ir::Op::Load)
            async_.insert(store.buffer);
    });
    kernel::for_each_store(kernel.body, [&](const kernel::Store&, std::span<const Loop* const> around) {
        if (!around.empty() && around.back()->product) sums_.insert(around.back()->product->acc);
    });
    for (int p = 0; p < kernel.parameters; ++p)
        module_.alignments.push_back(
            static_cast<std::int64_t>(size_of(kernel.buffers[static_cast<std::size_t>(p)].dtype)));
}

Module Writer::run() {
    const bool blocks = std::ranges::any_of(
        expanded_.body, [](const Stmt& stmt) { return stmt.loop() && stmt.loop()->kind == LoopKind::Block; });
    if (!blocks) write_entry(nullptr);
    else
        for (const Stmt& stmt : expanded_.body) write_entry(&stmt);
    module_.text =
        str(".version 8.1\n.target ", sums_.empty() || by_warps() ? "sm_80" : "sm_90a", "\n.address_size 64\n\n",
            is_dynamic() ? str(".extern .shared .align ", alignment(), " .b8 shared[];\n\n") : "", module_.text);
    module_.assembler_level = assembler_level(kernel_);
    return std::move(module_);
}

// The largest locals of a block that do not fit into its shared memory lie in global memory.
void Writer::place_locals() {
    homes_.resize(kernel_.buffers.size());
    std::int64_t most_slices = 0;
    for (const Stmt& stmt : expanded_.body)
        if (const Loop* const pipeline = pipeline_of(std::span(&stmt, 1)))
            most_slices = std::max(most_slices, kernel::slices_of(kernel_, *pipeline));
    const std::int64_t barriers = 2 * kBarrierBytes * most_slices;
    most_table_bytes_ = most_table_bytes(expanded_.body);
    places_ =
        place_in_shared_memory(kernel_, expanded_, most_shared(options_.capability) - barriers - most_table_bytes_);
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
        const Buffer& buffer = kernel_.buffers[b];
        const LoweredBuffer& lowered = expanded_.buffers[b];
        if (buffer.role != Buffer::Role::Local) homes_[b] = {Space::Global, str("%b", b)};
        else if (buffer.memory != Buffer::MemoryType::Shared)
            homes_[b] = lowered.form == LoweredBuffer::Scalars ? Home{Space::Registers, str("%v", b, "_")}
                                                               : Home{Space::Local, str("%local", b)};
        else if (places_[b].offset != SharedPlace::kNone) {
            homes_[b] = {Space::Shared, "%shared", places_[b].offset};
            module_.shared_bytes = std::max(module_.shared_bytes, places_[b].offset + places_[b].bytes);
        } else if (lowered.used) {
            homes_[b] = {Space::Global, "%scratch", module_.scratch_bytes};
            module_.scratch_bytes += places_[b].bytes;
        }
    }
    barriers_at_ = module_.shared_bytes;
    module_.shared_bytes += barriers;
}

// Where addresses are not what a copy unit wants, there is none.
const Loop* Writer::pipeline_of(std::span<const Stmt> body) const {
    return options_.vectors ? pipeline_in(body) : nullptr;
}

// ---- an entry --------------------------------------------------------------------------------------------------------

void Writer::write_entry(const Stmt* statement) {
    Entry entry{.name = str("kernel", module_.entries.size())};
    counts_.clear();
    vars_.clear();
    scopes_.assign(1, {});
    tables_.clear();
    threads_ = 1;
    pipeline_ = nullptr;
    maps_.clear();
    if (!statement) {
        write(expanded_.body);
    } else {
        std::vector<const Loop*> blocks;
        for (const Loop* loop = statement->loop(); loop && loop->kind == LoopKind::Block;
             loop = loop->body.size() == 1 ? loop->body[0].loop() : nullptr)
            blocks.push_back(loop);
        for (std::size_t i = 0; i < blocks.size(); ++i) entry.blocks[i] = blocks[blocks.size() - 1 - i]->extent();
        entry.threads = threads_ = most_threads(blocks.back()->body);
        pipeline_ = pipeline_of(blocks.back()->body);
        if (pipeline_) entry.threads = threads_ += kWarp;  // that copies
        barriers_ = barriers_of(kernel_, *blocks.back(), threads_, places_);
        for (std::size_t i = 0; i < blocks.size(); ++i)
            vars_[blocks[i]->id()] = {str("%block", blocks.size() - 1 - i), true};
        write_blocks(*statement->loop());
    }
    const std::string body = std::move(scopes_.front().text);
    const std::string before = prologue();
    module_.text += global_tables();
    module_.text +=
        str(".visible .entry ", entry.name, "(", parameters(), ")\n.maxntid ", entry.threads, ", 1, 1\n",
            two_blocks() ? ".minnctapersm 2\n" : "", "{\n", declarations(), before, body, "    ret;\n}\n\n");
    entry.maps = maps_;
    entry.shared_bytes = module_.shared_bytes + table_bytes();
    if (is_dynamic()) entry.dynamic_shared = entry.shared_bytes;
    module_.entries.push_back(std::move(entry));
}

bool Writer::is_dynamic() const { return module_.shared_bytes + most_table_bytes_ > kStaticShared; }

// Whether two blocks fit a multiprocessor, if the assembler takes care: where threads keep much, it would rather use more registers.
bool Writer::two_blocks() const {
    const std::int64_t others =
        pipeline_ ? 48 : 56;  // registers, beside what threads keep; who multiplies copies nothing
    if (2 * module_.shared_bytes > most_shared(options_.capability)) return false;
    std::int64_t kept = 0;
    for (const Buffer& buffer : kernel_.buffers)
        if (buffer.per_thread && buffer.memory == Buffer::MemoryType::Register)
            kept += buffer.size * std::max<std::int64_t>(1, static_cast<std::int64_t>(size_of(buffer.dtype)) / 4);
    return kept >= 32 && threads_ >= 128 && 2 * threads_ * (kept + others) <= kRegisters;
}

std::string Writer::parameters() const {
    const std::size_t count = static_cast<std::size_t>(kernel_.parameters) + kernel_.scalars.size() + 4;
    std::string text;
    for (std::size_t p = 0; p < count; ++p) text += str(p ? ", " : "", "\n    .param .u64 p", p);
    for (std::size_t m = 0; m < maps_.size(); ++m)
        text += str(",\n    .param .align 64 .b8 m", m, "[", kMapWords * sizeof(std::uint64_t), "]");
    return text;
}

std::string Writer::prologue() {
    std::string text;
    int p = 0;
    for (; p < kernel_.parameters; ++p)
        if (expanded_.buffers[static_cast<std::size_t>(p)].used)
            text += str("    ld.param.u64 %b", p, ", [p", p, "];\n    cvta.to.global.u64 %b", p, ", %b", p, ";\n");
    for (std::size_t s = 0; s < kernel_.scalars.size(); ++s, ++p) {
        const DType t = kernel_.scalars[s];
        if (is_bool(t)) text += str("    ld.param.u8 %sb, [p", p, "];\n    setp.ne.u32 %s", s, ", %sb, 0;\n");
        else text += str("    ld.param.", memory_type(t), " %s", s, ", [p", p, "];\n");
    }
    if (!kernel_.checks.empty())
        text += str("    ld.param.u64 %check, [p", p,
                    "];\n    cvta.to.global.u64 %check, %check;\n    ld.param.u64 %tag, [p", p + 1, "];\n");
    text +=
        str("    ld.param.u64 %offset, [p", p + 3,
            "];\n    setp.eq.u64 %fills, %offset, 0;\n    @%fills bra go;\n    cvta.to.global.u64 %offset, %offset;\n"
            "    ld.global.b64 %wide, [%offset];\n    setp.ne.u64 %fills, %wide, 0;\n    @%fills ret;\ngo:\n");
    if (threads_ > 1 || !vars_.empty())
        text +=
            "    mov.u32 %thread, %tid.x;\n    mov.u32 %block0, %ctaid.x;\n    mov.u32 %block1, %ctaid.y;\n"
            "    mov.u32 %block2, %ctaid.z;\n";
    if (module_.shared_bytes > 0) text += "    mov.u32 %shared, shared;\n";
    for (std::size_t m = 0; m < maps_.size(); ++m)
        text += str("    mov.b64 %map", m, ", m", m, ";\n    cvta.param.u64 %map", m, ", %map", m, ";\n");
    for (std::size_t b = 0; b < homes_.size(); ++b)
        if (homes_[b].space == Space::Local && expanded_.buffers[b].used)
            text += str("    mov.u64 %local", b, ", local", b, ";\n");
    if (module_.scratch_bytes > 0)
        text += str("    ld.param.u64 %scratch, [p", p + 2, "];\n    cvta.to.global.u64 %scratch, %scratch;\n",
                    "    mov.u32 %number, %ctaid.z;\n    mov.u32 %extent, %nctaid.y;\n    mov.u32 %y, %ctaid.y;\n"
                    "    mad.lo.u32 %number, %number, %extent, %y;\n    mov.u32 %extent, %nctaid.x;\n"
                    "    mov.u32 %x, %ctaid.x;\n    mad.lo.u32 %number, %number, %extent, %x;\n"
                    "    mov.u64 %offset, ",
                    module_.scratch_bytes,
                    ";\n    cvt.u64.u32 %wide, %number;\n    mad.lo.u64 %scratch, %wide, %offset, %scratch;\n");
    return text + fill_tables();
}

std::string Writer::global_tables() const {
    if (tables_.empty()) return {};
    std::string words;
    for (const float* table : tables_)
        for (int i = 0; i < ir::kTableSize; ++i) words += str(words.empty() ? "" : ", ", to_word(table[i]));
    return str(".global .align 16 .b32 table", module_.entries.size(), "[",
               static_cast<std::int64_t>(tables_.size()) * ir::kTableSize, "] = {", words, "};\n");
}

// Tables are looked up in shared memory: 16 words are in 16 banks, so that threads do not wait for each other.
std::string Writer::fill_tables() const {
    if (tables_.empty()) return {};
    const std::int64_t words = static_cast<std::int64_t>(tables_.size()) * ir::kTableSize;
    std::string text =
        str(is_dynamic() ? str("    add.u32 %tables, %shared, ", module_.shared_bytes) : "    mov.u32 %tables, tables",
            ";\n    mov.u32 %x, %tid.x;\n    mov.u64 %offset, table", module_.entries.size(),
            ";\n    mad.lo.u32 %y, %x, 4, %tables;\n", "    mad.wide.u32 %offset, %x, 4, %offset;\n");
    for (std::int64_t first = 0; first < words; first += threads_) {
        const std::string guard = first + threads_ <= words ? "" : "@%fills ";
        if (!guard.empty()) text += str("    setp.lt.u32 %fills, %x, ", words - first, ";\n");
        text += str("    ", guard, "ld.global.b32 %number, [%offset+", 4 * first, "];\n    ", guard,
                    "st.shared.b32 [%y+", 4 * first, "], %number;\n");
    }
    return text + "    bar.sync 0;\n";
}

std::string_view Writer::kind_of(DType t) {
    if (is_bool(t)) return "p";
    if (is_half(t)) return "h";
    if (t == DType::F32) return "f";
    if (t == DType::F64) return "d";
    return size_of(t) == 8 ? "l" : "r";
}

std::string Writer::declarations() const {
    const auto type_of = [](std::string_view kind) -> std::string_view {
        return kind == "p"   ? "pred"
               : kind == "h" ? "b16"
               : kind == "f" ? "f32"
               : kind == "d" ? "f64"
               : kind == "l" ? "b64"
                             : "b32";
    };
    std::string text;
    for (const auto& [kind, count] : counts_) text += str("    .reg .", type_of(kind), " %", kind, "<", count, ">;\n");
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
        const Buffer& buffer = kernel_.buffers[b];
        if (!expanded_.buffers[b].used) continue;
        if (buffer.role != Buffer::Role::Local) text += str("    .reg .b64 %b", b, ";\n");
        else if (homes_[b].space == Space::Registers)
            text += str("    .reg .", type_of(kind_of(buffer.dtype)), " %v", b, "_<", buffer.size, ">;\n");
        else if (homes_[b].space == Space::Local)
            text +=
                str("    .local .align 16 .b8 local", b, "[", bytes_of(buffer), "];\n    .reg .b64 %local", b, ";\n");
    }
    for (std::size_t s = 0; s < kernel_.scalars.size(); ++s)
        text += str("    .reg .", type_of(kind_of(kernel_.scalars[s])), " %s", s, ";\n");
    text +=
        "    .reg .b32 %thread, %block0, %block1, %block2, %number, %extent, %x, %y, %sb, %tables, %shared;\n"
        "    .reg .b64 %check, %tag, %scratch, %offset, %wide;\n    .reg .pred %fills;\n";
    if (!maps_.empty()) text += str("    .reg .b64 %map<", maps_.size(), ">;\n");
    // Memory that the launch asks for begins behind that of the entry, at no multiple of its own alignment: then tables are a part of it.
    if (!tables_.empty() && !is_dynamic()) text += str("    .shared .align 16 .b8 tables[", table_bytes(), "];\n");
    if (module_.shared_bytes > 0 && !is_dynamic())
        text += str("    .shared .align ", alignment(), " .b8 shared[", module_.shared_bytes, "];\n");
    return text;
}

// ---- statements ------------------------------------------------------------------------------------------------------

void Writer::line(int level, std::string_view text) {
    std::string& out = scopes_[static_cast<std::size_t>(level)].text;
    out += "    ";
    out += text;
    out += ";\n";
}

std::string Writer::fresh(std::string_view kind) {
    const auto found = counts_.find(kind);
    return str("%", kind, found == counts_.end() ? counts_.emplace(kind, 1).first->second - 1 : found->second++);
}

std::string Writer::label() { return str("L", module_.entries.size(), "_", labels_++); }

void Writer::write(const kernel::Body& body) {
    const std::span<const Stmt> all(body);
    for (std::size_t i = 0; i < body.size();) {
        if (body[i].loop()) {
            write(*body[i++].loop());
            continue;
        }
        std::size_t end = i;  // of the statements that run one after the other
        while (end < body.size() && !body[end].loop()) ++end;
        write_stores(all.subspan(i, end - i));
        i = end;
    }
}

void Writer::write_stores(std::span<const Stmt> statements) {
    std::vector<Stmt> stores;  // there is no prefetch
    for (const Stmt& stmt : statements)
        if (stmt.store()) stores.push_back(stmt);
    if (options_.vectors) vectors_.find_loads(kernel_, stores);
    const std::span<const Stmt> all(stores);
    for (std::size_t i = 0; i < stores.size();) {
        std::size_t count = options_.vectors ? VectorAccess::stores_together(kernel_, all.subspan(i)) : 1;
        const std::uint64_t stored = bit_of(stores[i].store()->buffer);
        for (std::size_t n = 1; n < count; ++n)  // what loads the buffer comes after what is stored before it
            if ((placement_.facts(*stores[i + n].store()->value).buffers & stored) ||
                (placement_.facts(*stores[i + n].store()->index).buffers & stored))
                count = 1;
        if (homes_[static_cast<std::size_t>(stores[i].store()->buffer)].space == Space::Registers) count = 1;
        write(all.subspan(i, count));
        i += count;
    }
}

void Writer::write(const Loop& loop) {
    switch (loop.kind) {
        case LoopKind::Block: write_blocks(loop); break;
        case LoopKind::Thread: write_threads(loop); break;
        case LoopKind::Tensor: by_warps() ? write_warp_product(loop) : write_product(loop); break;
        case LoopKind::Copy: write_copies(loop); break;
        default:
            if (&loop == pipeline_) write_pipeline(loop);
            else if (loop.extent() == 1 && loop.count) write_condition(loop);
            else write_serial(loop);
    }
}

// What is inside of a loop, as text: what it hoists stands before the loop, so that nothing of the loop may be written first.
std::string Writer::inside(const Loop& loop, bool guarded, const kernel::Body& body) {
    scopes_.emplace_back();
    placement_.enter(loop, guarded);
    write(body);
    placement_.leave();
    std::string text = std::move(scopes_.back().text);
    scopes_.pop_back();
    return text;
}

void Writer::write_blocks(const Loop& loop) { scopes_.back().text += inside(loop, false, loop.body); }

// Threads beyond the loop's extent wait at the next barrier. What threads load is loaded after the barrier before them.
void Writer::write_threads(const Loop& loop) {
    std::vector<const Loop*> nest{&loop};
    while (nest.back()->body.size() == 1 && nest.back()->body[0].loop() &&
           nest.back()->body[0].loop()->kind == LoopKind::Thread)
        nest.push_back(nest.back()->body[0].loop());
    std::int64_t all = 1;
    for (const Loop* each : nest) all *= each->extent();
    forget(stored_in(loop.body));
    std::string number = "%thread";
    for (std::size_t n = nest.size(); n-- > 0;) {  // the innermost one runs fastest
        if (n == 0) {
            vars_[nest[n]->id()] = {number, true};
            break;
        }
        const std::string at = fresh("r"), left = fresh("r");
        line(str("rem.u32 ", at, ", ", number, ", ", nest[n]->extent()));
        line(str("div.u32 ", left, ", ", number, ", ", nest[n]->extent()));
        vars_[nest[n]->id()] = {at, true};
        number = left;
    }
    for (std::size_t n = 0; n + 1 < nest.size(); ++n) {
        scopes_.emplace_back();
        placement_.enter(*nest[n], true);
    }
    copies_ = products_ = false;
    std::string text = inside(*nest.back(), true, nest.back()->body);
    if (copies_)
        text += "    cp.async.commit_group;\n";  // also of threads that copy nothing this time: groups are counted
    if (products_) text += "    wgmma.wait_group.sync.aligned 1;\n";
    for (std::size_t n = 0; n + 1 < nest.size(); ++n) {
        placement_.leave();
        text = scopes_.back().text + text;
        scopes_.pop_back();
    }
    wait_for_copies(nest.back()->body);
    wait_for_products(nest.back()->body);
    wait_for(barriers_.at(&loop), *nest.back());
    const bool idle = all < threads_;
    const std::string end = label();
    if (idle) {
        const std::string beyond = fresh("p");
        line(str("setp.ge.u32 ", beyond, ", %thread, ", all));
        line(str("@", beyond, " bra ", end));
    }
    scopes_.back().text += text;
    if (idle) scopes_.back().text += end + ":\n";
}

// Copies that these threads load have landed: all but those of the latest loops (Buffer::late).
void Writer::wait_for_copies(const kernel::Body& body) {
    std::int64_t under_way = -1;
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
        const std::int64_t late = kernel_.buffers[b].late;
        if (late == 0 || !async_.contains(static_cast<int>(b)) || !loads_from(body, static_cast<int>(b))) continue;
        const std::int64_t left = stored_in(body) & bit_of(static_cast<int>(b)) ? late - 1 : 0;
        under_way = under_way < 0 ? left : std::min(under_way, left);
    }
    if (under_way >= 0) line(str("cp.async.wait_group ", under_way));
}

void Writer::wait_for(Sync sync, const Loop& threads) {
    constexpr std::int64_t kNamedBarriers = 15;  // beside the block's
    const std::int64_t groups = threads_ / threads.extent();
    switch (sync) {
        case Sync::None: return;
        case Sync::Warp: line(str("bar.warp.sync ", threads_ < kWarp ? (1u << threads_) - 1 : 0xffffffff)); return;
        case Sync::Group:
            if (groups <= kNamedBarriers) {
                const std::string group =
                    op("r", innermost(), "div.u32", std::string("%thread"), str(threads.extent()));
                line(
                    str("bar.sync ", op("r", innermost(), "add.u32", group, std::string("1")), ", ", threads.extent()));
                return;
            }
            [[fallthrough]];
        case Sync::Block: line("bar.sync 0"); return;
    }
}

void Writer::write_condition(const Loop& loop) {
    const Value count = value(*loop.count);
    const std::string number = as_register(count.text, count.narrow ? "r" : "l", innermost());
    forget(stored_in(loop.body));
    vars_[loop.id()] = {"0", true};
    const std::string text = inside(loop, true, loop.body), none = fresh("p"), end = label();
    line(str("setp.lt.s", count.narrow ? "32 " : "64 ", none, ", ", number, ", 1"));
    line(str("@", none, " bra ", end));
    scopes_.back().text += text;
    scopes_.back().text += end + ":\n";
}

void Writer::write_serial(const Loop& loop) {
    const bool narrow = loop.extent() <= INT32_MAX;
    const std::string_view kind = narrow ? "r" : "l", type = narrow ? "s32" : "s64";
    std::string limit = str(loop.extent());
    if (loop.count) {
        const std::string wanted = as_register(wide(value(*loop.count), innermost()), "l", innermost());
        const std::string most = op("l", innermost(), "min.s64", wanted, limit);
        limit = most;
        if (narrow)  // none, if negative: also where 32 bits do not hold it
            limit = op("r", innermost(), "cvt.u32.u64", op("l", innermost(), "max.s64", most, std::string("0")));
    }
    forget(stored_in(loop.body));
    const std::string var = fresh(kind), more = fresh("p"), end = label(), head = label();
    vars_[loop.id()] = {var, narrow};
    const std::string text = inside(loop, loop.count != nullptr, loop.body);
    if (loop.count) {
        const std::string none = fresh("p");
        line(str("setp.lt.", type, " ", none, ", ", limit, ", 1"));
        line(str("@", none, " bra ", end));
    }
    line(str("mov.b", narrow ? 32 : 64, " ", var, ", 0"));
    std::string& out = scopes_.back().text;
    out += head + ":\n" + text;
    line(str("add.", type, " ", var, ", ", var, ", 1"));
    line(str("setp.lt.", type, " ", more, ", ", var, ", ", limit));
    line(str("@", more, " bra ", head));
    out += end + ":\n";
}

}  // namespace weft::backend::cuda
