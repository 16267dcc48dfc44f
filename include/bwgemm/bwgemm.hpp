// SPDX-License-Identifier: Apache-2.0
//
// bwgemm for C++17 and newer: handles that end themselves, typed matrices, exceptions or statuses.
// Header-only, over the C functions of bwgemm.h alone, whose rules (stream order, threads, capture,
// aliasing, numerics) hold unchanged: this header says only what it adds.
//
// Each C function of a handle is a pair of members. StatusHandle has try_name, which is noexcept,
// returns the status and writes its outputs only on success. Handle, which is a StatusHandle, has
// name too, which returns the outputs and throws Error. With BWGEMM_NO_EXCEPTIONS defined, or
// exceptions switched off in the compiler, there is no Handle, no Error and nothing else that
// throws. For a C function without a member: bwgemm::check(bwgemmSomething(handle.get(), ...)).
#ifndef BWGEMM_BWGEMM_HPP
#define BWGEMM_BWGEMM_HPP

#include <bwgemm/bwgemm.h>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#if !defined(BWGEMM_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define BWGEMM_NO_EXCEPTIONS
#endif
#ifndef BWGEMM_NO_EXCEPTIONS
#include <stdexcept>
#include <string>
#include <vector>
#endif

// CUDA's types for 16-bit floating point, which are complete where their headers are included.
struct __half;
struct __nv_bfloat16;

namespace bwgemm {
inline namespace v1 {

// ---- version and errors: see bwgemm.h -----------------------------------------------------------

// Of the library that is loaded; BWGEMM_VERSION is of the header.
inline int version() noexcept {
  return bwgemmGetVersion();
}
inline const char* build_info() noexcept {
  return bwgemmGetBuildInfo();
}
inline const char* name(bwgemmStatus_t status) noexcept {
  return bwgemmStatusName(status);
}
inline const char* sentence(bwgemmStatus_t status) noexcept {
  return bwgemmStatusString(status);
}
// Of the calling thread; overwritten by its next failing call.
inline const char* last_error() noexcept {
  return bwgemmGetLastErrorString();
}

#ifndef BWGEMM_NO_EXCEPTIONS
// A call that failed. what() is the thread's last-error text at that moment, kept.
class Error : public std::runtime_error {
 public:
  // `text` null or "": the sentence that belongs to the status.
  Error(bwgemmStatus_t status, const char* text)
      : std::runtime_error(text != nullptr && *text != '\0' ? text : sentence(status)),
        status_(status) {}
  bwgemmStatus_t status() const noexcept { return status_; }

 private:
  bwgemmStatus_t status_;
};

// Throws Error unless the status is SUCCESS. To be called on the thread of the call, before its
// next.
inline void check(bwgemmStatus_t status) {
  if (status != BWGEMM_STATUS_SUCCESS) throw Error(status, last_error());
}
#endif

// ---- kernels: see bwgemm.h ----------------------------------------------------------------------

inline int kernel_count() noexcept {
  return bwgemmKernelCount();
}
// Null if the index is out of range.
inline const char* kernel_name(int index) noexcept {
  return bwgemmKernelName(index);
}

// ---- what a GEMM is -----------------------------------------------------------------------------

// The bwgemmDataType_t of an element type. Specialize it for types of your own that are stored as
// IEEE half or bfloat16.
template <class Element>
struct DataType;
template <>
struct DataType<float> : std::integral_constant<bwgemmDataType_t, BWGEMM_R_32F> {};
template <>
struct DataType<__half> : std::integral_constant<bwgemmDataType_t, BWGEMM_R_16F> {};
template <>
struct DataType<__nv_bfloat16> : std::integral_constant<bwgemmDataType_t, BWGEMM_R_16BF> {};

// A or B in device memory, not owned: column-major as stored, leading dimension and batch stride in
// elements, and what is done to it. `stride` counts only where there is more than one batch.
struct InputMatrix {
  const void* data = nullptr;
  bwgemmDataType_t type = BWGEMM_R_16BF;
  std::int64_t ld = 0;
  bwgemmOperation_t operation = BWGEMM_OP_N;
  std::int64_t stride = 0;
};

// C likewise.
struct OutputMatrix {
  void* data = nullptr;
  bwgemmDataType_t type = BWGEMM_R_16BF;
  std::int64_t ld = 0;
  std::int64_t stride = 0;
};

// Of typed pointers. A pointer to void needs its type said: InputMatrix{data, BWGEMM_R_16F, ld}.
template <class Element>
constexpr InputMatrix input(const Element* data, std::int64_t ld,
                            bwgemmOperation_t operation = BWGEMM_OP_N,
                            std::int64_t stride = 0) noexcept {
  return {data, DataType<Element>::value, ld, operation, stride};
}
template <class Element>
constexpr OutputMatrix output(Element* data, std::int64_t ld, std::int64_t stride = 0) noexcept {
  return {data, DataType<Element>::value, ld, stride};
}

// alpha or beta: a number, which is kept here as a float that the calling thread makes of it (it
// may flush denormals), or a pointer, which is passed on. A pointer is to device memory if the
// handle's pointer mode says so; a number with that mode is an error that nothing detects.
class Factor {
 public:
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  constexpr Factor(Number value) noexcept : value_(static_cast<float>(value)) {}
  constexpr Factor(const float* pointer) noexcept : pointer_(pointer), is_pointer_(true) {}
  // Valid while this lives.
  constexpr const float* get() const noexcept { return is_pointer_ ? pointer_ : &value_; }

 private:
  float value_ = 0;
  const float* pointer_ = nullptr;
  bool is_pointer_ = false;
};

// C = alpha * op(A) * op(B) + beta * C, `batch_count` times.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  InputMatrix a, b;
  OutputMatrix c;
  Factor alpha = 1.0f, beta = 0.0f;
  std::int64_t batch_count = 1;
  bwgemmComputeType_t compute_type = BWGEMM_COMPUTE_32F;
  int algo = -1;
};

// A bwgemmMatmul: the struct, as BWGEMM_MATMUL_DESC_INIT makes it, with the operands.
struct Matmul {
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  Factor alpha = 1.0f, beta = 0.0f;

