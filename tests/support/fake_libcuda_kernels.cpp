// SPDX-License-Identifier: Apache-2.0
// The test double of libcuda: libraries, kernels, tensor maps, launches. It refuses what the driver
// refuses, and notes it as misuse: the library is expected never to ask.
#include <algorithm>
#include <cstring>
#include <string>

#include "support/fake_libcuda.h"

namespace bwgemm::test {
namespace {

// A CUkernel is a pointer to its name.
std::string* name_of(CUkernel kernel) {
  return reinterpret_cast<std::string*>(kernel);
}

FakeLibrary* library_of(FakeDriver& fake, CUlibrary handle) {
  for (const auto& library : fake.libraries)
    if (reinterpret_cast<CUlibrary>(library.get()) == handle && library->is_alive)
      return library.get();
  return nullptr;
}

FakeFunction* function_of(FakeDriver& fake, CUfunction handle) {
  for (const auto& library : fake.libraries) {
    if (!library->is_alive) continue;
    for (const auto& function : library->functions)
      if (reinterpret_cast<CUfunction>(function.get()) == handle) return function.get();
  }
  return nullptr;
}

unsigned cluster_of(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      return config.attrs[i].value.clusterDim.x * config.attrs[i].value.clusterDim.y *
             config.attrs[i].value.clusterDim.z;
  return 1;
}

bool overlaps(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return config.attrs[i].value.programmaticStreamSerializationAllowed != 0;
  return false;
}

// Null, or the rule that the launch breaks.
const char* bad_launch(const FakeDriver& fake, const CUlaunchConfig& config,
                       const FakeFunction& function) {
  if (function.context != fake.current()) return "the function belongs to another context";
  if (config.gridDimX == 0 || config.gridDimY != 1 || config.gridDimZ != 1) return "grid";
  if (config.blockDimX == 0 || config.blockDimX > 1024) return "threads";
  if (config.gridDimX % cluster_of(config) != 0) return "grid is no multiple of the cluster";
  if (config.sharedMemBytes > static_cast<unsigned>(function.max_dynamic_smem_bytes))
    return "more shared memory than the function allows";
  return nullptr;
}

struct MapArguments {
  CUtensorMapDataType type;
  cuuint32_t rank;
  const void* address;
  const cuuint64_t *dims, *strides;
  const cuuint32_t *box, *element_strides;
  CUtensorMapSwizzle swizzle;
};

// Null, or the rule of cuTensorMapEncodeTiled that the arguments break.
const char* bad_map(const MapArguments& map) {
  const std::uint64_t element_bytes = map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4 : 2;
  if (reinterpret_cast<std::uintptr_t>(map.address) % 16 != 0) return "address";
  if (map.rank < 1 || map.rank > 5) return "rank";
  for (cuuint32_t i = 0; i < map.rank; ++i) {
    if (map.dims[i] == 0 || map.dims[i] > std::uint64_t{1} << 32) return "dimension";
    if (map.box[i] == 0 || map.box[i] > 256) return "box";
    if (map.element_strides[i] == 0 || map.element_strides[i] > 8) return "element stride";
  }
  for (cuuint32_t i = 0; i + 1 < map.rank; ++i) {
    if (map.strides[i] == 0 || map.strides[i] % 16 != 0) return "stride alignment";
    if (map.strides[i] >= std::uint64_t{1} << 40) return "stride size";
  }
  const std::uint64_t row_bytes = map.box[0] * element_bytes;
  const std::uint64_t limit = map.swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 128
                              : map.swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64
                                                                         : 32;
  return row_bytes % 16 != 0 || row_bytes > limit ? "box row" : nullptr;
}

void record(const FakeLaunch& launch, bool is_captured, bool is_replayed) {
  FakeDriver& fake = FakeDriver::get();
  const auto slot = static_cast<std::size_t>(fake.launch_count++) % fake.launches.size();
  fake.launches[slot] = launch;
  fake.launches[slot].is_captured = is_captured;
  fake.launches[slot].is_replayed = is_replayed;
  if (!is_captured) fake.clock += fake.duration != nullptr ? fake.duration(launch) : 100;
}

}  // namespace
}  // namespace bwgemm::test

using namespace bwgemm::test;

