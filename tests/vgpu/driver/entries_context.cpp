// SPDX-License-Identifier: Apache-2.0
// Entry points: contexts and the stack of current ones.
#include "vgpu/driver/driver.h"

using namespace bwgemm::vgpu::driver;

namespace {

CUresult create(CUcontext* context, unsigned flags, CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(context != nullptr);
    require(device >= 0 && device < static_cast<int>(driver.settings.models.size()),
            CUDA_ERROR_INVALID_DEVICE);
    require_value((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0);
    Context& created = driver.contexts.create(device, flags);
    Contexts::push(created);
    *context = created.handle();
  });
}

// The context of a handle; null: the current one. It is alive.
Context& named_or_current(const Driver& driver, CUcontext handle) {
  if (handle == nullptr) return *checked(Needs::context);
  Context& context = driver.contexts.get(handle);
  require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return context;
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int count, unsigned flags,
                        CUdevice device) {
  return count != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(context, flags, device);
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams* parameters, unsigned flags,
                     CUdevice device) {
  const bool is_plain = parameters == nullptr || (parameters->numExecAffinityParams == 0 &&
                                                  parameters->cigParams == nullptr);
  return is_plain ? create(context, flags, device) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult cuCtxDestroy(CUcontext handle) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(handle != nullptr);
    Context& context = driver.contexts.get(handle);
    require(!context.is_primary, CUDA_ERROR_INVALID_CONTEXT);
    require(context.is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    driver.contexts.end(context);
    if (Contexts::current() == &context) Contexts::pop();
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return call(Needs::driver, [&](Driver&) {
    require_value(context != nullptr);
    const Context* current = Contexts::current();
    *context = current != nullptr ? current->handle() : nullptr;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return call(Needs::driver, [&](Driver& driver) {
    Contexts::set_current(handle != nullptr ? &driver.contexts.get(handle) : nullptr);
  });
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(handle != nullptr);
    Contexts::push(driver.contexts.get(handle));
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return call(Needs::driver, [&](Driver&) {
    const Context& popped = Contexts::pop();
    if (context != nullptr) *context = popped.handle();
  });
}

CUresult cuCtxSynchronize() {
  return call(Needs::working_context, [&](Driver& driver) {
    Context& context = current_context();
    forbid_captured(context);
    driver.scheduler.finish_all_of(context);
    require(context.error == CUDA_SUCCESS, context.error);
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return call(Needs::context, [&](Driver&) {
    require_value(device != nullptr);
    *device = current_context().ordinal;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(device != nullptr);
    *device = named_or_current(driver, handle).ordinal;
  });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(id != nullptr);
    const Context& context = named_or_current(driver, handle);
    require(context.error == CUDA_SUCCESS, context.error);
    *id = context.id;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return call(Needs::context, [&](Driver&) {
    require_value(flags != nullptr);
    *flags = current_context().flags;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(version != nullptr);
    static_cast<void>(named_or_current(driver, handle));
    *version = 3020;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call(Needs::context, [&](Driver&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = most_urgent_priority;
  });
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* resource, CUdevResourceType type) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(resource != nullptr);
    require(handle != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    const Context& context = named_or_current(driver, handle);
    require(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    *resource = {};
    resource->type = type;
    resource->sm.smCount = static_cast<unsigned>(context.model->sm_count());
  });
}
