// SPDX-License-Identifier: Apache-2.0
// Where the paths of a divergent branch meet again: the immediate post-dominator of its block.
#pragma once

#include "vgpu/ptx/program.h"

namespace bwgemm::vgpu {

// Sets starts_block and reconvergence of the program's instructions.
void find_reconvergence(Program& program);

}  // namespace bwgemm::vgpu
