// SPDX-License-Identifier: Apache-2.0
// Contexts: the stack of each thread, the primary one's references, what a destroyed one answers.
#include <thread>

#include "vgpu/driver/conformance/driver_test.h"

namespace bwgemm::vgpu::driver::test {
namespace {

class Contexts : public DriverTest {
 protected:
  static CUcontext current() {
    CUcontext context = nullptr;
    EXPECT_OK(CU(cuCtxGetCurrent)(&context));
    return context;
  }
  // Is current then.
  static CUcontext create() {
    CUcontext context = nullptr;
    EXPECT_OK(entry<CreateContext>("cuCtxCreate_v2")(&context, 0, 0));
    return context;
  }
  static unsigned long long id_of(CUcontext context) {
    unsigned long long id = 0;
    EXPECT_OK(CU(cuCtxGetId)(context, &id));
    return id;
  }
};

TEST_F(Contexts, PushAndPop) {
  EXPECT_EQ(current(), primary());
  CUcontext popped = nullptr;
  EXPECT_OK(CU(cuCtxPushCurrent)(primary()));
  EXPECT_OK(CU(cuCtxPopCurrent)(&popped));
  EXPECT_EQ(popped, primary());
  EXPECT_OK(CU(cuCtxPopCurrent)(nullptr));
  EXPECT_EQ(current(), nullptr);
  EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxPopCurrent)(&popped));
  EXPECT_INVALID_VALUE(CU(cuCtxPushCurrent)(nullptr));
}

TEST_F(Contexts, SetReplacesTheTop) {
  const CUcontext other = create();
  EXPECT_EQ(current(), other);
  EXPECT_OK(CU(cuCtxSetCurrent)(primary()));
  EXPECT_EQ(current(), primary());
  EXPECT_OK(CU(cuCtxSetCurrent)(nullptr));  // pops
  EXPECT_EQ(current(), primary()) << "what was below";
  EXPECT_OK(CU(cuCtxDestroy)(other));
}

TEST_F(Contexts, WithoutACurrentOneCallsAreRefused) {
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    CUdevice device = 0;
    CUdeviceptr address = 0;
    CUstream made = nullptr;
    unsigned long long id = 0;
    EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxGetDevice)(&device));
    EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxGetId)(nullptr, &id));
    EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxSynchronize)());
    EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuMemAlloc)(&address, 16));
    EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuStreamCreate)(&made, 0));
    EXPECT_EQ(id_of(primary()), id_of(primary())) << "the handle says enough";
  }).join();
}

// It stays where it is in the stack of a thread, and answers.
TEST_F(Contexts, ADestroyedContextSaysSo) {
  const CUcontext destroyed = create();
  EXPECT_OK(CU(cuCtxPushCurrent)(primary()));
  EXPECT_OK(CU(cuCtxDestroy)(destroyed));
  EXPECT_EQ(current(), primary());
  EXPECT_OK(CU(cuCtxPopCurrent)(nullptr));
  EXPECT_EQ(current(), destroyed);
  unsigned long long id = 0;
  CUdeviceptr address = 0;
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuCtxGetId)(destroyed, &id));
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuCtxGetId)(nullptr, &id));
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuCtxSynchronize)());
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuMemAlloc)(&address, 16));
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuCtxDestroy)(destroyed));
  EXPECT_OK(CU(cuCtxPopCurrent)(nullptr));
  EXPECT_INVALID_VALUE(CU(cuCtxDestroy)(nullptr));
}

TEST_F(Contexts, StreamsAndEventsOfAnotherContext) {
  const CUcontext other = create();
  CUstream foreign = nullptr;
  CUevent theirs = nullptr;
  EXPECT_OK(CU(cuStreamCreate)(&foreign, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(CU(cuEventCreate)(&theirs, CU_EVENT_DEFAULT));
  EXPECT_OK(CU(cuCtxPopCurrent)(nullptr));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuEventRecord)(theirs, stream()));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, CU(cuEventRecord)(event(), foreign));
  EXPECT_OK(CU(cuEventRecord)(theirs, foreign));
  EXPECT_OK(CU(cuStreamWaitEvent)(stream(), theirs, 0));
  EXPECT_OK(CU(cuEventSynchronize)(theirs));
  EXPECT_OK(CU(cuStreamSynchronize)(foreign));
  CUcontext owner = nullptr;
  EXPECT_OK(CU(cuStreamGetCtx)(foreign, &owner));
  EXPECT_EQ(owner, other);
  EXPECT_OK(CU(cuCtxSynchronize)());
  EXPECT_OK(CU(cuCtxDestroy)(other));
}

