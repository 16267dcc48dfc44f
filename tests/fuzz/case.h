// SPDX-License-Identifier: Apache-2.0
// Case: what the fuzzer runs at a time, as data: one or two valid calls of the library, the
// settings of their handles, and how their operands lie in memory. Printed as one line and read
// back from it. Drawing is draw.h's, running execute.h's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/matrix.h"

namespace bwgemm::fuzz {

enum class Entry : std::int64_t { ex, batched, typed };
enum class WorkspaceKind : std::int64_t { library, none, limit, own };
enum class StreamKind : std::int64_t { legacy, non_blocking, blocking, per_thread };

// How a matrix lies in memory: the leading dimension is rows + pad, rounded up to a multiple.
struct Placement {
  std::int64_t pad = 0, round = 1;
  std::int64_t offset = 0;   // of the first element, in elements
  std::int64_t stride = -1;  // between the matrices of a batch; -1: one behind the other
};

// Numbers only, except for the kernel: a table of fields (case.cpp) prints, reads and shrinks them.
struct Call {
  std::string kernel;       // forced; empty: the library chooses
  std::int64_t splits = 0;  // slices of k, forced where a kernel can split; 0: the library chooses
  std::int64_t entry = 0;
  std::int64_t transa = 0, transb = 0;
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  std::int64_t f16_input = 0, f32_output = 0;
  float alpha = 1, beta = 0;
  std::int64_t device_scalars = 0;
  Placement a, b, c;
  std::int64_t side_by_side = 0;  // batches of C lie within its columns, beside each other
  std::int64_t share = 0;         // A and B are the same memory
  std::int64_t unreadable = 0;    // A and B must not be read: they are not there
  std::int64_t integers = 0;      // data -4 .. 4, whose sums are exact
  std::int64_t specials = 0;      // elements that are replaced by NaN, Inf, -0, denormals, ...
  std::int64_t workspace = 0, workspace_bytes = 0;
  std::int64_t sm_count = 0, programmatic = 0, stream = 0, algo = -1;
  std::int64_t invariant = 0;  // bits must not depend on the kernel
  std::int64_t seed = 1;
  std::uint64_t pick = 0;  // not part of the text: which kernel to force, see execute.h; 0: none

  Entry entry_kind() const { return static_cast<Entry>(entry); }
  Dtype input() const { return f16_input != 0 ? Dtype::f16 : Dtype::bf16; }
  Dtype output() const { return f32_output != 0 ? Dtype::f32 : input(); }
  bool scale_only() const { return k == 0 || alpha == 0; }
  bool is_empty() const { return m == 0 || n == 0 || batch == 0; }

  // As stored and not yet filled.
  test::Matrix a_matrix() const;
  test::Matrix b_matrix() const;
  test::Matrix c_matrix() const;
};

struct Case {
  std::vector<Call> calls;   // one, or two without a wait between them
  std::int64_t capture = 0;  // 0: none; else 1 + CUstreamCaptureMode, and two replays
  // A second run must give the same bits; with other kernels, where calls are invariant.
  std::int64_t repeat = 0;
  std::int64_t chain = 0;  // C of the first call is A of the second

  double multiply_adds() const;
};

// Makes the fields agree with each other, so that the calls are valid; a valid case stays as it is.
void normalise(Case& item);

std::string to_text(const Case& item);

// Throws std::runtime_error naming the word that is not understood. The result is normalised.
Case from_text(const std::string& text);

// Every case that differs from this one by one thing and is simpler; the boldest steps first.
std::vector<Case> simpler(const Case& item);

}  // namespace bwgemm::fuzz
