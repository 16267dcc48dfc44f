// SPDX-License-Identifier: Apache-2.0
#include "operands.h"

#include <cmath>
#include <limits>

#include "draw.h"
#include "judge.h"

namespace bwgemm::fuzz {
namespace {

using test::Fill;
using test::GuardedBuffer;
using test::Matrix;

std::uint64_t data_seed(const Call& call, int operand) {
  return static_cast<std::uint64_t>(3 * call.seed + operand);
}

// Smallest and largest numbers of a type, beside what every type has.
std::vector<float> special_values(Dtype type) {
  using Limits = std::numeric_limits<float>;
  std::vector<float> values = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -0.0F};
  switch (type) {
    case Dtype::f16: values.insert(values.end(), {65504, -65504, 0x1p-24F, -0x1p-15F}); break;
    case Dtype::bf16:
      values.insert(values.end(), {0x1.fep127F, 0x1p-133F, -0x1p-127F, 0x1p60F});
      break;
    default: values.insert(values.end(), {Limits::max(), Limits::denorm_min(), -0x1p-127F}); break;
  }
  return values;
}

void put_special(Random& random, Matrix& matrix) {
  if (matrix.span() == 0) return;
  const std::int64_t row = random.below(matrix.rows()), column = random.below(matrix.columns());
  const std::int64_t batch = random.below(matrix.batch());
  matrix.set(row, column, random.one_of(special_values(matrix.type())), batch);
}

Matrix vector_of(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  Matrix matrix(Dtype::f32, count, 1, count);
  for (std::int64_t i = 0; i < count; ++i) matrix.set(i, 0, values[static_cast<std::size_t>(i)]);
  return matrix;
}

}  // namespace

Operands::Operands(const Call& call, const Operands* first)
    : call_(call), first_(first), a_(call.a_matrix()), b_(call.b_matrix()), c_(call.c_matrix()) {
  const Fill fill = call.integers != 0 ? Fill::integers : Fill::normal;
  fill_matrix(a_, fill, data_seed(call, 0));
  fill_matrix(b_, fill, data_seed(call, 1));
  if (call.beta != 0) fill_matrix(c_, fill, data_seed(call, 2));
  Random random(data_seed(call, 0));
  for (std::int64_t i = 0; i < call.specials; ++i) {
    const std::int64_t which = random.below(3);
    if (which < 2) put_special(random, which == 0 ? a_ : b_);
    if (which == 2 && call.beta != 0) put_special(random, c_);
  }
  if (call.share != 0) b_ = a_;

  if (call.unreadable == 0) {
    if (first == nullptr) a_device_ = std::make_unique<GuardedBuffer>(a_, call.a.offset);
    if (call.share == 0) b_device_ = std::make_unique<GuardedBuffer>(b_, call.b.offset);
  } else if (call.k > 0 && call.device_scalars != 0) {
    nowhere_ = std::make_unique<test::UnmappedMemory>();
  }
  c_device_ = std::make_unique<GuardedBuffer>(c_, call.c.offset);
  if (call.device_scalars != 0)
    scalars_ = std::make_unique<GuardedBuffer>(vector_of({call.alpha, call.beta}), call.seed % 4);
  if (call.workspace == static_cast<std::int64_t>(WorkspaceKind::own)) {
    const std::int64_t floats = (call.workspace_bytes + 3) / 4;
    workspace_ = std::make_unique<GuardedBuffer>(Matrix(Dtype::f32, floats, 1, floats));
  }
}

void Operands::reset() {
  c_device_->upload();
  if (workspace_) workspace_->upload();
}

// What is not there is null, misaligned, or, where the kernel decides, not mapped.
void* Operands::a_pointer() const {
  if (first_ != nullptr) return first_->c_pointer();
  if (nowhere_) return nowhere_->pointer();
  return a_device_ ? a_device_->pointer() : nullptr;
}

void* Operands::b_pointer() const {
  if (call_.share != 0) return a_pointer();
  if (nowhere_) return nowhere_->pointer();
  return b_device_ ? b_device_->pointer() : reinterpret_cast<void*>(std::uintptr_t{1});
}

const void* Operands::alpha() const {
  return scalars_ ? scalars_->pointer() : static_cast<const void*>(&call_.alpha);
}

