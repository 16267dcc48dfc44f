// SPDX-License-Identifier: Apache-2.0
// list_algos: what bwgemmMatmulGetAlgos answers.
#pragma once

#include <cstddef>

#include "api/arguments.h"

namespace bwgemm {

void list_algos(bwgemmHandle_t handle, const Arguments& arguments, bwgemmMatmulAlgo_t* to,
                std::size_t capacity, std::size_t* count);

}  // namespace bwgemm
