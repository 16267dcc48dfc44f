// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <algorithm>
#include <tuple>

namespace bwgemm::fuzz {
namespace {

using test::Matrix;

std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

Matrix placed(Dtype type, std::int64_t rows, std::int64_t columns, std::int64_t batch,
              const Placement& at) {
  const std::int64_t ld = round_up(std::max<std::int64_t>(rows, 1) + at.pad, at.round);
  return {type, rows, columns, ld, batch, at.stride >= 0 ? at.stride : ld * columns};
}

Matrix vector_of(std::int64_t is_there, Dtype type, std::int64_t count, std::int64_t batch,
                 const Placement& at) {
  if (is_there == 0) return {};
  return {type, count, 1, count, batch, at.stride >= 0 ? at.stride : count};
}

// Batches of what is written lie apart: nothing but a gap.
void keep_apart(Placement& at, const Matrix& natural) {
  if (at.stride >= 0) at.stride = std::max(at.stride, natural.ld() * natural.columns());
}

void normalise_fused(Call& call) {
  Extras& extras = call.extras;
  if (extras.aux == BWGEMM_AUX_DERIVATIVE && extras.activation == BWGEMM_ACTIVATION_NONE)
    extras.activation = BWGEMM_ACTIVATION_RELU;
  if (extras.aux == BWGEMM_AUX_NONE) extras.aux_at = {}, extras.f32_aux = 0;
  if (extras.bias == 0) extras.bias_at = {}, extras.f32_bias = 0;
  if (extras.row_scale == 0) extras.row_scale_at = {};
  if (extras.column_scale == 0) extras.column_scale_at = {};
  if (extras.gradient == 0) extras.gradient_at = {}, extras.f32_gradient = 0;
  if (extras.gradient_at.stride >= 0)
    extras.gradient_at.stride = std::max(extras.gradient_at.stride, call.gradient_vector().rows());
  if (call.stores_aux()) {
    Call alone = call;
    alone.extras.aux_at.stride = -1, alone.batch = 1;
    keep_apart(extras.aux_at, alone.aux_matrix());
  }
}

void normalise_matmul(Call& call) {
  Extras& extras = call.extras;
  if (!call.is_matmul()) {
    extras = {};
    return;
  }
  call.algo = -1;
  if (extras.gate != 0) {
    if (extras.aux == BWGEMM_AUX_DERIVATIVE) extras.aux = BWGEMM_AUX_NONE;
    if (call.device_scalars != 0) extras.no_beta = 1;
    call.beta = 0;
    (extras.d_in_rows != 0 ? call.n : call.m) += call.length() % 2;
  }
  if (extras.no_beta != 0) call.beta = 0;
  if (extras.c_apart == 0) extras.f32_addend = extras.c_in_rows = 0, extras.addend = {};
  const bool adds_arrays = extras.arrays != 0 && !call.knows_beta_is_0();
  if (adds_arrays) extras.tune = 0;
  if (extras.tune != 0) extras.listed = 0;
}

void normalise(Call& call) {
  if (call.entry_kind() == Entry::typed) call.f32_output = 0;
  if (!call.has_batch()) call.batch = 1;
  normalise_matmul(call);
  for (Placement* at : {&call.a, &call.b, &call.c, &call.extras.addend, &call.extras.aux_at}) {
    at->round = std::max<std::int64_t>(at->round, 1);
    if (!call.has_batch()) at->stride = -1;
  }
  if (call.batch <= 1) call.side_by_side = 0;
  const bool has_no_c = call.extras.c_apart != 0 && call.beta == 0;
  if (!call.scale_only() && !has_no_c) call.unreadable = 0;
  if (call.sums_operand()) call.unreadable = 0;
  if (call.unreadable != 0) call.share = 0;
  if (call.share != 0 && call.extras.gate != 0) call.share = 0;  // which may need another m or n
  if (call.share != 0) {                                         // A times its own transpose
    call.n = call.m;
    call.transb = call.transa != 0 ? 0 : 1;
    call.extras.b_in_rows = call.extras.a_in_rows;
    call.b = call.a;
  }
  normalise_fused(call);
  keep_apart(call.c, placed(call.output(), call.c_length(), call.lines(), 1, call.c));
  if (call.workspace != static_cast<std::int64_t>(WorkspaceKind::own) &&
      call.workspace != static_cast<std::int64_t>(WorkspaceKind::limit))
    call.workspace_bytes = 0;
  else
    call.workspace_bytes = std::max<std::int64_t>(call.workspace_bytes, 256);
}

// A of the second call is C of the first, one matrix.
void link(Call& first, Call& second) {
  for (Call* call : {&first, &second}) {
    if (!call->is_matmul()) call->entry = static_cast<std::int64_t>(Entry::ex);
    call->batch = 1;
    call->extras.arrays = 0;
  }
  first.f32_output = second.share = second.unreadable = second.extras.gate = 0;
  normalise(first);
  second.f16_input = first.f16_input;
  second.stream = first.stream;
  (second.a_transposed() ? second.k : second.m) = first.c_length();
  (second.a_transposed() ? second.m : second.k) = first.lines();
  second.a = first.c;
}

void normalise_threads(Case& item) {
  if (item.calls.size() < 2 || item.chain != 0 || item.capture != 0) item.threads = 0;
  if (item.threads == 0) return;
  for (Call& call : item.calls) {
    call.extras.tune = call.preload = 0;  // change the handle, for which it needs a lock
    // Memory for partial sums of such a stream lives as long as the handle, for every thread.
    if (call.stream == static_cast<std::int64_t>(StreamKind::per_thread))
      call.stream = static_cast<std::int64_t>(StreamKind::blocking);
  }
}

}  // namespace

bool Call::is_fused() const {
  return extras.activation != 0 || extras.gate != 0 || extras.aux != 0 || extras.bias != 0 ||
         extras.row_scale != 0 || extras.column_scale != 0;
}

Matrix Call::a_matrix() const {
  return placed(input(), a_transposed() ? k : m, a_transposed() ? m : k, batch, a);
}

Matrix Call::b_matrix() const {
  return placed(input(), b_transposed() ? n : k, b_transposed() ? k : n, batch, b);
}

Matrix Call::c_matrix() const {
  if (side_by_side == 0) return placed(output(), c_length(), lines(), batch, c);
  const std::int64_t apart = round_up(std::max<std::int64_t>(c_length(), 1), c.round);
  const std::int64_t ld = round_up(std::max<std::int64_t>(batch, 1) * apart + c.pad, c.round);
  return {output(), c_length(), lines(), ld, batch, apart};
}

Matrix Call::addend_matrix() const {
  if (extras.c_apart == 0) return {};
  const bool in_rows = extras.c_in_rows != 0;
  return placed(type(extras.f32_addend), in_rows ? n : m, in_rows ? m : n, batch, extras.addend);
}

Matrix Call::aux_matrix() const {
  if (extras.aux == BWGEMM_AUX_NONE) return {};
  return placed(type(extras.f32_aux), length(), lines(), batch, extras.aux_at);
}

Matrix Call::bias_vector() const {
  return vector_of(extras.bias, type(extras.f32_bias), bias() == Bias::along_n ? n : m, batch,
                   extras.bias_at);
}

Matrix Call::row_scale_vector() const {
  return vector_of(extras.row_scale, Dtype::f32, m, batch, extras.row_scale_at);
}

Matrix Call::column_scale_vector() const {
  return vector_of(extras.column_scale, Dtype::f32, n, batch, extras.column_scale_at);
}

Matrix Call::gradient_vector() const {
  const std::int64_t counts[] = {0, c_rows(), c_columns(), m, n};
  return vector_of(extras.gradient, type(extras.f32_gradient), counts[extras.gradient], batch,
                   extras.gradient_at);
}

double Case::multiply_adds() const {
  double sum = 0;
  for (const Call& call : calls)
    sum += static_cast<double>(call.m * call.n) * static_cast<double>(call.k * call.batch);
  return sum;
}

bool same_settings(const Call& one, const Call& other) {
  const auto settings = [](const Call& of) {
    return std::tuple(of.device_scalars, of.sm_count, of.programmatic, of.invariant, of.stream,
                      of.workspace, of.workspace_bytes, of.extras.own_workspace);
  };
  return settings(one) == settings(other) &&
         one.workspace != static_cast<std::int64_t>(WorkspaceKind::own);
}

void normalise(Case& item) {
  if (item.calls.empty()) item.calls.emplace_back();
  if (item.calls.size() < 2) item.chain = 0;
  for (Call& call : item.calls) {
    normalise(call);
    if (item.capture == 0) continue;
    call.extras.tune = 0;                                              // waits
    if (call.stream == static_cast<std::int64_t>(StreamKind::legacy))  // cannot be captured
      call.stream = static_cast<std::int64_t>(StreamKind::non_blocking);
    call.stream = item.calls[0].stream;
  }
  normalise_threads(item);
  if (item.chain == 0) return;
  link(item.calls[0], item.calls[1]);
  normalise(item.calls[1]);
}

}  // namespace bwgemm::fuzz
