// SPDX-License-Identifier: Apache-2.0
// Case: what the fuzzer runs at a time, as data: one or two valid calls of the library, the
// settings of their handles, and how their operands lie in memory. Drawing is draw.h's, its text
// text.h's, running execute.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/matrix.h"

namespace bwgemm::fuzz {

enum class Entry : std::int64_t { ex, batched, typed, arrays, matmul };
enum class WorkspaceKind : std::int64_t { library, none, limit, own };
enum class StreamKind : std::int64_t { legacy, non_blocking, blocking, per_thread };
enum class Bias : std::int64_t { none, along_m, along_n };
enum class Preload : std::int64_t { none, everything, call };
enum class OperandsKind : std::int64_t { chosen, in_place, copied, copied_a, copied_b };

// As BWGEMM_FORCE_OPERANDS has them, but the first.
inline const std::vector<std::string_view> operands_words = {"chosen", "in_place", "copied",
                                                             "copied_a", "copied_b"};

inline constexpr std::size_t library_workspace = std::size_t{32} << 20;  // of new handles

// How a matrix lies in memory: the leading dimension is rows + pad, rounded up to a multiple. Of a
// vector: offset and stride alone.
struct Placement {
  std::int64_t pad = 0, round = 1;
  std::int64_t offset = 0;   // of the first element, in elements
  std::int64_t stride = -1;  // between the matrices of a batch; -1: one behind the other
};

// What bwgemmMatmul alone can do.
struct Extras {
  std::int64_t a_in_rows = 0, b_in_rows = 0, c_in_rows = 0, d_in_rows = 0;
  std::int64_t arrays = 0;                   // of pointers
  std::int64_t c_apart = 0, f32_addend = 0;  // C is not D, and may be of another type
  std::int64_t no_beta = 0;                  // a null pointer
  std::int64_t activation = 0, gate = 0, aux = 0, f32_aux = 0;
  std::int64_t bias = 0, f32_bias = 0, row_scale = 0, column_scale = 0;
  std::int64_t gradient = 0, f32_gradient = 0;
  Placement addend, aux_at, bias_at, row_scale_at, column_scale_at, gradient_at;
  std::int64_t own_workspace = 0;  // that of the call, not of the handle
  std::int64_t listed = 0;  // the algo: i - 1 of the list, cyclically; 0: the library chooses
  std::int64_t tune = 0;    // candidates that bwgemmMatmulAutotune tries in place of a call
};

// Numbers only, except for the kernel: a table of fields (text.cpp) prints, reads and shrinks them.
// C is what is written: in bwgemmMatmul, D.
struct Call {
  std::string kernel;       // forced; empty: the library chooses
  std::int64_t splits = 0;  // splits of k, forced where a kernel can split; 0: the library chooses
  std::int64_t sums = 0;    // of splits, forced: 1 in memory, 2 in clusters; 0: it chooses
  std::int64_t operands = 0;  // that TMA cannot load, forced: OperandsKind
  std::int64_t entry = 0;
  std::int64_t transa = 0, transb = 0;
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  std::int64_t f16_input = 0, f32_output = 0;
  float alpha = 1, beta = 0;
  std::int64_t device_scalars = 0;
  Placement a, b, c;
  std::int64_t side_by_side = 0;  // batches of C lie within its columns, beside each other
  std::int64_t share = 0;         // A and B are the same memory
  std::int64_t unreadable = 0;    // what must not be read of A, B and a C apart is not there
  std::int64_t integers = 0;      // data -4 .. 4, whose sums are exact
  std::int64_t specials = 0;      // elements that are replaced by NaN, Inf, -0, denormals, ...
  std::int64_t workspace = 0, workspace_bytes = 0;
  std::int64_t sm_count = 0, programmatic = 0, stream = 0, algo = -1;
  std::int64_t invariant = 0;  // bits must not depend on the kernel
  std::int64_t preload = 0;
  std::int64_t flushes = 0;  // the calling thread takes denormals for zero
  Extras extras;
  std::int64_t seed = 1;
  std::uint64_t pick = 0;  // not part of the text: which kernel to force, see execute.h; 0: none

  Entry entry_kind() const { return static_cast<Entry>(entry); }
  bool is_matmul() const { return entry_kind() == Entry::matmul; }
  bool has_arrays() const { return entry_kind() == Entry::arrays || extras.arrays != 0; }
  bool has_batch() const { return is_matmul() || has_arrays() || entry_kind() == Entry::batched; }
  Dtype input() const { return f16_input != 0 ? Dtype::f16 : Dtype::bf16; }
  Dtype type(std::int64_t is_f32) const { return is_f32 != 0 ? Dtype::f32 : input(); }
  Dtype output() const { return type(f32_output); }
  OperandsKind operands_kind() const { return static_cast<OperandsKind>(operands); }
  bool forces_operands() const { return operands_kind() != OperandsKind::chosen; }
  bool forces_copies() const { return operands_kind() >= OperandsKind::copied; }
  Bias bias() const { return static_cast<Bias>(extras.bias); }
  bool stores_aux() const { return extras.aux == BWGEMM_AUX_STORE; }
  bool sums_operand() const { return extras.gradient >= BWGEMM_BIAS_GRADIENT_A; }
  // D is not just alpha * A * B + beta * C.
  bool is_fused() const;
  bool scale_only() const { return k == 0 || alpha == 0; }
  bool is_empty() const { return m == 0 || n == 0 || batch == 0; }
  // Without looking at device memory.
  bool knows_beta_is_0() const { return extras.no_beta != 0 || (device_scalars == 0 && beta == 0); }
  bool knows_scale_only() const { return k == 0 || (device_scalars == 0 && alpha == 0); }

  // Stored by columns, and seen by rows if op() or the order says so, but not both.
  bool a_transposed() const { return (transa != 0) != (extras.a_in_rows != 0); }
  bool b_transposed() const { return (transb != 0) != (extras.b_in_rows != 0); }
  // The product as D stores it: its contiguous dimension and the other.
  std::int64_t length() const { return extras.d_in_rows != 0 ? n : m; }
  std::int64_t lines() const { return extras.d_in_rows != 0 ? m : n; }
  std::int64_t c_length() const { return extras.gate != 0 ? length() / 2 : length(); }
  // Of D itself.
  std::int64_t c_rows() const { return extras.d_in_rows != 0 ? lines() : c_length(); }
  std::int64_t c_columns() const { return extras.d_in_rows != 0 ? c_length() : lines(); }

  // As stored and not yet filled. Those that are not there have no elements.
  test::Matrix a_matrix() const;
  test::Matrix b_matrix() const;
  test::Matrix c_matrix() const;
  test::Matrix addend_matrix() const;  // C apart
  test::Matrix aux_matrix() const;
  test::Matrix bias_vector() const;
  test::Matrix row_scale_vector() const;
  test::Matrix column_scale_vector() const;
  test::Matrix gradient_vector() const;
};

struct Case {
  std::vector<Call> calls;   // one, or two without a wait between them
  std::int64_t capture = 0;  // 0: none; else 1 + CUstreamCaptureMode, and two replays
  std::int64_t threads = 0;  // the calls are made by two threads at once
  // A second run must give the same bits; with other kernels, where calls are invariant.
  std::int64_t repeat = 0;
  std::int64_t chain = 0;  // C of the first call is A of the second

  double multiply_adds() const;
};

// Calls that can share a handle without a setter between them.
bool same_settings(const Call& one, const Call& other);

// Makes the fields agree with each other, so that the calls are valid; a valid case stays as it is.
void normalise(Case& item);

}  // namespace bwgemm::fuzz
