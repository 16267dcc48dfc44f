// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/kernel.h"

#include <algorithm>

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {
namespace {

Function* function_in(const Module& module, CUfunction handle) {
  for (const auto& function : module.functions)
    if (function->handle() == handle) return function.get();
  return nullptr;
}

Kernel* find_kernel(CUkernel handle) {
  Kernel* found = nullptr;
  Driver::get().libraries.for_each([&](const Library& library) {
    for (const auto& kernel : library.kernels)
      if (kernel->handle() == handle) found = kernel.get();
  });
  return found;
}

Function* find_function(CUfunction handle) {
  Function* found = nullptr;
  const auto look = [&](const Module& module) {
    if (found == nullptr) found = function_in(module, handle);
  };
  Driver::get().modules.for_each(look);
  Driver::get().libraries.for_each([&](const Library& library) {
    for (const auto& [context, module] : library.modules) look(*module);
  });
  return found;
}

}  // namespace

int Function::registers() const {
  constexpr int of_a_small_kernel = 32;
  const auto known = image->registers.find(signature->name);
  return known != image->registers.end() ? known->second
                                         : std::min(of_a_small_kernel, signature->max_registers);
}

int get_attribute(const Function& function, CUfunction_attribute attribute) {
  const Signature& signature = *function.signature;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return signature.max_threads;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(function.info->static_shared_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: return 0;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return function.registers();
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return 10 * function.context->model->cc_major + function.context->model->cc_minor;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return function.attributes.max_dynamic_shared;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return function.attributes.carveout;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: return signature.cluster[0] != 0 ? 1 : 0;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: return static_cast<int>(signature.cluster[0]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: return static_cast<int>(signature.cluster[1]);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return static_cast<int>(signature.cluster[2]);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return function.attributes.allows_large_clusters ? 1 : 0;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return 0;
    default: fail(CUDA_ERROR_INVALID_VALUE);
  }
}

void set_attribute(Function& function, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int fixed = static_cast<int>(function.info->static_shared_bytes);
      require_value(value >= 0 && value <= limits::shared_per_block_optin - fixed);
      function.attributes.max_dynamic_shared = value;
      return;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      require_value(value >= -1 && value <= 100);
      function.attributes.carveout = value;
      return;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      require_value(value == 0 || value == 1);
      function.attributes.allows_large_clusters = value != 0;
      return;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      require_value(value >= 0 && value <= 2);
      return;
    default: fail(CUDA_ERROR_INVALID_VALUE);
  }
}

Module::Module(Context& of, std::shared_ptr<const Image> from) : context(&of), image(from) {
  for (const Signature& signature : image->ptx.kernels) {
    const vgpu::KernelInfo* info = image->module->find(signature.name);
    require(info != nullptr, CUDA_ERROR_INVALID_PTX);
    Function function{context, image, &signature, info, {}};
    function.attributes.max_dynamic_shared -= static_cast<int>(info->static_shared_bytes);
    functions.push_back(std::make_unique<Function>(std::move(function)));
  }
}

Function& Module::function(std::string_view name) const {
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const auto& function) {
    return function->signature->name == name;
  });
  require(found != functions.end(), CUDA_ERROR_NOT_FOUND);
  return **found;
}

Library::Library(std::shared_ptr<const Image> from) : image(std::move(from)) {
  for (const Signature& signature : image->ptx.kernels)
    kernels.push_back(std::make_unique<Kernel>(Kernel{this, signature.name}));
}

Kernel& Library::kernel(std::string_view name) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const auto& kernel) { return kernel->name == name; });
  require(found != kernels.end(), CUDA_ERROR_NOT_FOUND);
  return **found;
}

Module& Library::module(Context& context) {
  auto& module = modules[&context];
  if (module == nullptr) module = std::make_unique<Module>(context, image);
  return *module;
}

Function& function_of(CUfunction handle) {
  if (Function* function = find_function(handle)) return *function;
  Kernel* kernel = find_kernel(reinterpret_cast<CUkernel>(handle));
  require(kernel != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return kernel->library->module(current_context()).function(kernel->name);
}

Kernel& kernel_of(CUkernel handle) {
  Kernel* kernel = find_kernel(handle);
  require(kernel != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return *kernel;
}

}  // namespace bwgemm::vgpu::driver