  Matmul() = default;
  // The same product, whose D is C, to which an epilogue may be added.
  explicit Matmul(const Gemm& g) noexcept
      : a(g.a.data), b(g.b.data), c(g.c.data), d(g.c.data), alpha(g.alpha), beta(g.beta) {
    desc.computeType = g.compute_type;
    desc.transa = g.a.operation, desc.transb = g.b.operation;
    desc.m = g.m, desc.n = g.n, desc.k = g.k;
    desc.Atype = g.a.type, desc.Btype = g.b.type, desc.Ctype = desc.Dtype = g.c.type;
    desc.lda = g.a.ld, desc.ldb = g.b.ld, desc.ldc = desc.ldd = g.c.ld;
    desc.batchCount = g.batch_count;
    desc.strideA = g.a.stride, desc.strideB = g.b.stride, desc.strideC = desc.strideD = g.c.stride;
  }
};

// As bwgemmGetWorkspace returns it.
struct Workspace {
  void* data = nullptr;
  std::size_t size = 0;
};

// bwgemmExplain into a buffer; `handle` may be null. Of one GEMM of the batch.
inline bwgemmStatus_t try_explain(bwgemmHandle_t handle, const Gemm& g, char* text,
                                  std::size_t size) noexcept {
  return bwgemmExplain(handle, g.a.operation, g.b.operation, g.m, g.n, g.k, g.alpha.get(), g.a.data,
                       g.a.type, g.a.ld, g.b.data, g.b.type, g.b.ld, g.beta.get(), g.c.data,
                       g.c.type, g.c.ld, g.compute_type, g.algo, text, size);
}

inline bwgemmStatus_t try_explain(bwgemmHandle_t handle, const Matmul& m, char* text,
                                  std::size_t size) noexcept {
  return bwgemmMatmulExplain(handle, &m.desc, m.alpha.get(), m.a, m.b, m.beta.get(), m.c, m.d, text,
                             size);
}

#ifndef BWGEMM_NO_EXCEPTIONS
// Of a Gemm or a Matmul: the whole text. Also throws std::bad_alloc.
template <class Product = Gemm>
std::string explain(bwgemmHandle_t handle, const Product& product) {
  for (std::size_t size = 16384;; size *= 2) {
    std::string text(size, '\0');
    check(try_explain(handle, product, &text[0], text.size()));
    text.resize(text.find('\0'));
    if (text.size() + 1 < size) return text;
  }
}
// For a nominal H200 and a nominal B200; needs no GPU.
template <class Product = Gemm>
std::string explain(const Product& product) {
  return explain(nullptr, product);
}
inline std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (int index = 0; index < kernel_count(); ++index) names.emplace_back(kernel_name(index));
  return names;
}
#endif

// ---- handles ------------------------------------------------------------------------------------

