// SPDX-License-Identifier: Apache-2.0
// LaunchCase: one problem of row_problems.h as the library would launch it on a row, run on the
// machine without a driver between them: the library's own selection and plan, operands of small
// integers, and what memory holds afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/validate.h"
#include "core/kernel_config.h"
#include "gpu/row_problems.h"
#include "vgpu/machine.h"

namespace bwgemm::vgpu::mutate {

// What bwgemmMatmul takes, or, where it is a GEMM, bwgemmGemmEx.
struct CallArguments {
  bwgemmMatmulDesc_t desc;
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  bool is_gemm;
};

// How one run is scheduled.
struct Schedule {
  bool is_adversarial;
  std::uint64_t seed;
  int impatient_line = 0;  // see RunOptions
};

// A launch that the library would not make, of a kernel that must stand it all the same.
struct Variation {
  bool twice = false;  // two launches of a stream, the second of which may begin early
  int clusters = 0;    // at most so many, also where k is split; 0: what the library launches
};

class LaunchCase {
 public:
  // Nothing, if the row does not serve the problem.
  static std::optional<LaunchCase> make(const KernelConfig& row, const test::RowProblem& problem,
                                        const Variation& variation = {});

  // The bytes of all operands and counters after the run.
  using Memory = std::vector<std::vector<std::byte>>;
  struct Outcome {
    std::vector<Finding> findings;
    Memory memory;
  };
  Outcome run(const std::shared_ptr<const Module>& module, const Schedule& schedule,
              const RunOptions& options) const;

  const std::string& name() const { return name_; }

 private:
  struct Span {
    std::size_t offset, bytes;
  };
  struct Buffer {
    std::vector<std::byte> image;
    std::vector<Span> initialised;
    bool is_compared;
  };

  std::uint64_t add(GlobalMemory& layout, Buffer buffer);
  std::uint64_t add_matrix(GlobalMemory& layout, const test::Matrix& matrix,
                           std::int64_t displacement, bool is_initialised = true);
  std::uint64_t add_array(GlobalMemory& layout, const void* elements, std::size_t bytes);
  std::uint64_t add_vector(GlobalMemory& layout, Dtype type, std::int64_t elements,
                           const test::GemmCase& gemm, std::uint64_t seed);
  std::uint64_t add_scratch(GlobalMemory& layout, std::size_t bytes, bool is_zero);
  void add_fused(GlobalMemory& layout, const test::RowProblem& problem, CallArguments& arguments);
  void add_pointers(GlobalMemory& layout, CallArguments& arguments);
  CallArguments add_operands(GlobalMemory& layout, const KernelConfig& row,
                             const test::RowProblem& problem);

  std::string name_;
  std::vector<Buffer> buffers_;  // in the order in which they are allocated
  LaunchRequest request_;
  bool twice_ = false;
};

// What a row is run on: its covering set, the edges of its tile and ring, what can be fused to it,
// and what only mutants need: one launch twice, many rounds of the ring, splits of k on fewer
// clusters than there are.
std::vector<LaunchCase> cases_of(const KernelConfig& row);

}  // namespace bwgemm::vgpu::mutate
