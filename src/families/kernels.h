// SPDX-License-Identifier: Apache-2.0
// Every kernel by its number, as loading it needs it: variants, and those that are none
// (program/part.h).
#pragma once

#include "core/kernel_config.h"
#include "rules/shape.h"

namespace bwgemm {

struct LaunchedKernel {
  KernelName name;
  KernelShape shape;  // the largest
  int cluster;
  bool has_large_clusters;  // of more CTAs than every device can run, where a launch says so
};

LaunchedKernel kernel_of(int kernel, Arch arch);

}  // namespace bwgemm
