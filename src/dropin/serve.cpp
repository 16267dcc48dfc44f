// SPDX-License-Identifier: Apache-2.0
#include "dropin/serve.h"

#include <cmath>
#include <cstring>

#include "dropin/epilogue.h"
#include "dropin/library.h"

namespace bwgemm::dropin {
namespace {

// bwgemm takes no other workspace; cuBLAS does not either.
constexpr std::uintptr_t workspace_alignment = 256;

// Scalars as bwgemm has them: half ones, which lie on the host, become float.
class Scalars {
 public:
  explicit Scalars(const Call& call) : alpha(call.alpha), beta(call.beta) {
    if (!call.has_half_scalars()) return;
    converted_[0] = host_scalar(call, call.alpha);
    converted_[1] = host_scalar(call, call.beta);
    alpha = &converted_[0];
    beta = &converted_[1];
  }
  Scalars(const Scalars&) = delete;
  Scalars& operator=(const Scalars&) = delete;

  const void *alpha, *beta;

 private:
  float converted_[2] = {};
};

bool is_usable_workspace(const CallSettings& settings) {
  const auto address = reinterpret_cast<std::uintptr_t>(settings.workspace);
  return settings.splits_k && address != 0 && settings.workspace_size != 0 &&
         address % workspace_alignment == 0;
}

void set_workspace(bwgemmMatmulDesc_t& desc, const CallSettings& settings) {
  const bool is_usable = is_usable_workspace(settings);
  desc.workspace = is_usable ? settings.workspace : nullptr;
  desc.workspaceSize = is_usable ? settings.workspace_size : 1;  // null and 1: none
}

bwgemmMatmulDesc_t desc_of(const Call& call, const CallSettings& settings) {
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = call.transa;
  desc.transb = call.transb;
  desc.m = call.m;
  desc.n = call.n;
  desc.k = call.k;
  desc.Atype = call.a.type;
  desc.Btype = call.b.type;
  desc.Ctype = call.c.type;
  desc.Dtype = call.output().type;
  desc.Aorder = call.a.order;
  desc.Border = call.b.order;
  desc.Corder = call.c.order;
  desc.Dorder = call.output().order;
  desc.lda = call.a.ld;
  desc.ldb = call.b.ld;
  desc.ldc = call.c.ld;
  desc.ldd = call.output().ld;
  desc.batchCount = call.batch;
  desc.strideA = call.a.stride;
  desc.strideB = call.b.stride;
  desc.strideC = call.c.stride;
  desc.strideD = call.output().stride;
  if (call.by_pointers()) desc.batchMode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
  set_epilogue(desc, call);
  set_workspace(desc, settings);
  return desc;
}

// The driver gives a new stream the address of one that is gone, whose work need not be over. What
// bwgemm has for a stream it has by its number.
bwgemmStatus_t set_stream(Product& product, cudaStream_t stream) {
  const unsigned long long number = number_of(stream);
  if (product.stream == stream && (number == product.stream_number || number == 0))
    return BWGEMM_STATUS_SUCCESS;
  const bwgemmStatus_t status = library()->set_stream(product.handle, stream);
  if (status != BWGEMM_STATUS_SUCCESS) return status;
  product.stream = stream;
  product.stream_number = number;
  return status;
}

bwgemmStatus_t set_pointer_mode(Product& product, int mode) {
  if (product.pointer_mode == mode) return BWGEMM_STATUS_SUCCESS;
  const bwgemmStatus_t status =
      library()->set_pointer_mode(product.handle, static_cast<bwgemmPointerMode_t>(mode));
  if (status == BWGEMM_STATUS_SUCCESS) product.pointer_mode = mode;
  return status;
}

bwgemmStatus_t set_sm_count_target(Product& product, int count) {
  if (product.sm_count_target == count) return BWGEMM_STATUS_SUCCESS;
  const bwgemmStatus_t status = library()->set_sm_count_target(product.handle, count);
  if (status == BWGEMM_STATUS_SUCCESS) product.sm_count_target = count;
  return status;
}

bwgemmStatus_t apply(Product& product, const CallSettings& settings) {
  bwgemmStatus_t status = set_stream(product, settings.stream);
  if (status == BWGEMM_STATUS_SUCCESS) status = set_pointer_mode(product, settings.pointer_mode);
  if (status == BWGEMM_STATUS_SUCCESS)
    status = set_sm_count_target(product, settings.sm_count_target);
  return status;
}

}  // namespace

std::optional<CallSettings> settings_of(const Handle& handle, cublasHandle_t of) {
  const Cublas& cublas = *handle.cublas;
  if (cublas.get_stream == nullptr || cublas.get_pointer_mode == nullptr ||
      cublas.get_math_mode == nullptr || cublas.get_sm_count_target == nullptr)
    return std::nullopt;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  if (cublas.get_stream(of, &stream) != CUBLAS_STATUS_SUCCESS ||
      cublas.get_pointer_mode(of, &pointer_mode) != CUBLAS_STATUS_SUCCESS ||
      cublas.get_math_mode(of, &math_mode) != CUBLAS_STATUS_SUCCESS ||
      cublas.get_sm_count_target(of, &sm_count_target) != CUBLAS_STATUS_SUCCESS)
    return std::nullopt;
  return CallSettings{stream,          pointer_mode,     math_mode,
                      sm_count_target, handle.workspace, handle.workspace_size};
}

std::size_t usable_workspace(const CallSettings& settings) {
  return is_usable_workspace(settings) ? settings.workspace_size : 0;
}

bwgemmStatus_t multiply(Handle& handle, const Call& call, const CallSettings& settings, void* to) {
  const bwgemmStatus_t status = apply(handle.product, settings);
  if (status != BWGEMM_STATUS_SUCCESS) return status;
  const bwgemmMatmulDesc_t desc = desc_of(call, settings);
  const Scalars scalars(call);
  return library()->matmul(handle.product.handle, &desc, scalars.alpha, call.a.data, call.b.data,
                           scalars.beta, call.d ? call.c.data : to, to);
}

bwgemmStatus_t ask(Handle& handle, const Call& call, const CallSettings& settings) {
  const bwgemmStatus_t status = apply(handle.product, settings);
  if (status != BWGEMM_STATUS_SUCCESS) return status;
  const bwgemmMatmulDesc_t desc = desc_of(call, settings);
  const Scalars scalars(call);
  std::size_t size = 0;
  return library()->get_workspace_size(handle.product.handle, &desc, scalars.alpha, call.a.data,
                                       call.b.data, scalars.beta, call.c.data,
                                       const_cast<void*>(call.output().data), &size);
}

std::optional<bwgemmMatmulAlgo_t> first_algo(Handle& handle, const Call& call,
                                             const CallSettings& settings) {
  if (apply(handle.product, settings) != BWGEMM_STATUS_SUCCESS) return std::nullopt;
  const bwgemmMatmulDesc_t desc = desc_of(call, settings);
  const Scalars scalars(call);
  bwgemmMatmulAlgo_t first{};
  first.structSize = sizeof first;
  std::size_t count = 0;
  const bwgemmStatus_t status = library()->get_algos(
      handle.product.handle, &desc, scalars.alpha, call.a.data, call.b.data, scalars.beta,
      call.c.data, const_cast<void*>(call.output().data), &first, 1, &count);
  return status == BWGEMM_STATUS_SUCCESS && count > 0 ? std::optional(first) : std::nullopt;
}

bool may_have_written(bwgemmStatus_t status, const CallSettings& settings) {
  const bool can_be_late = status == BWGEMM_STATUS_EXECUTION_FAILED ||
                           status == BWGEMM_STATUS_ALLOC_FAILED ||
                           status == BWGEMM_STATUS_INTERNAL_ERROR;
  return can_be_late && is_usable_workspace(settings);
}

bool overwrites(const Call& call, const CallSettings& settings) {
  if (call.output().data != call.c.data) return true;
  return !settings.has_device_scalars() && host_scalar(call, call.beta) == 0;
}

float from_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  float size = 0;
  if (exponent == 31)
    size = fraction != 0 ? NAN : INFINITY;
  else if (exponent == 0)
    size = std::ldexp(static_cast<float>(fraction), -24);
  else
    size = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

float host_scalar(const Call& call, const void* scalar) {
  if (call.has_half_scalars()) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, scalar, sizeof bits);
    return from_half(bits);
  }
  float value = 0;
  std::memcpy(&value, scalar, sizeof value);
  return value;
}

}  // namespace bwgemm::dropin
