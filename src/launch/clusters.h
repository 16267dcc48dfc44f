// SPDX-License-Identifier: Apache-2.0
// asked_clusters: how many clusters the driver says that the current context holds.
#pragma once

#include "core/device_facts.h"
#include "launch/driver.h"

namespace bwgemm {

// Clusters of kernels that take the whole shared memory of an SM. Unknown in a context with part of
// the device: the driver answers for the whole device. Loads a kernel for the question, and unloads
// that kernel.
ClusterCounts asked_clusters(const Driver& driver, const DeviceFacts& facts);

}  // namespace bwgemm