TEST_F(Contexts, IdsAreNotReused) {
  const CUcontext first = create();
  const unsigned long long first_id = id_of(first);
  EXPECT_EQ(id_of(nullptr), first_id);
  EXPECT_NE(first_id, id_of(primary()));
  EXPECT_OK(CU(cuCtxDestroy)(first));
  const CUcontext second = create();
  EXPECT_NE(id_of(second), first_id);
  EXPECT_OK(CU(cuCtxDestroy)(second));
  EXPECT_EQ(current(), primary()) << "destroying the current context pops it";
  EXPECT_INVALID_VALUE(CU(cuCtxGetId)(primary(), nullptr));
}

TEST_F(Contexts, ThePrimaryCountsItsReferences) {
  CUcontext again = nullptr;
  EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  EXPECT_EQ(again, primary());
  unsigned flags = 0;
  int active = 0;
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 1);
  EXPECT_OK(CU(cuCtxSetCurrent)(nullptr));
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuDevicePrimaryCtxRelease)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));  // for the fixture
  EXPECT_EQ(again, primary());
  EXPECT_INVALID_VALUE(CU(cuDevicePrimaryCtxRetain)(nullptr, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE, CU(cuDevicePrimaryCtxRetain)(&again, 99));
}

TEST_F(Contexts, AResetContextIsDestroyed) {
  const unsigned long long before = id_of(primary());
  EXPECT_OK(CU(cuDevicePrimaryCtxReset)(0));
  unsigned long long id = 0;
  CUdeviceptr address = 0;
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuCtxGetId)(primary(), &id));
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuCtxSynchronize)());
  EXPECT_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED, CU(cuMemAlloc)(&address, 16));
  EXPECT_EQ(current(), primary());
  CUcontext again = nullptr;
  EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  EXPECT_EQ(again, primary());
  EXPECT_NE(id_of(primary()), before);
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
}

TEST_F(Contexts, BadArguments) {
  CUcontext context = nullptr;
  const auto create_with = entry<CreateContext>("cuCtxCreate_v2");
  EXPECT_INVALID_VALUE(create_with(nullptr, 0, 0));
  EXPECT_INVALID_VALUE(create_with(&context, 0x1000, 0));
  EXPECT_RESULT(CUDA_ERROR_INVALID_DEVICE, create_with(&context, 0, 99));
  EXPECT_RESULT(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxDestroy)(primary()));
  EXPECT_INVALID_VALUE(CU(cuCtxGetCurrent)(nullptr));
}

TEST_F(Contexts, ResourcesCountTheSms) {
  int sms = 0;
  EXPECT_OK(CU(cuDeviceGetAttribute)(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  CUdevResource resource{};
  EXPECT_OK(CU(cuCtxGetDevResource)(primary(), &resource, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(resource.sm.smCount, static_cast<unsigned>(sms));
  EXPECT_RESULT(CUDA_ERROR_INVALID_RESOURCE_TYPE,
                CU(cuCtxGetDevResource)(primary(), &resource, static_cast<CUdevResourceType>(77)));
}

TEST_F(Contexts, StreamPriorities) {
  int least = 1, greatest = 1;
  EXPECT_OK(CU(cuCtxGetStreamPriorityRange)(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  CUstream urgent = nullptr;
  EXPECT_OK(CU(cuStreamCreateWithPriority)(&urgent, CU_STREAM_NON_BLOCKING, -100));
  int priority = 1;
  EXPECT_OK(CU(cuStreamGetPriority)(urgent, &priority));
  EXPECT_EQ(priority, greatest) << "clamped";
  EXPECT_OK(CU(cuStreamDestroy)(urgent));
}

}  // namespace
}  // namespace bwgemm::vgpu::driver::test
