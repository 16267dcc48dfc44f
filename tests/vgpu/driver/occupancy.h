// SPDX-License-Identifier: Apache-2.0
// How many blocks and clusters of a kernel the device holds at once.
#pragma once

#include <cstddef>

#include "vgpu/driver/kernel.h"

namespace bwgemm::vgpu::driver {

int blocks_per_sm(const Function& function, int threads, std::size_t dynamic_shared_bytes);
int resident_clusters(const Function& function, int threads, std::size_t dynamic_shared_bytes,
                      int cluster_size);

}  // namespace bwgemm::vgpu::driver
