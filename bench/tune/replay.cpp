// SPDX-License-Identifier: Apache-2.0
#include "tune/replay.h"

#include <stdexcept>
#include <string>

namespace bwgemm::bench {
namespace {

constexpr int matrices = 3;  // A, B and C

template <class Type>
Type* as(const void* pointer) {
  return static_cast<Type*>(const_cast<void*>(pointer));
}

}  // namespace

Replay::Replay(const Gpu& gpu, const TwoSides& sides, const RecordedCall& recorded)
    : gpu_(gpu),
      sides_(sides),
      recorded_(recorded),
      problem_(operands_of(recorded)),
      operands_(gpu, problem_) {
  if (recorded.workspace > 0) workspace_.emplace(static_cast<std::size_t>(recorded.workspace));
  if (recorded.call.by_pointers()) place_arrays();
  if (recorded.call.is_lt()) lt_ = std::make_unique<LtObjects>(sides.state, recorded, problem_);
  set_handle();
}

void Replay::set_handle() const {
  const State& state = sides_.state;
  const cublasHandle_t handle = sides_.handle;
  require(state.set_stream(handle, gpu_.stream()), "cublasSetStream_v2");
  if (workspace_ && !lt_)
    require(state.set_workspace(handle, workspace_->pointer(), workspace_->bytes()),
            "cublasSetWorkspace_v2");
  require(state.set_pointer_mode(handle, recorded_.has_device_scalars ? CUBLAS_POINTER_MODE_DEVICE
                                                                      : CUBLAS_POINTER_MODE_HOST),
          "cublasSetPointerMode_v2");
  require(state.set_math_mode(handle, static_cast<cublasMath_t>(recorded_.math_mode)),
          "cublasSetMathMode");
  require(state.set_sm_count_target(handle, lt_ ? 0 : recorded_.sm_count_target),
          "cublasSetSmCountTarget");
}

std::size_t Replay::array(int set, int matrix) const {
  return static_cast<std::size_t>(set * matrices + matrix) *
         static_cast<std::size_t>(recorded_.call.batch) * sizeof(void*);
}

void Replay::place_arrays() {
  std::vector<const void*> pointers;
  for (int set = 0; set < operands_.sets(); ++set) {
    const Pointers at = operands_.pointers(set);
    const auto add = [&](const void* first, const BenchMatrix& matrix) {
      for (std::int64_t batch = 0; batch < recorded_.call.batch; ++batch)
        pointers.push_back(as<char>(first) + batch * matrix.stride * size_bytes(matrix.type));
    };
    add(at.a, problem_.a);
    add(at.b, problem_.b);
    add(at.c, problem_.c);
  }
  arrays_.emplace(pointers.size() * sizeof(void*));
  check(driver().cuMemcpyHtoD(arrays_->address(), pointers.data(), arrays_->bytes()),
        "cuMemcpyHtoD");
  // The copy may return before it is done, and the stream of the calls does not wait for it.
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
}

// Half ones lie on the host.
Replay::Scalars Replay::scalars(const Pointers& at) const {
  static constexpr std::uint16_t half_one = 0x3c00, half_zero = 0;
  if (!recorded_.call.has_half_scalars()) return {at.alpha, at.beta};
  return {&half_one, recorded_.adds_c ? &half_one : &half_zero};
}

cublasStatus_t Replay::call_lt(const Side& side, const Pointers& at) const {
  lt_->point_to(at);
  const auto [alpha, beta] = scalars(at);
  return side.lt_matmul(reinterpret_cast<cublasLtHandle_t>(sides_.handle), lt_->desc(), alpha, at.a,
                        lt_->layout(0), at.b, lt_->layout(1), beta, at.c, lt_->layout(2), at.c,
                        lt_->layout(3), recorded_.algo ? &*recorded_.algo : nullptr,
                        workspace_ ? workspace_->pointer() : nullptr,
                        workspace_ ? workspace_->bytes() : 0, gpu_.stream());
}

cublasStatus_t Replay::call(const Side& side, int set) const {
  const dropin::Call& c = recorded_.call;
  const Pointers at = operands_.pointers(set);
  if (lt_) return call_lt(side, at);
  const auto [alpha, beta] = scalars(at);
  const cublasHandle_t handle = sides_.handle;
  const auto transa = static_cast<cublasOperation_t>(c.transa);
  const auto transb = static_cast<cublasOperation_t>(c.transb);
  const auto type = [](const dropin::Operand& of) { return static_cast<cudaDataType>(of.type); };
  const auto compute = static_cast<cublasComputeType_t>(c.compute);
  const auto algo = static_cast<cublasGemmAlgo_t>(c.algo);
  using Half = std::uint16_t;
  switch (c.entry) {
    case dropin::Entry::hgemm:
      return side.hgemm(handle, transa, transb, c.m, c.n, c.k, as<Half>(alpha), as<Half>(at.a),
                        c.a.ld, as<Half>(at.b), c.b.ld, as<Half>(beta), as<Half>(at.c), c.c.ld);
    case dropin::Entry::hgemm_strided_batched:
      return side.hgemm_strided_batched(handle, transa, transb, c.m, c.n, c.k, as<Half>(alpha),
                                        as<Half>(at.a), c.a.ld, c.a.stride, as<Half>(at.b), c.b.ld,
                                        c.b.stride, as<Half>(beta), as<Half>(at.c), c.c.ld,
                                        c.c.stride, c.batch);
    case dropin::Entry::sgemm_ex:
      return side.sgemm_ex(handle, transa, transb, c.m, c.n, c.k, as<float>(alpha), at.a, type(c.a),
                           c.a.ld, at.b, type(c.b), c.b.ld, as<float>(beta), at.c, type(c.c),
                           c.c.ld);
    case dropin::Entry::gemm_ex:
      return side.gemm_ex(handle, transa, transb, c.m, c.n, c.k, alpha, at.a, type(c.a), c.a.ld,
                          at.b, type(c.b), c.b.ld, beta, at.c, type(c.c), c.c.ld, compute, algo);
    case dropin::Entry::gemm_strided_batched_ex:
      return side.gemm_strided_batched_ex(handle, transa, transb, c.m, c.n, c.k, alpha, at.a,
                                          type(c.a), c.a.ld, c.a.stride, at.b, type(c.b), c.b.ld,
                                          c.b.stride, beta, at.c, type(c.c), c.c.ld, c.c.stride,
                                          c.batch, compute, algo);
    default:
      return side.gemm_batched_ex(handle, transa, transb, c.m, c.n, c.k, alpha,
                                  as<const void* const>(arrays_->pointer(array(set, 0))), type(c.a),
                                  c.a.ld, as<const void* const>(arrays_->pointer(array(set, 1))),
                                  type(c.b), c.b.ld, beta,
                                  as<void* const>(arrays_->pointer(array(set, 2))), type(c.c),
                                  c.c.ld, c.batch, compute, algo);
  }
}

void Replay::run(const Side& side, int set) const {
  require(call(side, set), dropin::name(recorded_.call.entry));
  if (side.take_last == nullptr) return;
  const std::string last = side.take_last();
  if (last == "served") return;
  std::string text = "bwgemm did not compute the call";
  if (!last.empty()) text.append(", the reason is ").append(last);
  throw std::runtime_error(text);
}

}  // namespace bwgemm::bench
