// backend/x86/code.cpp: what the steps between emitter and assembler ask of an instruction, by its number.
#include "backend/x86/code.h"

#include <asmjit/x86.h>

namespace weft::backend::x86 {

namespace Id = asmjit::x86::Inst;

bool is_gather_or_scatter(const Ins& ins) {
    switch (ins.id) {
        case Id::kIdVgatherdps:
        case Id::kIdVgatherdpd:
        case Id::kIdVgatherqps:
        case Id::kIdVgatherqpd:
        case Id::kIdVpgatherdd:
        case Id::kIdVpgatherdq:
        case Id::kIdVpgatherqd:
        case Id::kIdVpgatherqq:
        case Id::kIdVscatterdps:
        case Id::kIdVscatterdpd:
        case Id::kIdVscatterqps:
        case Id::kIdVscatterqpd: return true;
        default: return false;
    }
}

}  // namespace weft::backend::x86