// Owns a bwgemmHandle_t, or none: then calls say NOT_INITIALIZED. Can be moved, not copied. Members
// that are const may run concurrently on one handle; the others need external locking.
class StatusHandle {
 public:
  // Owns none.
  StatusHandle() noexcept = default;
  // Takes over what bwgemmCreate returned.
  explicit StatusHandle(bwgemmHandle_t owned) noexcept : handle_(owned) {}
  StatusHandle(StatusHandle&& other) noexcept : handle_(other.release()) {}
  StatusHandle& operator=(StatusHandle&& other) noexcept {
    const StatusHandle previous(std::exchange(handle_, other.release()));
    return *this;
  }
  StatusHandle(const StatusHandle&) = delete;
  StatusHandle& operator=(const StatusHandle&) = delete;
  // Waits as bwgemmDestroy does. Its status is lost: try_destroy() tells it.
  ~StatusHandle() { static_cast<void>(bwgemmDestroy(handle_)); }

  // bwgemmCreate. On success what this owned before is destroyed; else it is kept.
  bwgemmStatus_t try_create() noexcept {
    bwgemmHandle_t created = nullptr;
    const bwgemmStatus_t status = bwgemmCreate(&created);
    if (status == BWGEMM_STATUS_SUCCESS) *this = StatusHandle(created);
    return status;
  }
  // bwgemmDestroy. Whatever the status, this owns none afterwards.
  bwgemmStatus_t try_destroy() noexcept { return bwgemmDestroy(release()); }

