// SPDX-License-Identifier: Apache-2.0
// preload: everything that first calls load and allocate, before them.
#pragma once

#include "api/handle.h"

namespace bwgemm {

// What calls of bwgemmMatmul with this struct need; the struct may be of any version.
void preload(Handle& handle, const bwgemmMatmulDesc_t& desc);

// What any call may need.
void preload_all(Handle& handle);

}  // namespace bwgemm
