// SPDX-License-Identifier: Apache-2.0
// What is known of the handles of cuBLAS that the program made, and the handle of bwgemm that
// serves each of them.
//
// A handle of bwgemm is made when the program makes one of cuBLAS, in the same context. It is never
// destroyed, because graphs that captured its calls may be launched later than the program destroys
// the handle of cuBLAS. The next handle that is made in the context has it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "bwgemm/bwgemm.h"
#include "dropin/cublas.h"
#include "dropin/device.h"
#include "dropin/faster.h"
#include "dropin/lt_objects.h"

namespace bwgemm::dropin {

// A handle of bwgemm, and what it was set to.
struct Product {
  bwgemmHandle_t handle = nullptr;
  ContextIdentity context;
  cudaStream_t stream = nullptr;
  unsigned long long stream_number = 0;  // number_of() it at that time
  int pointer_mode = BWGEMM_POINTER_MODE_HOST, sm_count_target = 0;
  std::int64_t chosen_device = -1;  // see chosen.h
  bool is_measured = false;         // of policy faster: see faster.h
};

struct Handle {
  std::atomic<cublasHandle_t> of{nullptr};
  const Cublas* cublas = nullptr;
  unsigned forks = 0;  // fork_count() when it was made
  std::mutex mutex;    // held from the first of bwgemm's settings of a call to the call; guards all
  Product product;     // without a handle: there is none for the device
  void* workspace = nullptr;
  std::size_t workspace_size = 0;
  LtCache* lt_cache = nullptr;     // of `cublas`; made by the first call of cuBLASLt, and kept
  Decisions* decisions = nullptr;  // of policy faster; made by the first call that asks, and kept
};

// Without a lock. Null if the handle was not made through this library.
Handle* find_handle(cublasHandle_t handle);

// The copy of cuBLAS that made the handle; of a handle that is not known, the caller's. Null if the
// process has no cuBLAS.
inline const Cublas* cublas_for(const Handle* handle, const void* caller) {
  return handle != nullptr ? handle->cublas : cublas_of(caller);
}

// Remembers a new handle of cuBLAS. Where there is no room for more, the handle stays unknown.
void add_handle(cublasHandle_t handle, const Cublas* cublas);

// Before cuBLAS destroys the handle: afterwards a new one may have its address.
void remove_handle(cublasHandle_t handle);

}  // namespace bwgemm::dropin
