// SPDX-License-Identifier: Apache-2.0
// Decides about one call: bwgemm, cuBLAS, or both.
#pragma once

#include <type_traits>

#include "dropin/call.h"
#include "dropin/cublas.h"
#include "dropin/lt_read.h"

namespace bwgemm::dropin {

// The call as the program made it, of whichever copy of cuBLAS. Does not own what it calls.
class RealCall {
 public:
  template <class Function>
  explicit RealCall(const Function& function)
      : function_(&function), call_([](const void* on, const Cublas& cublas) {
          return (*static_cast<const Function*>(on))(cublas);
        }) {}
  cublasStatus_t operator()(const Cublas& cublas) const { return call_(function_, cublas); }

 private:
  const void* function_;
  cublasStatus_t (*call_)(const void*, const Cublas&);
};

// In all modes but off. `caller`: the address that the program's call returns to.
cublasStatus_t dispatch(const Call& call, const void* caller, const RealCall& real);
// In any mode.
cublasStatus_t dispatch_lt(const LtArguments& arguments, const void* caller, const RealCall& real);

}  // namespace bwgemm::dropin