FAKE_CUDA_ENTRY CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*,
                                           void**, unsigned, CUlibraryOption*, void**, unsigned) {
  const FakeDriver::Call call("cuLibraryLoadData");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (const CUresult result = fake.unsafe_in_capture(); result != CUDA_SUCCESS) return result;
  if (code == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  fake.libraries.push_back(std::make_unique<FakeLibrary>());
  *library = reinterpret_cast<CUlibrary>(fake.libraries.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuLibraryUnload(CUlibrary handle) {
  const FakeDriver::Call call("cuLibraryUnload");
  FakeDriver& fake = FakeDriver::get();
  FakeLibrary* library = library_of(fake, handle);
  if (library == nullptr) {
    fake.misused("cuLibraryUnload of what is no library");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  library->is_alive = false;
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  const FakeDriver::Call call("cuLibraryGetKernel");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeLibrary* library = library_of(FakeDriver::get(), handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  library->kernels.push_back(std::make_unique<std::string>(name));
  *kernel = reinterpret_cast<CUkernel>(library->kernels.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const FakeDriver::Call call("cuKernelGetFunction");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (const CUresult result = fake.unsafe_in_capture(); result != CUDA_SUCCESS) return result;
  for (const auto& library : fake.libraries)
    for (const auto& known : library->kernels) {
      if (known.get() != name_of(kernel)) continue;
      library->functions.push_back(
          std::make_unique<FakeFunction>(FakeFunction{*known, fake.current()}));
      *function = reinterpret_cast<CUfunction>(library->functions.back().get());
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_HANDLE;
}

FAKE_CUDA_ENTRY CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                                            int value) {
  const FakeDriver::Call call("cuFuncSetAttribute");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeFunction* function = function_of(FakeDriver::get(), handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  if (value > 227 << 10) {
    FakeDriver::get().misused(function->name + ": more than 227 KiB of shared memory");
    return CUDA_ERROR_INVALID_VALUE;
  }
  function->max_dynamic_smem_bytes = value;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction,
                                                                     int threads,
                                                                     std::size_t smem_bytes) {
  const FakeDriver::Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const std::size_t by_memory = smem_bytes > 0 ? (std::size_t{228} << 10) / smem_bytes : 32;
  *blocks =
      static_cast<int>(std::min<std::size_t>(by_memory, 2048u / static_cast<unsigned>(threads)));
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction,
                                                      const CUlaunchConfig* config) {
  const FakeDriver::Call call("cuOccupancyMaxActiveClusters");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  // Those of a cluster lie in one group of 18 SMs.
  constexpr int group = 18;
  const int sms = FakeDriver::get().device->sm_count;
  const int size = static_cast<int>(cluster_of(*config));
  *clusters = sms / group * (group / size) + sms % group / size;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type,
                                                cuuint32_t rank, void* address,
                                                const cuuint64_t* dims, const cuuint64_t* strides,
                                                const cuuint32_t* box,
                                                const cuuint32_t* element_strides,
                                                CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  const FakeDriver::Call call("cuTensorMapEncodeTiled");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  if (const char* rule =
          bad_map({type, rank, address, dims, strides, box, element_strides, swizzle})) {
    FakeDriver::get().misused(std::string("cuTensorMapEncodeTiled: bad ") + rule);
    return CUDA_ERROR_INVALID_VALUE;
  }
  *map = {};
  map->opaque[0] = reinterpret_cast<std::uintptr_t>(address);
  map->opaque[1] = dims[0];
  map->opaque[2] = dims[1];
  map->opaque[3] = dims[2];
  map->opaque[4] = strides[0];
  map->opaque[5] = strides[1];
  return CUDA_SUCCESS;
}

namespace {

CUresult launch(const CUlaunchConfig* config, CUfunction handle, void** parameters) {
  const FakeDriver::Call call("cuLaunchKernelEx");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  const FakeFunction* function = function_of(fake, handle);
  if (function == nullptr) {
    fake.misused("cuLaunchKernelEx of what is no function");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const char* rule = bad_launch(fake, *config, *function)) {
    fake.misused("cuLaunchKernelEx of " + function->name + ": " + rule);
    return CUDA_ERROR_INVALID_VALUE;
  }
  FakeLaunch launch{};
  std::strncpy(launch.kernel, function->name.c_str(), sizeof launch.kernel - 1);
  launch.grid = config->gridDimX;
  launch.threads = config->blockDimX;
  launch.cluster = cluster_of(*config);
  launch.smem_bytes = config->sharedMemBytes;
  launch.stream = config->hStream;
  launch.context = reinterpret_cast<CUcontext>(fake.current());
  launch.overlaps = overlaps(*config);
  if (launch.is_sums())
    std::memcpy(&launch.bias_gradient, parameters[0], sizeof launch.bias_gradient);
  else if (launch.is_copy())
    std::memcpy(&launch.copies, parameters[0], sizeof launch.copies);
  else
    std::memcpy(&launch.params, parameters[0],
                launch.is_unmapped() ? sizeof(bwgemm::KernelParams) : sizeof launch.params);

  const FakeStream* stream = fake.stream(config->hStream, "cuLaunchKernelEx");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->status() == CU_STREAM_CAPTURE_STATUS_NONE) {
    const CUresult result = fake.enqueue(config->hStream, "cuLaunchKernelEx", [] {});
    if (result == CUDA_SUCCESS) record(launch, false, false);
    return result;
  }
  const CUresult result =
      fake.enqueue(config->hStream, "cuLaunchKernelEx", [launch] { record(launch, false, true); });
  if (result == CUDA_SUCCESS) record(launch, true, false);
  return result;
}

}  // namespace

// Other threads have their turn behind each launch, so that what must not come there is seen.
FAKE_CUDA_ENTRY CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction handle,
                                          void** parameters, void**) {
  if (FakeDriver::is_quick) return CUDA_SUCCESS;
  const CUresult result = launch(config, handle, parameters);
  std::this_thread::yield();
  return result;
}