const void* Operands::beta() const {
  return scalars_ ? static_cast<const float*>(scalars_->pointer()) + 1 : &call_.beta;
}

bwgemmStatus_t Operands::submit(bwgemmHandle_t handle) const {
  const auto transa = static_cast<bwgemmOperation_t>(call_.transa);
  const auto transb = static_cast<bwgemmOperation_t>(call_.transb);
  const bwgemmDataType_t in = test::c_type(call_.input()), out = test::c_type(call_.output());
  const auto algo = static_cast<int>(call_.algo);
  switch (call_.entry_kind()) {
    case Entry::typed: {
      const auto entry = call_.f16_input != 0 ? bwgemmF16 : bwgemmBf16;
      return entry(handle, transa, transb, call_.m, call_.n, call_.k,
                   static_cast<const float*>(alpha()), a_pointer(), a_.ld(), b_pointer(), b_.ld(),
                   static_cast<const float*>(beta()), c_pointer(), c_.ld());
    }
    case Entry::batched:
      return bwgemmGemmStridedBatchedEx(handle, transa, transb, call_.m, call_.n, call_.k, alpha(),
                                        a_pointer(), in, a_.ld(), a_.stride(), b_pointer(), in,
                                        b_.ld(), b_.stride(), beta(), c_pointer(), out, c_.ld(),
                                        c_.stride(), call_.batch, BWGEMM_COMPUTE_32F, algo);
    case Entry::ex: break;
  }
  return bwgemmGemmEx(handle, transa, transb, call_.m, call_.n, call_.k, alpha(), a_pointer(), in,
                      a_.ld(), b_pointer(), in, b_.ld(), beta(), c_pointer(), out, c_.ld(),
                      BWGEMM_COMPUTE_32F, algo);
}

bwgemmStatus_t Operands::workspace_size(bwgemmHandle_t handle, std::size_t* size) const {
  const bwgemmDataType_t in = test::c_type(call_.input()), out = test::c_type(call_.output());
  return bwgemmGetWorkspaceSize(handle, static_cast<bwgemmOperation_t>(call_.transa),
                                static_cast<bwgemmOperation_t>(call_.transb), call_.m, call_.n,
                                call_.k, alpha(), a_pointer(), in, a_.ld(), b_pointer(), in,
                                b_.ld(), beta(), c_pointer(), out, c_.ld(), BWGEMM_COMPUTE_32F,
                                static_cast<int>(call_.algo), size);
}

std::string Operands::judge() {
  const Matrix after = c_device_->download();
  if (std::string damage = c_device_->damage(); !damage.empty()) return "C: " + damage;
  const auto is_changed = [](GuardedBuffer* buffer) {
    if (buffer == nullptr) return false;
    buffer->download();
    return !buffer->untouched();
  };
  if (is_changed(a_device_.get())) return "A was written";
  if (is_changed(b_device_.get())) return "B was written";
  if (is_changed(scalars_.get())) return "alpha or beta was written";
  if (workspace_) {
    workspace_->download();
    if (!workspace_->damage().empty()) return "workspace: " + workspace_->damage();
  }
  const Matrix& a = first_ != nullptr ? first_->c_device_->download() : a_;
  return judged(call_, call_.integers != 0 && first_ == nullptr, a, b_, c_, after);
}

void Operands::write(std::int64_t element, float value) {
  Matrix patch(call_.output(), 1, 1, 1);
  patch.set(0, 0, value);
  const auto at = static_cast<CUdeviceptr>(element * size_bytes(call_.output()));
  test::check(test::driver().memcpy_htod(reinterpret_cast<CUdeviceptr>(c_pointer()) + at,
                                         patch.bytes().data(), patch.bytes().size()),
              "cuMemcpyHtoD");
  test::synchronize();
}

void Operands::spoil_element() {
  if (c_.span() == 0) return;
  const Matrix now = c_device_->download();
  const bool is_nan = std::isnan(now.get(call_.m - 1, call_.n - 1, call_.batch - 1));
  write(c_.span() - 1, is_nan ? 1.0F : NAN);
}

void Operands::spoil_padding() {
  if (c_.span() == 0) return;
  const bool has_padding = c_.ld() > c_.rows() && c_.columns() > 1 && call_.side_by_side == 0;
  write(has_padding ? c_.rows() : c_.span(), 1.0F);
}

}  // namespace bwgemm::fuzz
