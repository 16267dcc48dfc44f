// SPDX-License-Identifier: Apache-2.0
// Which rows of the kernel table are the same code, so that one may stand for all on a slow device.
#pragma once

#include "core/kernel_config.h"

namespace bwgemm::test {

// Kernels whose operands may start and step anywhere although TMA loads those that it can address
// (device/residues.h, families/sm100/loaders.h).
bool moves_lines(const KernelConfig& row);

// Rows of one class differ in constants only: sizes of tile and ring, CTAs per multiprocessor,
// where these choose between no pieces of code. The representative of a class is its row with the
// least work per tile.
bool same_class(const KernelConfig& row, const KernelConfig& other);
bool is_representative(const KernelConfig& row);

}  // namespace bwgemm::test
