// SPDX-License-Identifier: Apache-2.0
// The devices of this process, as data: BWGEMM_VGPU names them (h100, h200, b200, b300; a comma
// list makes several; h200 if unset).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vgpu/driver/api.h"

namespace bwgemm::vgpu::driver {

struct DeviceModel {
  std::string_view key, name;
  int cc_major, cc_minor;
  int clock_khz, memory_clock_khz, memory_bus_bits;
  int l2_bytes, max_persisting_l2_bytes;
  std::size_t memory_bytes;
  // Groups of SMs that one cluster can lie in. Their sum is the number of SMs.
  std::span<const int> cluster_groups;

  int sm_count() const;
};

// Limits that all models share; kernels are checked against them.
namespace limits {
inline constexpr int threads_per_block = 1024;
inline constexpr int threads_per_sm = 2048;
inline constexpr int warps_per_sm = 64;
inline constexpr int blocks_per_sm = 32;
inline constexpr int registers_per_sm = 65536;
inline constexpr int shared_per_block = 48 << 10;         // without asking
inline constexpr int shared_per_block_optin = 227 << 10;  // after asking
inline constexpr int shared_per_sm = 228 << 10;
inline constexpr int reserved_shared_per_block = 1 << 10;
inline constexpr int portable_cluster = 8;
inline constexpr int largest_cluster = 16;
}  // namespace limits

// Nothing if a name is unknown.
std::optional<std::vector<const DeviceModel*>> models_named(std::string_view list);

// Nothing if the attribute does not exist.
std::optional<int> attribute(const DeviceModel& model, int ordinal, CUdevice_attribute attribute);

}  // namespace bwgemm::vgpu::driver
