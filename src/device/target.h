// device/target.h: the target of the runs that begin now, made from the configuration.
#pragma once

#include "core/target.h"

namespace weft::device {

// Equal configurations give the same object: keys compare pointers. Throws ValueError for a backend that does not exist.
TargetRef current_target();

}  // namespace weft::device
