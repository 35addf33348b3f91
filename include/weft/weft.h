// weft/weft.h: all of Weft in one include.
#pragma once

#include <weft/autograd.h>
#include <weft/data.h>
#include <weft/data_loader.h>
#include <weft/debug.h>
#include <weft/device.h>
#include <weft/dtype.h>
#include <weft/error.h>
#include <weft/init.h>
#include <weft/io.h>
#include <weft/jit.h>
#include <weft/lr_scheduler.h>
#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/profile.h>
#include <weft/shape.h>
#include <weft/shared_memory.h>
#include <weft/tensor.h>
#include <weft/write_group.h>
