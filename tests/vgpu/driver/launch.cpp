// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "vgpu/driver/driver.h"
#include "vgpu/driver/occupancy.h"
#include "vgpu/driver/report.h"
#include "vgpu/timing/prediction.h"

namespace bwgemm::vgpu::driver {
namespace {

void read_attributes(const CUlaunchConfig& config, Launch& launch) {
  require_value(config.numAttrs == 0 || config.attrs != nullptr);
  for (const CUlaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) {
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        launch.cluster[0] = attribute.value.clusterDim.x;
        launch.cluster[1] = attribute.value.clusterDim.y;
        launch.cluster[2] = attribute.value.clusterDim.z;
        require(launch.cluster_size() != 0, CUDA_ERROR_INVALID_CLUSTER_SIZE);
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        launch.is_programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
        break;
      // Hints.
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: break;
      default:
        std::fprintf(stderr, "vgpu: launch attribute %d is not known here\n",
                     static_cast<int>(attribute.id));
        fail(CUDA_ERROR_INVALID_VALUE);
    }
  }
}

void check_cluster(const Launch& launch, const Function& function) {
  if (launch.cluster_size() == 0) return;
  const std::uint32_t most = function.attributes.allows_large_clusters ? limits::largest_cluster
                                                                       : limits::portable_cluster;
  const bool divides = launch.grid.x % launch.cluster[0] == 0 &&
                       launch.grid.y % launch.cluster[1] == 0 &&
                       launch.grid.z % launch.cluster[2] == 0;
  require(divides && launch.cluster_size() <= most, CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

std::vector<std::byte> from_array(const Signature& signature, void** parameters) {
  std::vector<std::byte> bytes(signature.parameter_bytes());
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    require_value(parameters[i] != nullptr);
    const auto [offset, size] = signature.parameters[i];
    std::memcpy(bytes.data() + offset, parameters[i], size);
  }
  return bytes;
}

std::vector<std::byte> from_buffer(const Signature& signature, void** extra) {
  const std::byte* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = static_cast<const std::byte*>(extra[1]);
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<const std::size_t*>(extra[1]);
    else
      fail(CUDA_ERROR_INVALID_VALUE);
  }
  require_value(size >= signature.parameter_bytes() && (buffer != nullptr || size == 0));
  return {buffer, buffer + signature.parameter_bytes()};
}

std::vector<std::byte> arguments(const Signature& signature, void** parameters, void** extra) {
  require_value(parameters == nullptr || extra == nullptr);
  if (parameters != nullptr) return from_array(signature, parameters);
  if (extra != nullptr) return from_buffer(signature, extra);
  require_value(signature.parameters.empty());
  return {};
}

// Of a launch: the process' seed would give equal launches equal schedules.
std::uint64_t seed_of_launch(std::uint64_t seed, unsigned long long ordinal) {
  std::uint64_t mixed = seed + ordinal * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

// One after the other, in simulated time.
void predict_kernels(std::span<const KernelWork* const> kernels) {
  Driver& driver = Driver::get();
  for (const KernelWork* kernel : kernels) {
    std::vector<vgpu::Finding> findings;
    const vgpu::Prediction prediction =
        vgpu::predict(kernel->request, driver.heap.memory(), *driver.settings.timing,
                      kernel->ctas_per_sm, findings);
    if (report(findings, kernel->request, ++driver.launch_count)) fail(CUDA_ERROR_LAUNCH_FAILED);
    write(prediction);
  }
}

}  // namespace

void run_kernels(std::span<const KernelWork* const> kernels) {
  Driver& driver = Driver::get();
  const Settings& settings = driver.settings;
  if (settings.timing) return predict_kernels(kernels);
  const unsigned long long first = driver.launch_count + 1;
  driver.launch_count += kernels.size();
  std::vector<vgpu::Grid> grids;
  std::vector<vgpu::RunStatistics> statistics(kernels.size());
  for (const KernelWork* kernel : kernels) {
    grids.push_back({kernel->request, settings.run});
    grids.back().request.seed = seed_of_launch(settings.seed, first + grids.size() - 1);
    grids.back().options.coverage = Coverage(kernel->request).lines();
    grids.back().options.statistics = &statistics[grids.size() - 1];
  }
  try {
    const auto findings = vgpu::run_dependent(grids, driver.heap.memory());
    bool is_clean = true;
    for (std::size_t i = 0; i < grids.size(); ++i) {
      count(grids[i].request.kernel, statistics[i]);
      if (report(findings[i], grids[i].request, first + i)) is_clean = false;
    }
    if (!is_clean && settings.is_strict) fail(CUDA_ERROR_LAUNCH_FAILED);
  } catch (const vgpu::LaunchError& error) {
    std::fprintf(stderr, "vgpu: %s was not run: %s\n", grids[0].request.kernel.c_str(),
                 error.what());
    fail(CUDA_ERROR_LAUNCH_FAILED);
  }
}

Launch checked_shape(const CUlaunchConfig& config, const Function& function) {
  Launch launch{{config.gridDimX, config.gridDimY, config.gridDimZ},
                {config.blockDimX, config.blockDimY, config.blockDimZ},
                config.sharedMemBytes};
  const auto& [x, y, z] = launch.grid;
  require_value(x > 0 && y > 0 && z > 0);
  require_value(x <= 0x7fffffff && y <= 65535 && z <= 65535);
  require_value(launch.block.count() > 0 && launch.block.z <= 64);
  require_value(launch.block.count() <= limits::threads_per_block);
  require_value(launch.dynamic_shared_bytes <=
                static_cast<unsigned>(function.attributes.max_dynamic_shared));

  const std::uint32_t(&fixed)[3] = function.signature->cluster;
  std::copy(std::begin(fixed), std::end(fixed), launch.cluster);
  read_attributes(config, launch);
  const bool is_as_compiled =
      fixed[0] == 0 || std::equal(std::begin(fixed), std::end(fixed), launch.cluster);
  require(is_as_compiled, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  check_cluster(launch, function);
  return launch;
}

void launch(const CUlaunchConfig& config, const Function& function, void** parameters,
            void** extra) {
  Stream& stream = stream_of(config.hStream);
  require(stream.context == function.context, CUDA_ERROR_INVALID_HANDLE);
  const Launch launch = checked_shape(config, function);
  const int threads = static_cast<int>(launch.block.count());
  require_value(threads <= function.signature->max_threads);
  const int ctas_per_sm = blocks_per_sm(function, threads, launch.dynamic_shared_bytes);
  require(ctas_per_sm > 0, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  if (launch.cluster[1] > 1 || launch.cluster[2] > 1) {
    std::fprintf(stderr, "vgpu: %s: clusters lie along x here\n", function.signature->name.c_str());
    fail(CUDA_ERROR_NOT_SUPPORTED);
  }

  vgpu::LaunchRequest request;
  request.module = function.image->module;
  request.kernel = function.signature->name;
  request.grid = launch.grid;
  request.block = launch.block;
  request.cluster_size = launch.cluster_size();
  request.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  request.parameters = arguments(*function.signature, parameters, extra);
  std::vector<void*> values;
  for (const Signature::Parameter& parameter : function.signature->parameters)
    values.push_back(request.parameters.data() + parameter.offset);
  enqueue(stream, CU_GRAPH_NODE_TYPE_KERNEL,
          std::make_shared<const KernelWork>(KernelWork{std::move(request), launch.is_programmatic,
                                                        static_cast<std::uint32_t>(ctas_per_sm),
                                                        function.handle(), std::move(values)}));
}

}  // namespace bwgemm::vgpu::driver
