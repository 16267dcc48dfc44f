// SPDX-License-Identifier: Apache-2.0
#include "api/algos.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "api/handle.h"
#include "api/program.h"
#include "api/validate.h"
#include "families/variants.h"
#include "select/algos.h"

namespace bwgemm {
namespace {

constexpr std::uint32_t first_algo_size = sizeof(bwgemmMatmulAlgo_t);  // of the first version

std::int32_t in_c(Operands operands) {
  return operands == Operands::in_place ? 0 : operands == Operands::copied ? 1 : 2;
}

bwgemmMatmulAlgo_t in_c(const Algo& algo) {
  return {.structSize = sizeof(bwgemmMatmulAlgo_t),
          .kernel = algo.recipe.variant,
          .algo = packed(algo.recipe),
          .predictedMicroseconds = algo.predicted_us,
          .workspaceSize = algo.workspace_bytes,
          .tileColumns = algo.recipe.tile_n,
          .splits = algo.recipe.splits,
          .raster = static_cast<std::int32_t>(algo.recipe.raster),
          .isDeterministic = 1,
          .isBatchInvariant = algo.is_batch_invariant ? 1 : 0,
          .copiesOperands = in_c(algo.recipe.operands)};
}

}  // namespace

void list_algos(bwgemmHandle_t c_handle, const Arguments& given, bwgemmMatmulAlgo_t* to,
                std::size_t capacity, std::size_t* count) {
  const Handle& handle = checked(c_handle);
  Arguments arguments = given;
  arguments.algo = -1;
  const Problem problem = validated(arguments, handle.pointer_mode);
  require(count != nullptr, "count is null but will be written");
  require(to != nullptr || capacity == 0, "algos is null but capacity is ", capacity);
  const std::uint32_t size = capacity > 0 ? to[0].structSize : first_algo_size;
  check_struct_size("algos[0].structSize", size, {first_algo_size}, sizeof(bwgemmMatmulAlgo_t));
  std::vector<Algo> all;
  if (!problem.empty())
    all = algos(problem, handle.facts, kernel_variants,
                handle.select_options(problem, call_settings(handle, arguments)));
  // Behind one that measured times have put in front, a shorter prediction counts as that one's.
  double reached_us = 0;
  for (std::size_t i = 0; i < std::min(all.size(), capacity); ++i) {
    std::byte* const element = reinterpret_cast<std::byte*>(to) + i * size;
    bwgemmMatmulAlgo_t algo = in_c(all[i]);
    algo.structSize = size;
    reached_us = algo.predictedMicroseconds = std::max(reached_us, algo.predictedMicroseconds);
    std::memset(element, 0, size);
    std::memcpy(element, &algo, sizeof algo);
  }
  *count = all.size();
}

}  // namespace bwgemm
