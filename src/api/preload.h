// SPDX-License-Identifier: Apache-2.0
// preload: everything that first calls load and allocate, before them.
#pragma once

#include "api/handle.h"

namespace bwgemm {

// Of bwgemmMatmul with this struct, of whatever version.
void preload(Handle& handle, const bwgemmMatmulDesc_t& desc);

// Of any call.
void preload_all(Handle& handle);

}  // namespace bwgemm