  bwgemmHandle_t get() const noexcept { return handle_; }
  // Gives up ownership: the caller ends it with bwgemmDestroy.
  bwgemmHandle_t release() noexcept { return std::exchange(handle_, nullptr); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  // bwgemmSet... and bwgemmGet...
  bwgemmStatus_t try_set_stream(CUstream_st* stream) noexcept {
    return bwgemmSetStream(handle_, stream);
  }
  bwgemmStatus_t try_stream(CUstream_st*& stream) const noexcept {
    return bwgemmGetStream(handle_, &stream);
  }
  bwgemmStatus_t try_set_workspace(void* data, std::size_t size) noexcept {
    return bwgemmSetWorkspace(handle_, data, size);
  }
  bwgemmStatus_t try_workspace(Workspace& workspace) const noexcept {
    return bwgemmGetWorkspace(handle_, &workspace.data, &workspace.size);
  }
  bwgemmStatus_t try_set_pointer_mode(bwgemmPointerMode_t mode) noexcept {
    return bwgemmSetPointerMode(handle_, mode);
  }
  bwgemmStatus_t try_pointer_mode(bwgemmPointerMode_t& mode) const noexcept {
    return bwgemmGetPointerMode(handle_, &mode);
  }
  bwgemmStatus_t try_set_sm_count_target(int count) noexcept {
    return bwgemmSetSmCountTarget(handle_, count);
  }
  bwgemmStatus_t try_sm_count_target(int& count) const noexcept {
    return bwgemmGetSmCountTarget(handle_, &count);
  }
  bwgemmStatus_t try_set_determinism(bwgemmDeterminism_t mode) noexcept {
    return bwgemmSetDeterminism(handle_, mode);
  }
  bwgemmStatus_t try_determinism(bwgemmDeterminism_t& mode) const noexcept {
    return bwgemmGetDeterminism(handle_, &mode);
  }
  bwgemmStatus_t try_set_tune_mode(bwgemmTuneMode_t mode) noexcept {
    return bwgemmSetTuneMode(handle_, mode);
  }
  bwgemmStatus_t try_tune_mode(bwgemmTuneMode_t& mode) const noexcept {
    return bwgemmGetTuneMode(handle_, &mode);
  }
  bwgemmStatus_t try_set_programmatic_launch(int enable) noexcept {
    return bwgemmSetProgrammaticLaunch(handle_, enable);
  }
  bwgemmStatus_t try_programmatic_launch(int& enable) const noexcept {
    return bwgemmGetProgrammaticLaunch(handle_, &enable);
  }

  // bwgemmGemmEx, or bwgemmGemmStridedBatchedEx if batch_count is not 1.
  bwgemmStatus_t try_gemm(const Gemm& g) const noexcept {
    if (g.batch_count == 1)
      return bwgemmGemmEx(handle_, g.a.operation, g.b.operation, g.m, g.n, g.k, g.alpha.get(),
                          g.a.data, g.a.type, g.a.ld, g.b.data, g.b.type, g.b.ld, g.beta.get(),
                          g.c.data, g.c.type, g.c.ld, g.compute_type, g.algo);
    return bwgemmGemmStridedBatchedEx(
        handle_, g.a.operation, g.b.operation, g.m, g.n, g.k, g.alpha.get(), g.a.data, g.a.type,
        g.a.ld, g.a.stride, g.b.data, g.b.type, g.b.ld, g.b.stride, g.beta.get(), g.c.data,
        g.c.type, g.c.ld, g.c.stride, g.batch_count, g.compute_type, g.algo);
  }
  // bwgemmGemmBatchedEx: the data of a, b and c are arrays of pointers in device memory.
  bwgemmStatus_t try_gemm_of_arrays(const Gemm& g) const noexcept {
    return bwgemmGemmBatchedEx(handle_, g.a.operation, g.b.operation, g.m, g.n, g.k, g.alpha.get(),
                               static_cast<const void* const*>(g.a.data), g.a.type, g.a.ld,
                               static_cast<const void* const*>(g.b.data), g.b.type, g.b.ld,
                               g.beta.get(), static_cast<void* const*>(g.c.data), g.c.type, g.c.ld,
                               g.batch_count, g.compute_type, g.algo);
  }
  bwgemmStatus_t try_matmul(const Matmul& m) const noexcept {
    return bwgemmMatmul(handle_, &m.desc, m.alpha.get(), m.a, m.b, m.beta.get(), m.c, m.d);
  }
  // bwgemmPreload; null: everything.
  bwgemmStatus_t try_preload(const bwgemmMatmulDesc_t* desc = nullptr) const noexcept {
    return bwgemmPreload(handle_, desc);
  }
  // bwgemmMatmulGetAlgos. `count` is how many there are, which may be more than `capacity`.
  bwgemmStatus_t try_algos(const Matmul& m, bwgemmMatmulAlgo_t* algos, std::size_t capacity,
                           std::size_t& count) const noexcept {
    return bwgemmMatmulGetAlgos(handle_, &m.desc, m.alpha.get(), m.a, m.b, m.beta.get(), m.c, m.d,
                                algos, capacity, &count);
  }
  // bwgemmMatmulAutotune.
  bwgemmStatus_t try_autotune(const Matmul& m, std::int64_t& algo,
                              const bwgemmAutotuneOptions_t* options = nullptr) const noexcept {
    return bwgemmMatmulAutotune(handle_, &m.desc, m.alpha.get(), m.a, m.b, m.beta.get(), m.c, m.d,
                                options, &algo);
  }
  bwgemmStatus_t try_set_tuning_cache(const char* path) noexcept {
    return bwgemmSetTuningCache(handle_, path);
  }
  // bwgemmBf16 and bwgemmF16: the arguments in BLAS's order.
  bwgemmStatus_t try_bf16(bwgemmOperation_t transa, bwgemmOperation_t transb, std::int64_t m,
                          std::int64_t n, std::int64_t k, Factor alpha, const void* a,
                          std::int64_t lda, const void* b, std::int64_t ldb, Factor beta, void* c,
                          std::int64_t ldc) const noexcept {
    return bwgemmBf16(handle_, transa, transb, m, n, k, alpha.get(), a, lda, b, ldb, beta.get(), c,
                      ldc);
  }
  bwgemmStatus_t try_f16(bwgemmOperation_t transa, bwgemmOperation_t transb, std::int64_t m,
                         std::int64_t n, std::int64_t k, Factor alpha, const void* a,
                         std::int64_t lda, const void* b, std::int64_t ldb, Factor beta, void* c,
                         std::int64_t ldc) const noexcept {
    return bwgemmF16(handle_, transa, transb, m, n, k, alpha.get(), a, lda, b, ldb, beta.get(), c,
                     ldc);
  }
  // bwgemmGetWorkspaceSize. Of one GEMM of the batch.
  bwgemmStatus_t try_workspace_size(const Gemm& g, std::size_t& size) const noexcept {
    return bwgemmGetWorkspaceSize(handle_, g.a.operation, g.b.operation, g.m, g.n, g.k,
                                  g.alpha.get(), g.a.data, g.a.type, g.a.ld, g.b.data, g.b.type,
                                  g.b.ld, g.beta.get(), g.c.data, g.c.type, g.c.ld, g.compute_type,
                                  g.algo, &size);
  }
  bwgemmStatus_t try_workspace_size(const Matmul& m, std::size_t& size) const noexcept {
    return bwgemmMatmulGetWorkspaceSize(handle_, &m.desc, m.alpha.get(), m.a, m.b, m.beta.get(),
                                        m.c, m.d, &size);
  }

 private:
  bwgemmHandle_t handle_ = nullptr;
};

#ifndef BWGEMM_NO_EXCEPTIONS
// A StatusHandle whose members throw Error. try_explain(), which may be asked without a handle, is
// no member: explain() of a Handle that owns none throws.
class Handle : public StatusHandle {
 public:
  // bwgemmCreate.
  Handle() { check(try_create()); }
  // Owns none.
  explicit Handle(std::nullptr_t) noexcept {}
  // Takes over what bwgemmCreate returned.
  explicit Handle(bwgemmHandle_t owned) noexcept : StatusHandle(owned) {}

