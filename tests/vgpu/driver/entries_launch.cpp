// SPDX-License-Identifier: Apache-2.0
// Entry points: launches and tensor maps.
#include <cstdio>
#include <cstring>

#include "vgpu/driver/driver.h"
#include "vgpu/driver/launch.h"
#include "vgpu/driver/tensor_map_check.h"

using namespace bwgemm::vgpu::driver;

namespace {

constexpr std::uintptr_t map_alignment = 64;

bool is_aligned(const CUtensorMap* map) {
  return reinterpret_cast<std::uintptr_t>(map) % map_alignment == 0;
}

void write(CUtensorMap* map, const bwgemm::vgpu::TensorMapFields& fields) {
  const bwgemm::vgpu::TensorMapBytes bytes = encode(fields);
  static_assert(sizeof bytes == sizeof *map);
  std::memcpy(map, bytes.data(), bytes.size());
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned dynamic_shared_bytes, CUstream stream, void** parameters,
                        void** extra) {
  CUlaunchConfig config{};
  config.gridDimX = grid_x, config.gridDimY = grid_y, config.gridDimZ = grid_z;
  config.blockDimX = block_x, config.blockDimY = block_y, config.blockDimZ = block_z;
  config.sharedMemBytes = dynamic_shared_bytes;
  config.hStream = stream;
  return call(Needs::working_context,
              [&](Driver&) { launch(config, function_of(function), parameters, extra); });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(config != nullptr);
    launch(*config, function_of(function), parameters, extra);
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(function != nullptr);
    enqueue(stream_of(stream), CU_GRAPH_NODE_TYPE_HOST,
            [callback = Callback{function, data}] { callback.run(); });
  });
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill oob_fill) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(map != nullptr && is_aligned(map));
    const TensorMapArguments arguments{type,    rank,      address,         dims,
                                       strides, box,       element_strides, interleave,
                                       swizzle, promotion, oob_fill};
    if (const char* broken = broken_rule(arguments)) {
      std::fprintf(stderr, "vgpu: tensor map refused: %s\n", broken);
      fail(CUDA_ERROR_INVALID_VALUE);
    }
    const auto fields = fields_of(arguments);
    if (!fields) {
      std::fprintf(stderr, "vgpu: tensor map: this type, interleave or swizzle is not modelled\n");
      fail(CUDA_ERROR_INVALID_VALUE);
    }
    write(map, *fields);
  });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(map != nullptr && is_aligned(map));
    require_value(reinterpret_cast<std::uintptr_t>(address) % 16 == 0);
    bwgemm::vgpu::TensorMapBytes bytes;
    std::memcpy(bytes.data(), map, bytes.size());
    auto fields = bwgemm::vgpu::decode(bytes);
    require_value(fields.has_value());
    fields->address = reinterpret_cast<std::uintptr_t>(address);
    write(map, *fields);
  });
}
