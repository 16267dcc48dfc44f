// SPDX-License-Identifier: Apache-2.0
// Attribute values are those of an H200 under driver 580 (2026-11-21) except where a model differs.
#include "vgpu/driver/device.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace bwgemm::vgpu::driver {
namespace {

// Counted on an H200 with cuOccupancyMaxActiveClusters, all sizes from 1 to 17 (2026-11-21). Nobody
// here could ask a B200: its SMs are spread evenly over eight groups. An H100 has those of an H200.
constexpr int h200_groups[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
constexpr int b200_groups[] = {20, 20, 18, 18, 18, 18, 18, 18};

constexpr DeviceModel models[] = {
    {.key = "h100",
     .name = "NVIDIA H100 80GB HBM3 (virtual)",
     .cc_major = 9,
     .cc_minor = 0,
     .clock_khz = 1980000,
     .memory_clock_khz = 2619000,
     .memory_bus_bits = 5120,
     .l2_bytes = 52428800,
     .max_persisting_l2_bytes = 32768000,
     .memory_bytes = 85014872064,
     .cluster_groups = h200_groups},
    {.key = "h200",
     .name = "NVIDIA H200 (virtual)",
     .cc_major = 9,
     .cc_minor = 0,
     .clock_khz = 1980000,
     .memory_clock_khz = 3201000,
     .memory_bus_bits = 6016,
     .l2_bytes = 62914560,
     .max_persisting_l2_bytes = 39321600,
     .memory_bytes = 150109880320,
     .cluster_groups = h200_groups},
    {.key = "b200",
     .name = "NVIDIA B200 (virtual)",
     .cc_major = 10,
     .cc_minor = 0,
     .clock_khz = 1965000,
     .memory_clock_khz = 3996000,
     .memory_bus_bits = 8192,
     .l2_bytes = 132644864,
     .max_persisting_l2_bytes = 82903040,
     .memory_bytes = 191510609920,
     .cluster_groups = b200_groups},
    {.key = "b300",
     .name = "NVIDIA B300 (virtual)",
     .cc_major = 10,
     .cc_minor = 3,
     .clock_khz = 2032000,
     .memory_clock_khz = 3996000,
     .memory_bus_bits = 8192,
     .l2_bytes = 132644864,
     .max_persisting_l2_bytes = 82903040,
     .memory_bytes = 287762808832,
     .cluster_groups = b200_groups},
};

// Of attributes 1 to 147, in their order; those that differ between models or devices are replaced.
// clang-format off
constexpr int common[] = {
    /*   1 */ limits::threads_per_block, 1024, 1024, 64, 2147483647, 65535, 65535,
    /*   8 */ limits::shared_per_block, 65536, 32, 2147483647, 65536, 1980000, 512, 1, 132,
    /*  17 */ 0, 0, 1, 0, 131072, 131072, 65536, 16384, 16384, 16384, 32768, 32768, 2048, 512,
    /*  31 */ 1, 1, 0, 6, 0, 3201000, 6016, 62914560, limits::threads_per_sm, 3, 1, 32768, 2048,
    /*  44 */ 1, 32768, 32768, 8192, 8192, 32768, 0, 32, 32768, 32768, 2046, 32768, 131072, 65536,
    /*  58 */ 16384, 16384, 16384, 32768, 2048, 32768, 32768, 2048, 32768, 32768, 2046, 268435456,
    /*  70 */ 131072, 65000, 2097120, 32768, 32768, 9, 0, 32768, 1, 1, 1,
    /*  81 */ limits::shared_per_sm, limits::registers_per_sm, 1, 0, 0, 0, 2, 0, 1, 1, 1, 0, 0, 0,
    /*  95 */ 1, 1, limits::shared_per_block_optin, 0, 1, 0, 0, 1, 1, 0, 0,
    /* 106 */ limits::blocks_per_sm, 1, 39321600, 134217728, 1, limits::reserved_shared_per_block,
    /* 112 */ 1, 1, 1, 1, 1, 1, 100, 9, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0,
    /* 139 */ 590680286, 415174878, 1, 1, 0, 1, 1, 0, 0};
// clang-format on
static_assert(std::size(common) == 147);

const DeviceModel* model_named(std::string_view key) {
  const auto* found = std::find_if(std::begin(models), std::end(models),
                                   [&](const auto& m) { return m.key == key; });
  return found != std::end(models) ? found : nullptr;
}

}  // namespace

int DeviceModel::sm_count() const {
  return std::accumulate(cluster_groups.begin(), cluster_groups.end(), 0);
}

std::optional<std::vector<const DeviceModel*>> models_named(std::string_view list) {
  std::vector<const DeviceModel*> named;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const DeviceModel* model = model_named(list.substr(0, comma));
    if (model == nullptr) return std::nullopt;
    named.push_back(model);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return named;
}

std::optional<int> attribute(const DeviceModel& model, int ordinal, CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return model.cc_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return model.cc_minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return model.sm_count();
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return model.l2_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE: return model.max_persisting_l2_bytes;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return model.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return model.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return model.memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: return 6 + ordinal;
    default: break;
  }
  const int index = static_cast<int>(attribute) - 1;
  if (index < 0 || index >= static_cast<int>(std::size(common))) return std::nullopt;
  return common[index];
}

}  // namespace bwgemm::vgpu::driver
