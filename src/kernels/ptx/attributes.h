// SPDX-License-Identifier: Apache-2.0
// The shorthand of device functions. The files of this folder wrap one PTX instruction each,
// spelled as PTX spells it; shared addresses are 32-bit. Whatever decides, loops or names a purpose
// lives elsewhere.
#pragma once

#include <cstdint>

#define BWGEMM_DEVICE __device__ __forceinline__
