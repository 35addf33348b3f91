// backend/ref/ref.cpp: the oracle. A slow, obvious interpreter of the loop IR: every loop runs serially and in order
// whatever its kind (Thread loops in another order, if a test asks for it), every expression is evaluated by the op table, and every access is checked against its buffer's
// size.
#include "backend/backend.h"
#include "backend/ref/code.h"
#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

namespace weft::backend {
namespace {

using namespace ref;
using kernel::Buffer;

std::atomic<ThreadOrder> thread_order{ThreadOrder::Forward};

// The i-th of n threads to run. Steps by a number that has no factor in common with n visit all of them.
std::int64_t nth_thread(std::int64_t i, std::int64_t n) {
    if (thread_order == ThreadOrder::Forward) return i;
    if (thread_order == ThreadOrder::Backward) return n - 1 - i;
    std::int64_t step = n / 2 + 1;
    while (std::gcd(step, n) != 1) ++step;
    return (i * step + n / 3) % n;
}

// One call of Program::run: the frame of words, and where each buffer lies.
class Run {
public:
    Run(const Code& code, void* const* buffers, const Word* scalars, std::byte* scratch, CheckRecord* check)
        : code_(code), frame_(code.frame), check_(check) {
        for (std::size_t i = 0; i < code.scalar_slots.size(); ++i) frame_[code.scalar_slots[i]] = scalars[i];
        std::size_t own_bytes = 0;
        for (const Memory& memory : code.memories) own_bytes += memory.own ? memory.bytes() : 0;
        own_.assign(own_bytes, std::byte{0xff});  // undefined values show: NaN, -1
        std::byte* next = own_.data();
        for (std::size_t b = 0; b < code.memories.size(); ++b) {
            const Memory& memory = code.memories[b];
            if (memory.own) {
                base_.push_back(next);
                next += memory.bytes();
            } else if (memory.role == Buffer::Role::Local) base_.push_back(scratch + memory.scratch_offset);
            else base_.push_back(static_cast<std::byte*>(buffers[b]));
        }
    }

    void body(const std::vector<Step>& steps) {
        for (const Step& step : steps) {
            evaluate(step);
            if (step.kind == Step::Store) {
                store_word(code_.memories[step.buffer].dtype, address(step.buffer, step.index), frame_[step.value]);
                continue;
            }
            std::int64_t count = step.extent;
            if (step.count >= 0) count = std::min(count, static_cast<std::int64_t>(frame_[step.count]));
            loop(step, 0, count);
        }
    }

    void loop(const Step& step, std::int64_t begin, std::int64_t end) {
        const std::int64_t outer = thread_;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t now = step.thread ? nth_thread(i, end) : i;
            if (step.block) poison();
            if (step.thread) thread_ = outer * step.extent + now;
            frame_[step.var] = static_cast<Word>(now);
            body(step.body);
            thread_ = outer;
            if (step.polls && check_ && check_->stop && check_->stop()) return;
        }
    }

private:
    // Nothing is left of the block before.
    void poison() {
        for (std::size_t b = 0; b < code_.memories.size(); ++b)
            if (code_.memories[b].of_block) std::memset(base_[b], 0xff, code_.memories[b].bytes());
    }

    void evaluate(const Step& step) {
        Word* const frame = frame_.data();
        const Instruction* const end = code_.instructions.data() + step.last;
        for (const Instruction* i = code_.instructions.data() + step.first; i != end; ++i) {
            switch (i->kind) {
                case Instruction::Affine: {
                    Word sum = i->constant;
                    for (int t = i->sources[0]; t < i->sources[1]; ++t)
                        sum += frame[code_.terms[t].var] * code_.terms[t].factor;
                    frame[i->result] = sum;
                    break;
                }
                case Instruction::Eval: {
                    const Word in[3] = {frame[i->sources[0]], frame[i->sources[1]], frame[i->sources[2]]};
                    frame[i->result] = i->eval(i->operand, in);
                    break;
                }
                case Instruction::Cast: frame[i->result] = cast_word(i->operand, i->dtype, frame[i->sources[0]]); break;
                case Instruction::Bitcast:
                    frame[i->result] = bitcast_word(i->operand, i->dtype, frame[i->sources[0]]);
                    break;
                case Instruction::Load: {
                    const bool wanted = i->sources[1] < 0 || frame[i->sources[1]] != 0;
                    frame[i->result] = wanted ? load_word(i->dtype, address(i->buffer, i->sources[0])) : 0;
                    break;
                }
                case Instruction::Check: frame[i->result] = checked(*i, frame[i->sources[0]]); break;
                case Instruction::Lookup: frame[i->result] = ir::look_up(i->table, frame[i->sources[0]]); break;
            }
        }
    }

    std::byte* address(int buffer, int index_slot) {
        const Memory& memory = code_.memories[buffer];
        std::int64_t index = static_cast<std::int64_t>(frame_[index_slot]);
        if (index < 0 || index >= memory.size)
            throw InternalError(str("kernel ", code_.name, " reaches for ", memory.name, "[", index, "], which has ",
                                    memory.size, " elements"));
        if (memory.lanes > 1)
            index = index * memory.lanes +
                    (memory.lane_var < 0 ? thread_ : static_cast<std::int64_t>(frame_[memory.lane_var]));
        return base_[buffer] + index * static_cast<std::int64_t>(size_of(memory.dtype));
    }

    Word checked(const Instruction& i, Word word) {
        const Code::Limits& limits = code_.checks[i.buffer];
        const auto value = static_cast<std::int64_t>(word);
        if (value >= limits.low && value < limits.high) return word;
        if (check_ && check_->code == 0) check_->code = 1 + i.buffer, check_->value = value;
        return static_cast<Word>(limits.low);
    }

    const Code& code_;
    std::vector<Word> frame_;
    std::vector<std::byte> own_;
    std::vector<std::byte*> base_;
    CheckRecord* check_;
    std::int64_t thread_ = 0;  // the number of the thread that runs
};

class RefProgram final : public HostProgram {
public:
    explicit RefProgram(const kernel::Kernel& kernel) : code_(translate(kernel)), source_(kernel::print(kernel)) {}

    void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end, std::byte* scratch,
             CheckRecord* check) const override {
        if (begin >= end) return;
        Run run(code_, buffers, scalars, scratch, check);
        if (code_.parallel) run.loop(code_.body[0], begin, end);
        else run.body(code_.body);
    }
    std::string source() const override { return source_; }
    std::string machine() const override { return {}; }

private:
    Code code_;
    std::string source_;
};

class RefBackend final : public Backend {
public:
    std::string_view name() const override { return "ref"; }
    bool usable(CpuLevel) const override { return true; }
    std::string describe(const Target&) const override {
        return "ref: an interpreter of the loop IR, slow and obvious";
    }
    std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels, const Target&,
                                                        Detail) override {
        std::vector<std::shared_ptr<const Program>> programs;
        for (const kernel::Kernel* kernel : kernels) programs.push_back(std::make_shared<RefProgram>(*kernel));
        return programs;
    }
};

}  // namespace

void ref::set_thread_order(ThreadOrder order) { thread_order = order; }

Backend& ref_backend() {
    static RefBackend backend;
    return backend;
}

}  // namespace weft::backend
