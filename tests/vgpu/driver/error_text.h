// SPDX-License-Identifier: Apache-2.0
// Names and texts of the errors that this driver returns.
#pragma once

#include "vgpu/driver/api.h"

namespace bwgemm::vgpu::driver {

// Null: unknown.
const char* error_name(CUresult error);
const char* error_text(CUresult error);

}  // namespace bwgemm::vgpu::driver
