// SPDX-License-Identifier: Apache-2.0
// What may be asked about a product without computing it.
#pragma once

#include <cstddef>

#include "api/arguments.h"

namespace bwgemm {

// Writes the bytes of workspace that the product wants. Error if `to` is null, after everything
// else is judged.
void workspace_to(bwgemmHandle_t handle, const Arguments& arguments, std::size_t* to);

// Writes the report, cut to size. The handle may be null.
void explain_to(bwgemmHandle_t handle, const Arguments& arguments, char* to, std::size_t size);

}  // namespace bwgemm
