// SPDX-License-Identifier: Apache-2.0
#include "dropin/faster.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <optional>
#include <tuple>

#include "dropin/device.h"
#include "dropin/epilogue.h"
#include "dropin/library.h"
#include "dropin/peer.h"
#include "dropin/serve.h"

namespace bwgemm::dropin {
namespace {

// Bytes, up to 16, of which all distances between lines and between matrices are multiples.
std::int64_t alignment(const Operand& operand, std::int64_t lines, std::int64_t batch) {
  const std::int64_t element = operand.type == CUDA_R_32F ? 4 : 2;
  std::int64_t all = 16;
  if (lines > 1) all |= operand.ld * element;
  if (batch > 1) all |= operand.stride * element;
  return all & -all;
}

// The operand's address modulo 128, which is all of it that predictions depend on.
std::int64_t residue(const Operand& operand) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.data) & 127);
}

// Whether the operand is in column order, has another matrix for each of the batch, and begins at a
// multiple of what its lines and matrices are apart.
bool is_usual(const Operand& operand, std::int64_t lines, std::int64_t batch) {
  const bool repeats = batch > 1 && operand.stride == 0;
  return !operand.is_row_major() && !repeats &&
         residue(operand) % alignment(operand, lines, batch) == 0;
}

// The times were of calls in column order with float scalars on the host, where C has D's type,
// without aux and bias gradients, and of all multiprocessors.
bool is_of_measured_form(const Call& call, const CallSettings& settings) {
  const EpilogueForm& epilogue = *form_of(call.epilogue.kind);
  const bool has_usual_bias = !epilogue.adds_bias || call.epilogue.bias_type == call.output().type;
  const bool is_plain = !call.by_pointers() && !call.has_half_scalars() && has_usual_bias &&
                        epilogue.aux_mode == BWGEMM_AUX_NONE && !epilogue.writes_beside_d();
  const bool has_usual_settings = settings.sm_count_target == 0 && !settings.has_device_scalars();
  return is_plain && has_usual_settings && call.c.type == call.output().type &&
         is_usual(call.a, call.transa == CUBLAS_OP_N ? call.k : call.m, call.batch) &&
         is_usual(call.b, call.transb == CUBLAS_OP_N ? call.n : call.k, call.batch) &&
         is_usual(call.c, call.n, call.batch) && is_usual(call.output(), call.n, call.batch);
}

// By its bits, as bwgemm asks.
bool is_zero(const Call& call, const void* scalar) {
  return (std::bit_cast<std::uint32_t>(host_scalar(call, scalar)) & 0x7fffffff) == 0;
}

PeerProblem peer_problem(const Call& call, const bwgemmMatmulAlgo_t& algo) {
  const EpilogueForm& epilogue = *form_of(call.epilogue.kind);
  const bool transa = call.transa != CUBLAS_OP_N, transb = call.transb != CUBLAS_OP_N;
  return {.m = call.m,
          .n = call.n,
          .k = call.k,
          .batch = call.batch,
          .transa = transa,
          .transb = transb,
          .is_f16 = call.a.type == CUDA_R_16F,
          .stores_f32 = call.output().type == CUDA_R_32F,
          .reads_c = !is_zero(call, call.beta),
          .adds_bias = epilogue.adds_bias,
          .activation = static_cast<std::int32_t>(epilogue.activation),
          .a_alignment = alignment(call.a, transa ? call.m : call.k, call.batch),
          .b_alignment = alignment(call.b, transb ? call.k : call.n, call.batch),
          .d_alignment = alignment(call.output(), call.n, call.batch),
          .predicted_us = algo.predictedMicroseconds,
          .kernel = library()->kernel_name(algo.kernel),
          .tile_columns = algo.tileColumns,
          .splits = algo.splits,
          .copies_operands = algo.copiesOperands != 0};
}

// Of an H100 with five stacks of memory, to which the trees were fitted; of an H200, on which they
// choose as well.
constexpr int capability_major = 9, multiprocessors = 132;
constexpr double memory_bytes_per_s[] = {2.0 * 2619e6 * 5120 / 8, 2.0 * 3201e6 * 6016 / 8};

}  // namespace

bool is_measured_device() {
  const DeviceNumbers found = current_device_numbers();
  return found.capability_major == capability_major && found.multiprocessors == multiprocessors &&
         std::ranges::any_of(memory_bytes_per_s, [&](double measured) {
           return std::abs(found.memory_bytes_per_s / measured - 1) < 0.05;
         });
}

// Words multiply each other in pairs. No multiplication waits for another one.
std::size_t Decisions::Hash::operator()(const Kind& kind) const {
  static_assert(std::tuple_size_v<Kind> % 2 == 0);
  std::uint64_t hash = 0, added = 0x9e3779b97f4a7c15U;
  for (std::size_t word = 0; word < kind.size(); word += 2) {
    hash += (static_cast<std::uint64_t>(kind[word]) + added) *
            (static_cast<std::uint64_t>(kind[word + 1]) + (added ^ 0x5851f42d4c957f2dU));
    added += 0xd1342543de82ef95U;
  }
  return hash ^ hash >> 32;
}

Decisions::Kind Decisions::kind_of(const Call& call, std::size_t workspace) {
  std::uint64_t form = 0;
  const auto add = [&form](std::int64_t value, int bits) {
    form = form << bits | (static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1));
  };
  for (const Operand* const operand : {&call.a, &call.b, &call.c, &call.output()})
    add(residue(*operand), 7);
  add(call.transa, 2);
  add(call.transb, 2);
  add(call.a.type == CUDA_R_16F, 1);
  add(call.output().type == CUDA_R_32F, 1);
  add(call.epilogue.kind, 12);
  add(is_zero(call, call.alpha), 1);
  add(is_zero(call, call.beta), 1);
  const Operand& d = call.output();
  add(d.data == call.c.data, 1);
  return {static_cast<std::int64_t>(form),
          call.m,
          call.n,
          call.k,
          call.batch,
          call.a.ld,
          call.b.ld,
          call.c.ld,
          d.ld,
          call.a.stride,
          call.b.stride,
          call.c.stride,
          d.stride,
          static_cast<std::int64_t>(workspace)};
}

std::optional<bool> Decisions::known(const Call& call, std::size_t workspace) const {
  const auto found = known_.find(kind_of(call, workspace));
  return found != known_.end() ? std::optional(found->second) : std::nullopt;
}

// What bwgemm cannot do is for bwgemm to refuse, and is not remembered.
bool Decisions::serves(Handle& handle, const Call& call, const CallSettings& settings,
                       std::optional<bool> known) {
  if (!is_of_measured_form(call, settings)) return false;
  if (known) return *known;
  const Kind kind = kind_of(call, usable_workspace(settings));
  if (const auto found = known_.find(kind); found != known_.end()) return found->second;
  const std::optional<bwgemmMatmulAlgo_t> algo = first_algo(handle, call, settings);
  if (!algo) return true;
  const bool is_served =
      algo->predictedMicroseconds > 0 && is_faster(features_of(peer_problem(call, *algo)));
  if (known_.size() == most) known_.clear();
  try {
    known_.emplace(kind, is_served);
  } catch (const std::bad_alloc&) {  // the next call asks again
  }
  return is_served;
}

}  // namespace bwgemm::dropin