  // bwgemmDestroy. Even if it throws, this owns none afterwards.
  void destroy() { check(try_destroy()); }

  void set_stream(CUstream_st* stream) { check(try_set_stream(stream)); }
  CUstream_st* stream() const { return value(&Handle::try_stream); }
  void set_workspace(void* data, std::size_t size) { check(try_set_workspace(data, size)); }
  Workspace workspace() const { return value(&Handle::try_workspace); }
  void set_pointer_mode(bwgemmPointerMode_t mode) { check(try_set_pointer_mode(mode)); }
  bwgemmPointerMode_t pointer_mode() const { return value(&Handle::try_pointer_mode); }
  void set_sm_count_target(int count) { check(try_set_sm_count_target(count)); }
  int sm_count_target() const { return value(&Handle::try_sm_count_target); }
  void set_determinism(bwgemmDeterminism_t mode) { check(try_set_determinism(mode)); }
  bwgemmDeterminism_t determinism() const { return value(&Handle::try_determinism); }
  void set_tune_mode(bwgemmTuneMode_t mode) { check(try_set_tune_mode(mode)); }
  bwgemmTuneMode_t tune_mode() const { return value(&Handle::try_tune_mode); }
  void set_programmatic_launch(int enable) { check(try_set_programmatic_launch(enable)); }
  int programmatic_launch() const { return value(&Handle::try_programmatic_launch); }

  void gemm(const Gemm& gemm) const { check(try_gemm(gemm)); }
  void gemm_of_arrays(const Gemm& gemm) const { check(try_gemm_of_arrays(gemm)); }
  void matmul(const Matmul& matmul) const { check(try_matmul(matmul)); }
  void preload(const bwgemmMatmulDesc_t* desc = nullptr) const { check(try_preload(desc)); }
  void set_tuning_cache(const char* path) { check(try_set_tuning_cache(path)); }
  std::vector<bwgemmMatmulAlgo_t> algos(const Matmul& matmul) const {
    std::size_t count = 0;
    check(try_algos(matmul, nullptr, 0, count));
    bwgemmMatmulAlgo_t form{};
    form.structSize = sizeof form;
    std::vector<bwgemmMatmulAlgo_t> all(count, form);
    if (count > 0) check(try_algos(matmul, all.data(), all.size(), count));
    return all;
  }
  std::int64_t autotune(const Matmul& matmul,
                        const bwgemmAutotuneOptions_t* options = nullptr) const {
    std::int64_t algo = -1;
    check(try_autotune(matmul, algo, options));
    return algo;
  }
  void bf16(bwgemmOperation_t transa, bwgemmOperation_t transb, std::int64_t m, std::int64_t n,
            std::int64_t k, Factor alpha, const void* a, std::int64_t lda, const void* b,
            std::int64_t ldb, Factor beta, void* c, std::int64_t ldc) const {
    check(try_bf16(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
  }
  void f16(bwgemmOperation_t transa, bwgemmOperation_t transb, std::int64_t m, std::int64_t n,
           std::int64_t k, Factor alpha, const void* a, std::int64_t lda, const void* b,
           std::int64_t ldb, Factor beta, void* c, std::int64_t ldc) const {
    check(try_f16(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
  }
  // Of a Gemm or a Matmul.
  template <class Product = Gemm>
  std::size_t workspace_size(const Product& product) const {
    std::size_t size = 0;
    check(try_workspace_size(product, size));
    return size;
  }
  template <class Product = Gemm>
  std::string explain(const Product& product) const {
    if (get() == nullptr) throw Error(BWGEMM_STATUS_NOT_INITIALIZED, "explain: handle is null");
    return v1::explain(get(), product);
  }

 private:
  template <class Value>
  Value value(bwgemmStatus_t (StatusHandle::*getter)(Value&) const noexcept) const {
    Value value{};
    check((this->*getter)(value));
    return value;
  }
};
#endif

}  // namespace v1
}  // namespace bwgemm

#endif  // BWGEMM_BWGEMM_HPP
