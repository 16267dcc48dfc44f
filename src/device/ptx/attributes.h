// SPDX-License-Identifier: Apache-2.0
// BWGEMM_DEVICE: the attributes of every device function. Each function in this folder wraps one
// PTX instruction and is named like it. Descriptors stand beside their instructions. Addresses of
// shared memory are 32-bit. Code that decides, loops or serves a purpose of its own belongs
// elsewhere.
#pragma once

#include <cstdint>

#define BWGEMM_DEVICE __device__ __forceinline__
