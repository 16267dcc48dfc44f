// SPDX-License-Identifier: Apache-2.0
#include "operands.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "draw.h"
#include "judge.h"
#include "support/flushed_denormals.h"
#include "support/fused_formula.h"

namespace bwgemm::fuzz {
namespace {

using test::Fill;
using test::GuardedBuffer;
using test::Matrix;

std::uint64_t data_seed(const Call& call, int operand) {
  return static_cast<std::uint64_t>(8 * call.seed + operand);
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

void copy_to_device(Placed& placed, std::int64_t offset) {
  placed.device = std::make_unique<GuardedBuffer>(placed.host, offset);
}

void write(const Placed& to, std::int64_t element, float value) {
  Matrix patch(to.host.type(), 1, 1, 1);
  patch.set(0, 0, value);
  const auto at = static_cast<CUdeviceptr>(element * size_bytes(to.host.type()));
  test::check(test::driver().memcpy_htod(reinterpret_cast<CUdeviceptr>(to.pointer()) + at,
                                         patch.bytes().data(), patch.bytes().size()),
              "cuMemcpyHtoD");
  test::synchronize();
}

void spoil_last_element(const Placed& placed) {
  const Matrix now = placed.device->download();
  const bool is_nan = std::isnan(now.get(now.rows() - 1, now.columns() - 1, now.batch() - 1));
  write(placed, placed.host.span() - 1, is_nan ? 1.0F : NAN);
}

void* misaligned() {
  return reinterpret_cast<void*>(std::uintptr_t{1});
}

}  // namespace

Operands::Operands(const Call& call, const Operands* first)
    : call_(call),
      first_(first),
      a_{call.a_matrix(), {}},
      b_{call.b_matrix(), {}},
      c_{call.c_matrix(), {}},
      addend_{call.addend_matrix(), {}},
      aux_{call.aux_matrix(), {}},
      bias_{call.bias_vector(), {}},
      row_scale_{call.row_scale_vector(), {}},
      column_scale_{call.column_scale_vector(), {}},
      gradient_{call.gradient_vector(), {}} {
  fill();
  place();
  if (call_.has_arrays()) make_arrays();
}

void Operands::fill() {
  const Fill data = call_.integers != 0 ? Fill::integers : Fill::normal;
  Matrix& added = call_.extras.c_apart != 0 ? addend_.host : c_.host;
  std::vector<Matrix*> read = {&a_.host, &b_.host};
  if (call_.beta != 0) read.push_back(&added);
  if (call_.extras.aux == BWGEMM_AUX_DERIVATIVE) read.push_back(&aux_.host);
  for (Matrix* vector : {&bias_.host, &row_scale_.host, &column_scale_.host})
    if (vector->span() != 0) read.push_back(vector);
  for (std::size_t i = 0; i < read.size(); ++i)
    fill_matrix(*read[i], data, data_seed(call_, static_cast<int>(i)));
  Random random(data_seed(call_, 0));
  for (std::int64_t i = 0; i < call_.specials; ++i) put_special(random, *random.one_of(read));
  if (call_.share != 0) b_.host = a_.host;
}

void Operands::place() {
  const Extras& extras = call_.extras;
  const bool reads_products = call_.unreadable == 0 || !call_.scale_only();
  if (reads_products) {
    if (first_ == nullptr) copy_to_device(a_, call_.a.offset);
    if (call_.share == 0) copy_to_device(b_, call_.b.offset);
  }
  copy_to_device(c_, call_.c.offset);
  if (extras.c_apart != 0 && (call_.unreadable == 0 || call_.beta != 0))
    copy_to_device(addend_, extras.addend.offset);
  if (extras.aux != 0) copy_to_device(aux_, extras.aux_at.offset);
  if (extras.bias != 0) copy_to_device(bias_, extras.bias_at.offset);
  if (extras.row_scale != 0) copy_to_device(row_scale_, extras.row_scale_at.offset);
  if (extras.column_scale != 0) copy_to_device(column_scale_, extras.column_scale_at.offset);
  if (extras.gradient != 0) copy_to_device(gradient_, extras.gradient_at.offset);
  if (call_.device_scalars != 0) {
    scalars_.host = vector_of({call_.alpha, call_.beta});
    copy_to_device(scalars_, call_.seed % 4);
  }
  if (call_.unreadable != 0 && call_.device_scalars != 0)
    nowhere_ = std::make_unique<test::UnmappedMemory>();
  if (call_.workspace == static_cast<std::int64_t>(WorkspaceKind::own)) {
    const std::int64_t floats = (call_.workspace_bytes + 3) / 4;
    workspace_ = std::make_unique<GuardedBuffer>(Matrix(Dtype::f32, floats, 1, floats));
  }
}

// The matrices in reverse: nothing but the pointers says where they are.
void Operands::make_arrays() {
  std::vector<std::uint64_t> all;
  const auto add = [&](const void* base, const Matrix& matrix) {
    const bool is_there = base != nullptr && base != misaligned();
    for (std::int64_t batch = call_.batch - 1; batch >= 0; --batch)
      all.push_back(reinterpret_cast<std::uint64_t>(base) +
                    (is_there ? static_cast<std::uint64_t>(batch * matrix.stride() *
                                                           size_bytes(matrix.type()))
                              : 0));
  };
  add(a_pointer(), a_.host);
  add(b_pointer(), b_.host);
  add(c_pointer(), c_.host);
  add(addend_pointer(), addend_.host);
  arrays_.host = Matrix(Dtype::f32, 2 * static_cast<std::int64_t>(all.size()), 1,
                        2 * static_cast<std::int64_t>(all.size()));
  if (!all.empty()) std::memcpy(arrays_.host.bytes().data(), all.data(), 8 * all.size());
  copy_to_device(arrays_, 0);
}

const void* Operands::passed(std::size_t which, const void* plain) const {
  if (!arrays_.device) return plain;
  // What the host knows not to be read need not be an array either.
  if (plain == nullptr || plain == misaligned()) return plain;
  return static_cast<const char*>(arrays_.pointer()) +
         8 * which * static_cast<std::size_t>(call_.batch);
}

void Operands::reset() {
  for (const Named& output : outputs()) output.of->device->upload();
  if (workspace_) workspace_->upload();
}

// What is not there is null, misaligned, or, where the kernel decides, not mapped.
const void* Operands::a_pointer() const {
  if (first_ != nullptr) return first_->c_pointer();
  if (a_.device) return a_.pointer();
  return call_.knows_scale_only() ? nullptr : nowhere_->pointer();
}

const void* Operands::b_pointer() const {
  if (call_.share != 0) return a_pointer();
  if (b_.device) return b_.pointer();
  return call_.knows_scale_only() ? misaligned() : nowhere_->pointer();
}

const void* Operands::addend_pointer() const {
  if (call_.extras.c_apart == 0) return c_pointer();
  if (addend_.device) return addend_.pointer();
  return call_.knows_beta_is_0() ? misaligned() : nowhere_->pointer();
}

const void* Operands::alpha() const {
  return scalars_.device ? scalars_.pointer() : static_cast<const void*>(&call_.alpha);
}

const void* Operands::beta() const {
  if (call_.extras.no_beta != 0) return nullptr;
  return scalars_.device ? static_cast<const float*>(scalars_.pointer()) + 1 : &call_.beta;
}

bwgemmMatmulDesc_t Operands::desc(std::int64_t algo) const {
  const Extras& extras = call_.extras;
  const Matrix& c = extras.c_apart != 0 ? addend_.host : c_.host;
  const auto number = [](std::int64_t field) { return static_cast<std::int32_t>(field); };
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = number(call_.transa), desc.transb = number(call_.transb);
  desc.m = call_.m, desc.n = call_.n, desc.k = call_.k;
  desc.Atype = desc.Btype = test::c_type(call_.input());
  desc.Ctype = test::c_type(c.type()), desc.Dtype = test::c_type(call_.output());
  desc.Aorder = number(extras.a_in_rows), desc.Border = number(extras.b_in_rows);
  desc.Dorder = number(extras.d_in_rows);
  desc.Corder = number(extras.c_apart != 0 ? extras.c_in_rows : extras.d_in_rows);
  desc.lda = a_.host.ld(), desc.ldb = b_.host.ld(), desc.ldc = c.ld(), desc.ldd = c_.host.ld();
  desc.batchCount = call_.batch;
  desc.strideA = a_.host.stride(), desc.strideB = b_.host.stride();
  desc.strideC = c.stride(), desc.strideD = c_.host.stride();
  desc.batchMode = call_.has_arrays() ? BWGEMM_BATCH_MODE_POINTER_ARRAY : BWGEMM_BATCH_MODE_STRIDED;
  desc.activation = number(extras.activation), desc.gate = number(extras.gate);
  if (extras.activation == BWGEMM_ACTIVATION_CLAMP) {
    constexpr test::ClampBounds bounds;
    desc.clampLow = bounds.low, desc.clampHigh = bounds.high;
  }
  desc.biasDim = call_.bias() == Bias::along_n ? BWGEMM_DIM_N : BWGEMM_DIM_M;
  desc.biasType = test::c_type(call_.type(extras.f32_bias));
  desc.bias = bias_.pointer(), desc.strideBias = bias_.host.stride();
  desc.rowScale = static_cast<const float*>(row_scale_.pointer());
  desc.columnScale = static_cast<const float*>(column_scale_.pointer());
  desc.strideRowScale = row_scale_.host.stride();
  desc.strideColumnScale = column_scale_.host.stride();
  desc.auxMode = number(extras.aux), desc.auxType = test::c_type(call_.type(extras.f32_aux));
  desc.aux = aux_.pointer(), desc.ldaux = aux_.host.ld(), desc.strideAux = aux_.host.stride();
  desc.biasGradientOf = number(extras.gradient);
  desc.biasGradientType = test::c_type(call_.type(extras.f32_gradient));
  desc.biasGradient = gradient_.pointer(), desc.strideBiasGradient = gradient_.host.stride();
  desc.algo = algo;
  if (extras.own_workspace == 0) return desc;
  desc.workspace = workspace();
  switch (static_cast<WorkspaceKind>(call_.workspace)) {
    case WorkspaceKind::library: desc.workspaceSize = library_workspace; break;
    case WorkspaceKind::none: desc.workspaceSize = 1; break;
    default: desc.workspaceSize = static_cast<std::uint64_t>(call_.workspace_bytes); break;
  }
  return desc;
}

// Any entry that takes the arguments of bwgemmMatmul, and then `more`.
template <class Function, class... More>
bwgemmStatus_t Operands::matmul(Function entry, bwgemmHandle_t handle, std::int64_t algo,
                                More... more) const {
  const bwgemmMatmulDesc_t desc = this->desc(algo);
  return entry(handle, &desc, alpha(), passed(0, a_pointer()), passed(1, b_pointer()), beta(),
               passed(call_.extras.c_apart != 0 ? 3 : 2, addend_pointer()),
               const_cast<void*>(passed(2, c_pointer())), more...);
}

bwgemmStatus_t Operands::submit(bwgemmHandle_t handle, const Way& way) const {
  const test::FlushedDenormals flushed(call_.flushes != 0);
  const auto transa = static_cast<bwgemmOperation_t>(call_.transa);
  const auto transb = static_cast<bwgemmOperation_t>(call_.transb);
  const bwgemmDataType_t in = test::c_type(call_.input()), out = test::c_type(call_.output());
  const auto algo = static_cast<int>(call_.algo);
  const std::int64_t lda = a_.host.ld(), ldb = b_.host.ld(), ldc = c_.host.ld();
  switch (call_.entry_kind()) {
    case Entry::matmul: return matmul(bwgemmMatmul, handle, way.algo);
    case Entry::typed: {
      const auto entry = call_.f16_input != 0 ? bwgemmF16 : bwgemmBf16;
      return entry(handle, transa, transb, call_.m, call_.n, call_.k,
                   static_cast<const float*>(alpha()), a_pointer(), lda, b_pointer(), ldb,
                   static_cast<const float*>(beta()), c_pointer(), ldc);
    }
    case Entry::batched:
      return bwgemmGemmStridedBatchedEx(handle, transa, transb, call_.m, call_.n, call_.k, alpha(),
                                        a_pointer(), in, lda, a_.host.stride(), b_pointer(), in,
                                        ldb, b_.host.stride(), beta(), c_pointer(), out, ldc,
                                        c_.host.stride(), call_.batch, BWGEMM_COMPUTE_32F, algo);
    case Entry::arrays:
      return bwgemmGemmBatchedEx(handle, transa, transb, call_.m, call_.n, call_.k, alpha(),
                                 static_cast<const void* const*>(passed(0, a_pointer())), in, lda,
                                 static_cast<const void* const*>(passed(1, b_pointer())), in, ldb,
                                 beta(), static_cast<void* const*>(passed(2, c_pointer())), out,
                                 ldc, call_.batch, BWGEMM_COMPUTE_32F, algo);
    case Entry::ex: break;
  }
  return bwgemmGemmEx(handle, transa, transb, call_.m, call_.n, call_.k, alpha(), a_pointer(), in,
                      lda, b_pointer(), in, ldb, beta(), c_pointer(), out, ldc, BWGEMM_COMPUTE_32F,
                      algo);
}

bwgemmStatus_t Operands::tune(bwgemmHandle_t handle, std::int64_t candidates) {
  bwgemmAutotuneOptions_t options = BWGEMM_AUTOTUNE_OPTIONS_INIT;
  options.candidates = static_cast<std::int32_t>(candidates);
  options.repetitions = 1;
  return matmul(bwgemmMatmulAutotune, handle, -1, &options, &tuned_);
}

bwgemmStatus_t Operands::preload(bwgemmHandle_t handle, const Way& way) const {
  if (call_.preload == static_cast<std::int64_t>(Preload::everything))
    return bwgemmPreload(handle, nullptr);
  const bwgemmMatmulDesc_t desc = this->desc(way.algo);
  return bwgemmPreload(handle, &desc);
}

bwgemmStatus_t Operands::workspace_size(bwgemmHandle_t handle, std::size_t* size) const {
  if (call_.has_batch()) return matmul(bwgemmMatmulGetWorkspaceSize, handle, -1, size);
  const bwgemmDataType_t in = test::c_type(call_.input()), out = test::c_type(call_.output());
  return bwgemmGetWorkspaceSize(handle, static_cast<bwgemmOperation_t>(call_.transa),
                                static_cast<bwgemmOperation_t>(call_.transb), call_.m, call_.n,
                                call_.k, alpha(), a_pointer(), in, a_.host.ld(), b_pointer(), in,
                                b_.host.ld(), beta(), c_pointer(), out, c_.host.ld(),
                                BWGEMM_COMPUTE_32F, static_cast<int>(call_.algo), size);
}

std::string Operands::explained(bwgemmHandle_t handle) const {
  std::string text(4096, '\0');
  const bwgemmStatus_t status = matmul(bwgemmMatmulExplain, handle, -1, text.data(), text.size());
  if (status != BWGEMM_STATUS_SUCCESS)
    throw std::runtime_error(std::string("bwgemmMatmulExplain: ") + bwgemmGetLastErrorString());
  text.resize(text.find('\0'));
  return text;
}

Way Operands::listed(bwgemmHandle_t handle, std::int64_t listed) const {
  std::vector<bwgemmMatmulAlgo_t> algos(1);
  algos[0].structSize = sizeof(bwgemmMatmulAlgo_t);
  std::size_t count = 0;
  for (int round = 0; round < 2; ++round) {  // how many; all
    const test::FlushedDenormals flushed(call_.flushes != 0);
    const bwgemmStatus_t status =
        matmul(bwgemmMatmulGetAlgos, handle, -1, algos.data(), algos.size(), &count);
    if (status != BWGEMM_STATUS_SUCCESS)
      throw std::runtime_error(std::string("bwgemmMatmulGetAlgos: ") + bwgemmGetLastErrorString());
    if (count > algos.size()) algos.resize(count, algos[0]);
  }
  if (count == 0) {
    if (call_.is_empty()) return {};
    throw std::runtime_error("bwgemmMatmulGetAlgos lists nothing");
  }
  for (std::size_t i = 1; i < count; ++i)
    if (algos[i].predictedMicroseconds < algos[i - 1].predictedMicroseconds)
      throw std::runtime_error("bwgemmMatmulGetAlgos lists a better prediction behind another");
  const bwgemmMatmulAlgo_t& algo = algos[static_cast<std::size_t>(listed - 1) % count];
  if (call_.invariant != 0 && algo.isBatchInvariant == 0)
    throw std::runtime_error("bwgemmMatmulGetAlgos lists an algo that is not batch-invariant");
  return {algo.algo, bwgemmKernelName(algo.kernel), algo.copiesOperands != 0};
}

std::vector<Operands::Named> Operands::inputs() {
  std::vector<Named> all = {{"A", &a_},
                            {"B", &b_},
                            {"C", &addend_},
                            {"bias", &bias_},
                            {"rowScale", &row_scale_},
                            {"columnScale", &column_scale_},
                            {"alpha or beta", &scalars_},
                            {"an array of pointers", &arrays_}};
  if (!call_.stores_aux()) all.push_back({"aux", &aux_});
  return all;
}

// C first.
std::vector<Operands::Named> Operands::outputs() {
  std::vector<Named> all = {{"C", &c_}};
  if (call_.stores_aux()) all.push_back({"aux", &aux_});
  if (call_.extras.gradient != 0) all.push_back({"biasGradient", &gradient_});
  return all;
}

std::string Operands::judge() {
  for (const Named& output : outputs()) {
    output.of->device->download();
    if (const std::string damage = output.of->device->damage(); !damage.empty())
      return std::string(output.name) + ": " + damage;
    if (call_.is_empty() && !output.of->device->untouched())
      return std::string(output.name) + " was written";
  }
  for (const Named& input : inputs()) {
    if (!input.of->device) continue;
    input.of->device->download();
    if (!input.of->device->untouched()) return std::string(input.name) + " was written";
  }
  if (workspace_) {
    workspace_->download();
    if (!workspace_->damage().empty()) return "workspace: " + workspace_->damage();
  }
  const Matrix& a = first_ != nullptr ? first_->c_.device->download() : a_.host;
  return judged(call_, {.integers = call_.integers != 0 && first_ == nullptr,
                        .a = a,
                        .b = b_.host,
                        .c = call_.extras.c_apart != 0 ? addend_.host : c_.host,
                        .bias = bias_.host,
                        .row_scale = row_scale_.host,
                        .column_scale = column_scale_.host,
                        .aux = aux_.host,
                        .after = c_.device->seen(),
                        .aux_after = call_.stores_aux() ? aux_.device->seen() : aux_.host,
                        .gradient = gradient_.device ? gradient_.device->seen() : gradient_.host});
}

std::vector<std::byte> Operands::result() {
  std::vector<std::byte> all;
  for (const Named& output : outputs()) {
    const std::vector<std::byte>& bytes = output.of->device->download().bytes();
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

void Operands::spoil_element() {
  if (c_.host.span() != 0) spoil_last_element(c_);
}

void Operands::spoil_padding() {
  const Matrix& c = c_.host;
  if (c.span() == 0) return;
  const bool has_padding = c.ld() > c.rows() && c.columns() > 1 && call_.side_by_side == 0;
  write(c_, has_padding ? c.rows() : c.span(), 1.0F);
}

void Operands::spoil_aux() {
  if (call_.stores_aux() && aux_.host.span() != 0) spoil_last_element(aux_);
}

void Operands::spoil_gradient() {
  if (gradient_.device && gradient_.host.span() != 0) spoil_last_element(gradient_);
}

}  // namespace bwgemm::fuzz
