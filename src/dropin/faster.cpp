// SPDX-License-Identifier: Apache-2.0
#include "dropin/faster.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dropin/device.h"
#include "dropin/epilogue.h"
#include "dropin/library.h"
#include "dropin/peer.h"
#include "dropin/serve.h"

namespace bwgemm::dropin {
namespace {

// Bytes, up to 16, at multiples of which all lines of the operand begin.
std::int64_t alignment(const Operand& operand, std::int64_t lines, std::int64_t batch) {
  const std::int64_t element = operand.type == CUDA_R_32F ? 4 : 2;
  std::int64_t all = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand.data)) | 16;
  if (lines > 1) all |= operand.ld * element;
  if (batch > 1) all |= operand.stride * element;
  return all & -all;
}

// The times were of calls without aux or bias gradients, and of all multiprocessors.
bool is_of_measured_form(const Call& call, const CallSettings& settings) {
  const EpilogueForm& epilogue = *form_of(call.epilogue.kind);
  return !call.by_pointers() && settings.sm_count_target == 0 &&
         epilogue.aux_mode == BWGEMM_AUX_NONE && !epilogue.writes_beside_d();
}

bool reads_c(const Call& call, const CallSettings& settings) {
  return settings.has_device_scalars() || host_scalar(call, call.beta) != 0;
}

// Where D is in row order, its transpose is computed, whose operands are B and A.
PeerProblem peer_problem(const Call& call, const bwgemmMatmulAlgo_t& algo, bool reads_c) {
  const EpilogueForm& epilogue = *form_of(call.epilogue.kind);
  const bool is_row_major = call.output().is_row_major();
  const bool transa = (call.transa != CUBLAS_OP_N) != call.a.is_row_major();
  const bool transb = (call.transb != CUBLAS_OP_N) != call.b.is_row_major();
  const std::int64_t a = alignment(call.a, transa ? call.m : call.k, call.batch);
  const std::int64_t b = alignment(call.b, transb ? call.k : call.n, call.batch);
  const std::int64_t columns = is_row_major ? call.m : call.n;
  return {.m = is_row_major ? call.n : call.m,
          .n = columns,
          .k = call.k,
          .batch = call.batch,
          .transa = is_row_major ? !transb : transa,
          .transb = is_row_major ? !transa : transb,
          .is_f16 = call.a.type == CUDA_R_16F,
          .stores_f32 = call.output().type == CUDA_R_32F,
          .reads_c = reads_c,
          .adds_bias = epilogue.adds_bias,
          .has_activation = epilogue.activation != BWGEMM_ACTIVATION_NONE,
          .a_alignment = is_row_major ? b : a,
          .b_alignment = is_row_major ? a : b,
          .d_alignment = alignment(call.output(), columns, call.batch),
          .predicted_us = algo.predictedMicroseconds,
          .kernel = library()->kernel_name(algo.kernel),
          .tile_columns = algo.tileColumns,
          .splits = algo.splits,
          .copies_operands = algo.copiesOperands != 0};
}

bool is_predicted_faster(Handle& handle, const Call& call, const CallSettings& settings,
                         bool reads_c) {
  const std::optional<bwgemmMatmulAlgo_t> algo = first_algo(handle, call, settings);
  return algo && algo->predictedMicroseconds > 0 &&
         is_faster(features_of(peer_problem(call, *algo, reads_c)));
}

// Of an H100 with five stacks of memory.
constexpr int capability_major = 9, multiprocessors = 132;
constexpr double memory_bytes_per_s = 2.0 * 2619e6 * 5120 / 8;

}  // namespace

bool is_measured_device() {
  const DeviceNumbers found = current_device_numbers();
  return found.capability_major == capability_major && found.multiprocessors == multiprocessors &&
         std::abs(found.memory_bytes_per_s / memory_bytes_per_s - 1) < 0.05;
}

std::size_t Decisions::Hash::operator()(const Kind& kind) const {
  std::uint64_t hash = 0;
  for (const std::int64_t word : kind) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

Decisions::Kind Decisions::kind_of(const Call& call, const CallSettings& settings, bool reads_c) {
  std::int64_t form = 0;
  const auto add = [&form](std::int64_t value, int bits) { form = form << bits | value; };
  for (const Operand* const operand : {&call.a, &call.b, &call.c, &call.output()}) {
    add(reinterpret_cast<std::intptr_t>(operand->data) & 15, 4);
    add(operand->is_row_major(), 1);
    add(operand->type == CUDA_R_32F ? 2 : operand->type == CUDA_R_16F, 2);
  }
  add(call.transa, 2);
  add(call.transb, 2);
  add(call.compute, 8);
  add(call.epilogue.kind, 12);
  add(reads_c, 1);
  add(settings.has_device_scalars(), 1);
  add(settings.splits_k, 1);
  const Operand& d = call.output();
  return {form,
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
          static_cast<std::int64_t>(settings.workspace_size),
          reinterpret_cast<std::intptr_t>(settings.workspace) & 255,
          d.data == call.c.data};
}

bool Decisions::serves(Handle& handle, const Call& call, const CallSettings& settings) {
  if (!is_of_measured_form(call, settings)) return false;
  const bool reads = reads_c(call, settings);
  const Kind kind = kind_of(call, settings, reads);
  if (const auto found = known_.find(kind); found != known_.end()) return found->second;
  if (known_.size() == most) known_.clear();
  return known_[kind] = is_predicted_faster(handle, call, settings, reads);
}

}  // namespace bwgemm::dropin
