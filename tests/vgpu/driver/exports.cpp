// SPDX-License-Identifier: Apache-2.0
// The table behind cuGetProcAddress. Where <cuda.h> gives a name a suffix by macro, the plain name
// below is the newest form.
#include "vgpu/driver/exports.h"

#include <string_view>

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {

const std::vector<Export>& exports() {
  static const auto& table = *new std::vector<Export>{
      plain<&cuInit>("cuInit", 2000),
      plain<&cuDriverGetVersion>("cuDriverGetVersion", 2020),
      plain<&cuGetErrorName>("cuGetErrorName", 6000),
      plain<&cuGetErrorString>("cuGetErrorString", 6000),
      plain<&cuGetProcAddress>("cuGetProcAddress", 12000),
      plain<&cuDeviceGet>("cuDeviceGet", 2000),
      plain<&cuDeviceGetCount>("cuDeviceGetCount", 2000),
      plain<&cuDeviceGetName>("cuDeviceGetName", 2000),
      plain<&cuDeviceGetUuid>("cuDeviceGetUuid", 11040),
      plain<&cuDeviceGetAttribute>("cuDeviceGetAttribute", 2000),
      plain<&cuDeviceTotalMem>("cuDeviceTotalMem", 3020),
      plain<&cuDevicePrimaryCtxRetain>("cuDevicePrimaryCtxRetain", 7000),
      plain<&cuDevicePrimaryCtxRelease>("cuDevicePrimaryCtxRelease", 11000),
      plain<&cuDevicePrimaryCtxReset>("cuDevicePrimaryCtxReset", 11000),
      plain<&cuDevicePrimaryCtxSetFlags>("cuDevicePrimaryCtxSetFlags", 11000),
      plain<&cuDevicePrimaryCtxGetState>("cuDevicePrimaryCtxGetState", 7000),
      plain<&cuCtxCreate_v2>("cuCtxCreate", 3020),
      plain<&cuCtxCreate_v3>("cuCtxCreate", 11040),
      plain<&cuCtxCreate>("cuCtxCreate", 12050),
      plain<&cuCtxDestroy>("cuCtxDestroy", 4000),
      plain<&cuCtxGetCurrent>("cuCtxGetCurrent", 4000),
      plain<&cuCtxSetCurrent>("cuCtxSetCurrent", 4000),
      plain<&cuCtxPushCurrent>("cuCtxPushCurrent", 4000),
      plain<&cuCtxPopCurrent>("cuCtxPopCurrent", 4000),
      plain<&cuCtxSynchronize>("cuCtxSynchronize", 2000),
      plain<&cuCtxGetDevice>("cuCtxGetDevice", 2000),
      plain<&cuCtxGetDevice_v2>("cuCtxGetDevice", 13000),
      plain<&cuCtxGetId>("cuCtxGetId", 12000),
      plain<&cuCtxGetFlags>("cuCtxGetFlags", 7000),
      plain<&cuCtxGetApiVersion>("cuCtxGetApiVersion", 3020),
      plain<&cuCtxGetStreamPriorityRange>("cuCtxGetStreamPriorityRange", 5050),
      plain<&cuCtxGetDevResource>("cuCtxGetDevResource", 12040),
      plain<&cuMemAlloc>("cuMemAlloc", 3020),
      plain<&cuMemFree>("cuMemFree", 3020),
      plain<&cuMemAllocHost>("cuMemAllocHost", 3020),
      plain<&cuMemHostAlloc>("cuMemHostAlloc", 2020),
      plain<&cuMemFreeHost>("cuMemFreeHost", 2000),
      plain<&cuMemHostRegister>("cuMemHostRegister", 6050),
      plain<&cuMemHostUnregister>("cuMemHostUnregister", 4000),
      plain<&cuMemHostGetDevicePointer>("cuMemHostGetDevicePointer", 3020),
      plain<&cuMemHostGetFlags>("cuMemHostGetFlags", 2030),
      plain<&cuMemAllocManaged>("cuMemAllocManaged", 6000),
      plain<&cuMemGetInfo>("cuMemGetInfo", 3020),
      plain<&cuMemGetAddressRange>("cuMemGetAddressRange", 3020),
      plain<&cuMemAddressReserve>("cuMemAddressReserve", 10020),
      plain<&cuMemAddressFree>("cuMemAddressFree", 10020),
      plain<&cuPointerGetAttribute>("cuPointerGetAttribute", 4000),
      plain<&cuPointerGetAttributes>("cuPointerGetAttributes", 7000),
      plain<&cuStreamCreate>("cuStreamCreate", 2000),
      plain<&cuStreamCreateWithPriority>("cuStreamCreateWithPriority", 5050),
      plain<&cuStreamDestroy>("cuStreamDestroy", 4000),
      plain<&cuThreadExchangeStreamCaptureMode>("cuThreadExchangeStreamCaptureMode", 10010),
      plain<&cuEventCreate>("cuEventCreate", 2000),
      plain<&cuEventDestroy>("cuEventDestroy", 4000),
      plain<&cuEventQuery>("cuEventQuery", 2000),
      plain<&cuEventSynchronize>("cuEventSynchronize", 2000),
      plain<&vgpu_event_elapsed_time_v1>("cuEventElapsedTime", 2000),
      plain<&cuEventElapsedTime>("cuEventElapsedTime", 12080),
      plain<&cuGraphCreate>("cuGraphCreate", 10000),
      plain<&cuGraphDestroy>("cuGraphDestroy", 10000),
      plain<&cuGraphClone>("cuGraphClone", 10000),
      plain<&cuGraphGetNodes>("cuGraphGetNodes", 10000),
      plain<&cuGraphGetRootNodes>("cuGraphGetRootNodes", 10000),
      plain<&cuGraphGetEdges>("cuGraphGetEdges", 12030),
      plain<&cuGraphNodeGetType>("cuGraphNodeGetType", 10000),
      plain<&cuGraphKernelNodeGetParams>("cuGraphKernelNodeGetParams", 12000),
      plain<&cuGraphKernelNodeGetAttribute>("cuGraphKernelNodeGetAttribute", 11000),
      plain<&cuGraphInstantiateWithFlags>("cuGraphInstantiateWithFlags", 11040),
      plain<&cuGraphInstantiateWithFlags>("cuGraphInstantiate", 12000),
      plain<&cuGraphExecDestroy>("cuGraphExecDestroy", 10000),
      plain<&cuUserObjectCreate>("cuUserObjectCreate", 11030),
      plain<&cuUserObjectRetain>("cuUserObjectRetain", 11030),
      plain<&cuUserObjectRelease>("cuUserObjectRelease", 11030),
      plain<&cuGraphRetainUserObject>("cuGraphRetainUserObject", 11030),
      plain<&cuGraphReleaseUserObject>("cuGraphReleaseUserObject", 11030),
      plain<&cuLibraryLoadData>("cuLibraryLoadData", 12000),
      plain<&cuLibraryUnload>("cuLibraryUnload", 12000),
      plain<&cuLibraryGetKernel>("cuLibraryGetKernel", 12000),
      plain<&cuLibraryGetKernelCount>("cuLibraryGetKernelCount", 12040),
      plain<&cuKernelGetFunction>("cuKernelGetFunction", 12000),
      plain<&cuKernelGetLibrary>("cuKernelGetLibrary", 12050),
      plain<&cuKernelGetName>("cuKernelGetName", 12030),
      plain<&cuKernelGetAttribute>("cuKernelGetAttribute", 12000),
      plain<&cuKernelSetAttribute>("cuKernelSetAttribute", 12000),
      plain<&cuKernelGetParamInfo>("cuKernelGetParamInfo", 12040),
      plain<&cuModuleLoadData>("cuModuleLoadData", 2000),
      plain<&cuModuleLoadDataEx>("cuModuleLoadDataEx", 2010),
      plain<&cuModuleLoadFatBinary>("cuModuleLoadFatBinary", 2000),
      plain<&cuModuleUnload>("cuModuleUnload", 2000),
      plain<&cuModuleGetFunction>("cuModuleGetFunction", 2000),
      plain<&cuFuncGetAttribute>("cuFuncGetAttribute", 2020),
      plain<&cuFuncSetAttribute>("cuFuncSetAttribute", 9000),
      plain<&cuFuncGetName>("cuFuncGetName", 12030),
      plain<&cuFuncGetParamInfo>("cuFuncGetParamInfo", 12040),
      plain<&cuOccupancyMaxActiveBlocksPerMultiprocessor>(
          "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050),
      plain<&cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags>(
          "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 7000),
      plain<&cuOccupancyMaxActiveClusters>("cuOccupancyMaxActiveClusters", 11070),
      plain<&cuTensorMapEncodeTiled>("cuTensorMapEncodeTiled", 12000),
      plain<&cuTensorMapReplaceAddress>("cuTensorMapReplaceAddress", 12000),
      streamed<&cuMemAllocAsync>("cuMemAllocAsync", 11020),
      streamed<&cuMemFreeAsync>("cuMemFreeAsync", 11020),
      streamed<&cuMemcpy>("cuMemcpy", 4000),
      streamed<&cuMemcpyAsync>("cuMemcpyAsync", 4000),
      streamed<&cuMemcpyHtoD>("cuMemcpyHtoD", 3020),
      streamed<&cuMemcpyDtoH>("cuMemcpyDtoH", 3020),
      streamed<&cuMemcpyDtoD>("cuMemcpyDtoD", 3020),
      streamed<&cuMemcpyHtoDAsync>("cuMemcpyHtoDAsync", 3020),
      streamed<&cuMemcpyDtoHAsync>("cuMemcpyDtoHAsync", 3020),
      streamed<&cuMemcpyDtoDAsync>("cuMemcpyDtoDAsync", 3020),
      streamed<&cuMemcpy2D>("cuMemcpy2D", 3020),
      streamed<&cuMemcpy2DAsync>("cuMemcpy2DAsync", 3020),
      streamed<&cuMemsetD8>("cuMemsetD8", 3020),
      streamed<&cuMemsetD16>("cuMemsetD16", 3020),
      streamed<&cuMemsetD32>("cuMemsetD32", 3020),
      streamed<&cuMemsetD8Async>("cuMemsetD8Async", 3020),
      streamed<&cuMemsetD16Async>("cuMemsetD16Async", 3020),
      streamed<&cuMemsetD32Async>("cuMemsetD32Async", 3020),
      streamed<&cuStreamQuery>("cuStreamQuery", 2000),
      streamed<&cuStreamSynchronize>("cuStreamSynchronize", 2000),
      streamed<&cuStreamWaitEvent>("cuStreamWaitEvent", 3020),
      streamed<&cuStreamGetCtx>("cuStreamGetCtx", 9020),
      streamed<&cuStreamGetId>("cuStreamGetId", 12000),
      streamed<&cuStreamGetFlags>("cuStreamGetFlags", 5050),
      streamed<&cuStreamGetPriority>("cuStreamGetPriority", 5050),
      streamed<&cuStreamGetDevice>("cuStreamGetDevice", 12080),
      streamed<&cuStreamBeginCapture>("cuStreamBeginCapture", 10010),
      streamed<&cuStreamEndCapture>("cuStreamEndCapture", 10000),
      streamed<&cuStreamIsCapturing>("cuStreamIsCapturing", 10000),
      streamed<&cuStreamGetCaptureInfo_v2>("cuStreamGetCaptureInfo", 11030),
      streamed<&cuStreamGetCaptureInfo>("cuStreamGetCaptureInfo", 12030),
      streamed<&cuEventRecord>("cuEventRecord", 2000),
      streamed<&cuGraphInstantiateWithParams>("cuGraphInstantiateWithParams", 12000),
      streamed<&cuGraphLaunch>("cuGraphLaunch", 10000),
      streamed<&cuGraphUpload>("cuGraphUpload", 11010),
      streamed<&cuLaunchKernel>("cuLaunchKernel", 4000),
      streamed<&cuLaunchKernelEx>("cuLaunchKernelEx", 11060),
      streamed<&cuLaunchHostFunc>("cuLaunchHostFunc", 10000),
  };
  return table;
}

}  // namespace bwgemm::vgpu::driver

using namespace bwgemm::vgpu::driver;

CUresult cuGetProcAddress(const char* name, void** function, int cuda_version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  return call(Needs::nothing, [&](Driver&) {
    constexpr cuuint64_t known_flags =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    require_value(name != nullptr && function != nullptr && cuda_version <= CUDA_VERSION &&
                  (flags & ~known_flags) == 0);
    const Export* best = nullptr;
    bool is_known = false;
    for (const Export& entry : exports()) {
      if (entry.name != std::string_view(name)) continue;
      is_known = true;
      if (entry.since <= cuda_version && (best == nullptr || best->since < entry.since))
        best = &entry;
    }
    const bool is_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    *function = best == nullptr ? nullptr : is_per_thread ? best->per_thread : best->function;
    if (status != nullptr)
      *status = best != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                : is_known      ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    require(best != nullptr || status != nullptr, CUDA_ERROR_NOT_FOUND);
  });
}
