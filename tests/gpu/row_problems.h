// SPDX-License-Identifier: Apache-2.0
// What each row of the kernel table is asked to compute, derived from its config alone, so that a
// new row needs no new test: a covering set, under which every instruction of the kernel runs
// (build/ptx_coverage.py checks that), and the edges of its tile, cluster and ring.
#pragma once

#include <optional>
#include <vector>

#include "core/kernel_config.h"
#include "rules/rasters.h"
#include "support/gemm_case.h"
#include "support/matmul_case.h"

namespace bwgemm::test {

// What a kernel asks of its operands, from nothing to what TMA asks that also stores.
enum class Memory {
  any,            // any leading dimension, any address
  operand_lines,  // columns of A and B start at multiples of 16 bytes
  lines,          // those of C too
  units,          // the columns of C also end there
};

// Whether k is cut into splits, where the row can do that, and where their sums are added.
enum class Splits { none, in_memory, in_cluster };

// How many: more than are added up at a time, or than two whose CTAs are a cluster. 0: none.
int forced_splits(const KernelConfig& row, Splits splits);

struct RowProblem {
  GemmCase gemm;
  int clusters = 0;  // on as many multiprocessors as these need; 0: on all
  bool device_scalars = false;
  Splits splits = Splits::none;
  int tile_n = 0;  // where the row leaves it to the launch; 0: what selection finds best
  Raster raster = Raster::grouped;
  std::optional<Fusing> fusing = std::nullopt;
};

// About ten problems for a row that leaves nothing to the launch; more where types, majors, tile or
// the width of accesses are chosen there.
std::vector<RowProblem> covering_problems(const KernelConfig& row, Memory memory);

// The product of one element, one less than a tile, a tile and one more in both directions, with
// depths from one element to several rounds of the ring; sizes around a cluster; batches.
std::vector<RowProblem> edge_problems(const KernelConfig& row, Memory memory);

// Many tiles for every multiprocessor; every pair of majors.
std::vector<RowProblem> large_problems(const KernelConfig& row, Memory memory);

// One more than a tile in all directions, and a batch of two.
std::vector<RowProblem> small_problems(const KernelConfig& row, Memory memory);

// A problem of m x n x k in the kernel's own terms, whose D is stored by rows or by columns.
GemmCase gemm_of(const KernelConfig& row, std::int64_t m, std::int64_t n, std::int64_t k, Major a,
                 Major b);

std::vector<Major> majors(Major declared);
std::vector<Dtype> inputs(MmaKind declared);

}  // namespace bwgemm::test
