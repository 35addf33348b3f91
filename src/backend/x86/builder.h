// backend/x86/builder.h: puts instructions where they belong, and hands out virtual registers, labels, constants and
// space in the frame. It knows no kernels, expressions or types.
//
// Instructions go before all loops, or to a level: level 0 is the function's body, each open loop is one more. A
// level's instructions are appended to the level around it when the loop is closed. Until then instructions can be put
// in front of the loop.
#pragma once

#include "backend/x86/code.h"
#include "core/word.h"

#include <initializer_list>
#include <map>
#include <vector>

namespace weft::backend::x86 {

class Builder {
public:
    Builder(bool wide, int lanes);
    Code finish();  // when all loops are closed

    // ---- registers and labels
    Reg gp_reg() { return code_.make(Class::Gp, 8); }
    Reg mask_reg() { return code_.make(Class::Mask, 8); }
    Reg vec_reg(int bytes) { return code_.make(Class::Vec, bytes); }
    Reg reg_like(Reg r) { return code_.make(info(r).cls, info(r).bytes); }
    const RegInfo& info(Reg r) const { return code_.regs[r.id]; }
    int new_label() { return code_.labels++; }
    int width(int lane_bytes) const { return lane_bytes * lanes_ < 16 ? 16 : lane_bytes * lanes_; }  // of all lanes
    int most_bytes() const { return wide_ ? 64 : 32; }                                               // of a register

    // ---- levels
    static constexpr int kBefore = -1;  // before all loops: constants and pointers, which no branch may skip
    class AtLevel;
    void open_level();
    std::vector<Ins> close_level();
    void append(std::vector<Ins> code);
    int innermost() const { return static_cast<int>(levels_.size()) - 1; }
    int level() const { return at_; }
    void go_to_innermost() { at_ = innermost(); }

    // ---- instructions, at the current level
    Ins& put(std::uint32_t id, std::initializer_list<Operand> operands);
    Ins& arithmetic(std::uint32_t id, int element, std::initializer_list<Operand> operands);  // see Ins::element
    void put_store(std::uint32_t id, std::initializer_list<Operand> operands);   // operand 0 is not written
    void put_stream(std::uint32_t id, std::initializer_list<Operand> operands);  // a store past the cache
    void put_call(const void* argument);                                         // see kCall
    void move(Reg to, Reg from);
    void bind(int label);
    // The last instruction writes `to` instead of `from`, which nothing else uses. False: it does not make `from`, or
    // cannot.
    bool redirect(Reg from, Reg to);

    // ---- the frame
    std::int64_t frame_space(std::int64_t bytes);
    std::int64_t lane_slot(int number);  // three places where vectors are taken apart

    // ---- constants
    Reg constant(std::vector<std::int64_t> key, Class cls, int bytes, const void* data, int size);
    Reg constant_vector(Word bits, int lane_bytes, int bytes);
    Reg constant_lanes(const std::vector<std::int64_t>& lanes, int lane_bytes);
    Reg lane_numbers(int lane_bytes);         // 0, 1, 2 …
    Reg lane_mask(int used, int lane_bytes);  // the first lanes: a mask register, or a vector of ones
    Reg constant_mask(std::uint32_t lanes);   // AVX-512 alone
    Reg constant_gp(std::int64_t value);

protected:
    const bool wide_;  // AVX-512
    const int lanes_;

private:
    std::vector<Ins>& instructions() { return at_ == kBefore ? before_ : levels_[static_cast<std::size_t>(at_)]; }
    std::int32_t pool_bytes(const void* data, std::size_t size);

    Code code_;
    std::vector<Ins> before_;
    std::vector<std::vector<Ins>> levels_;
    int at_ = 0;  // the level that instructions go to, or kBefore
    std::map<std::vector<std::int64_t>, Reg> constants_;
    std::int64_t lane_slot_ = -1;
};

// Instructions go to this level while the object lives.
class Builder::AtLevel {
public:
    AtLevel(Builder& builder, int level) : builder_(builder), before_(builder.at_) { builder.at_ = level; }
    ~AtLevel() { builder_.at_ = before_; }
    AtLevel(const AtLevel&) = delete;

private:
    Builder& builder_;
    const int before_;
};

}  // namespace weft::backend::x86
