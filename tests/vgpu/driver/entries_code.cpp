// SPDX-License-Identifier: Apache-2.0
// Entry points: libraries and modules, kernels and functions, occupancy.
#include <cstring>

#include "vgpu/driver/driver.h"
#include "vgpu/driver/launch.h"
#include "vgpu/driver/occupancy.h"

using namespace bwgemm::vgpu::driver;

namespace {

CUresult load_module(CUmodule* module, const void* code) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(module != nullptr && code != nullptr);
    Context& context = current_context();
    *module =
        driver.modules.add(std::make_shared<Module>(context, load_image(code, *context.model)));
  });
}

void parameter_info(const Signature& signature, std::size_t index, std::size_t* offset,
                    std::size_t* size) {
  require_value(offset != nullptr && index < signature.parameters.size());
  *offset = signature.parameters[index].offset;
  if (size != nullptr) *size = signature.parameters[index].size;
}

// The function of a kernel on a device: its own attributes live there.
Function& function_on(Driver& driver, const Kernel& kernel, CUdevice device) {
  require(device >= 0 && device < static_cast<int>(driver.settings.models.size()),
          CUDA_ERROR_INVALID_DEVICE);
  Context* current = Contexts::current();
  const bool is_current = current != nullptr && current->is_alive && current->ordinal == device;
  Context& context = is_current ? *current : driver.contexts.primary(device);
  require(context.is_alive, CUDA_ERROR_INVALID_CONTEXT);
  return kernel.library->module(context).function(kernel.name);
}

// The library is loaded for one device; without a context, for the first.
const DeviceModel& model_for_loading(const Driver& driver) {
  const Context* context = Contexts::current();
  return context != nullptr ? *context->model : *driver.settings.models.front();
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(library != nullptr && code != nullptr);
    *library = driver.libraries.add(
        std::make_shared<Library>(load_image(code, model_for_loading(driver))));
  });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return call(Needs::driver, [&](Driver& driver) {
    const Library& loaded = driver.libraries.get(library);
    forbid_during_capture();
    for (const auto& [context, module] : loaded.modules) driver.scheduler.finish_all_of(*context);
    static_cast<void>(driver.libraries.take(library));
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(kernel != nullptr && name != nullptr);
    *kernel = driver.libraries.get(library).kernel(name).handle();
  });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(count != nullptr);
    *count = static_cast<unsigned>(driver.libraries.get(library).kernels.size());
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(function != nullptr);
    const Kernel& kernel = kernel_of(handle);
    *function = kernel.library->module(current_context()).function(kernel.name).handle();
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  return call(Needs::driver, [&](Driver&) {
    require_value(library != nullptr);
    *library = Libraries::handle_of(*kernel_of(handle).library);
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  return call(Needs::driver, [&](Driver&) {
    require_value(name != nullptr);
    *name = kernel_of(handle).name.c_str();
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(value != nullptr);
    *value = get_attribute(function_on(driver, kernel_of(handle), device), attribute);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    set_attribute(function_on(driver, kernel_of(handle), device), attribute, value);
  });
}

CUresult cuKernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t* offset,
                              std::size_t* size) {
  return call(Needs::driver, [&](Driver&) {
    const Kernel& kernel = kernel_of(handle);
    parameter_info(*kernel.library->image->find(kernel.name), index, offset, size);
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* code) {
  return load_module(module, code);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* code, unsigned, CUjit_option*, void**) {
  return load_module(module, code);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* code) {
  return load_module(module, code);
}

CUresult cuModuleUnload(CUmodule module) {
  return call(Needs::working_context, [&](Driver& driver) {
    const Module& loaded = driver.modules.get(module);
    forbid_during_capture();
    driver.scheduler.finish_all_of(*loaded.context);
    static_cast<void>(driver.modules.take(module));
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(function != nullptr && name != nullptr);
    *function = driver.modules.get(module).function(name).handle();
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(value != nullptr);
    *value = get_attribute(function_of(function), attribute);
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return call(Needs::working_context,
              [&](Driver&) { set_attribute(function_of(function), attribute, value); });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return call(Needs::driver, [&](Driver&) {
    require_value(name != nullptr);
    *name = function_of(function).signature->name.c_str();
  });
}

CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* size) {
  return call(Needs::driver, [&](Driver&) {
    parameter_info(*function_of(function).signature, index, offset, size);
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     std::size_t dynamic_shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                              dynamic_shared_bytes, 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int threads,
                                                              std::size_t dynamic_shared_bytes,
                                                              unsigned flags) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(blocks != nullptr && threads > 0 &&
                  flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    *blocks = blocks_per_sm(function_of(function), threads, dynamic_shared_bytes);
  });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle,
                                      const CUlaunchConfig* config) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(clusters != nullptr && config != nullptr);
    const Function& function = function_of(handle);
    const Launch launch = checked_shape(*config, function);
    const auto size = static_cast<int>(launch.cluster_size());
    *clusters = size == 0 ? 0
                          : resident_clusters(function, static_cast<int>(launch.block.count()),
                                              launch.dynamic_shared_bytes, size);
  });
}
