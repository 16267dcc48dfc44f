// SPDX-License-Identifier: Apache-2.0
#include "vgpu/timing/constants.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace bwgemm::vgpu {
namespace {

struct Field {
  std::string_view name;
  double Constants::*member;
};

constexpr Field fields[] = {
    {"sm_count", &Constants::sm_count},
    {"clock_ghz", &Constants::clock_ghz},
    {"sampled_sms", &Constants::sampled_sms},
    {"launch_us", &Constants::launch_us},
    {"cta_start_cycles", &Constants::cta_start_cycles},
    {"cluster_cycles", &Constants::cluster_cycles},
    {"exit_cycles", &Constants::exit_cycles},
    {"issue_cycles", &Constants::issue_cycles},
    {"instruction_cycles", &Constants::instruction_cycles},
    {"mbarrier_cycles", &Constants::mbarrier_cycles},
    {"wake_cycles", &Constants::wake_cycles},
    {"barrier_cycles", &Constants::barrier_cycles},
    {"fence_cycles", &Constants::fence_cycles},
    {"shared_bytes_per_cycle", &Constants::shared_bytes_per_cycle},
    {"shared_latency", &Constants::shared_latency},
    {"tma_box_cycles", &Constants::tma_box_cycles},
    {"tma_row_cycles", &Constants::tma_row_cycles},
    {"tma_rows_per_cycle", &Constants::tma_rows_per_cycle},
    {"tma_bytes_per_cycle", &Constants::tma_bytes_per_cycle},
    {"tma_latency", &Constants::tma_latency},
    {"port_bytes_per_cycle", &Constants::port_bytes_per_cycle},
    {"l2_bytes_per_cycle", &Constants::l2_bytes_per_cycle},
    {"l2_merge_cycles", &Constants::l2_merge_cycles},
    {"outside_rows_per_cycle", &Constants::outside_rows_per_cycle},
    {"l2_straddle", &Constants::l2_straddle},
    {"hbm_bytes_per_cycle", &Constants::hbm_bytes_per_cycle},
    {"hbm_latency", &Constants::hbm_latency},
    {"write_factor", &Constants::write_factor},
    {"write_straddle", &Constants::write_straddle},
    {"global_latency", &Constants::global_latency},
    {"store_bytes_per_cycle", &Constants::store_bytes_per_cycle},
    {"store_latency", &Constants::store_latency},
    {"wgmma_column_cycles", &Constants::wgmma_column_cycles},
    {"wgmma_latency", &Constants::wgmma_latency},
    {"mma_sync_cycles", &Constants::mma_sync_cycles},
    {"tensor_64_cycles", &Constants::tensor_64_cycles},
    {"tensor_128_cycles", &Constants::tensor_128_cycles},
    {"tensor_256_cycles", &Constants::tensor_256_cycles},
    {"pair_64_cycles", &Constants::pair_64_cycles},
    {"pair_128_cycles", &Constants::pair_128_cycles},
    {"pair_256_cycles", &Constants::pair_256_cycles},
    {"tensor_load_bytes_per_cycle", &Constants::tensor_load_bytes_per_cycle},
    {"tensor_load_latency", &Constants::tensor_load_latency},
    {"power_idle", &Constants::power_idle},
    {"power_tensor", &Constants::power_tensor},
    {"power_l2", &Constants::power_l2},
    {"power_hbm", &Constants::power_hbm},
    {"power_exponent", &Constants::power_exponent},
};
static_assert(sizeof(Constants) == std::size(fields) * sizeof(double));

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

}  // namespace

// A line is a name, a value and where it comes from; # begins a comment.
Constants Constants::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse(path, "cannot be read");
  Constants constants{};
  std::set<std::string_view> seen;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, source;
    double value = 0;
    if (!(words >> name) || name.front() == '#') continue;
    if (!(words >> value >> source)) refuse(path, name + " needs a value and a source");
    const auto* field = std::find_if(std::begin(fields), std::end(fields),
                                     [&](const Field& known) { return known.name == name; });
    if (field == std::end(fields)) refuse(path, name + " is not known");
    if (!seen.insert(field->name).second) refuse(path, name + " is there twice");
    constants.*field->member = value;
  }
  for (const Field& field : fields)
    if (!seen.contains(field.name)) refuse(path, std::string(field.name).append(" is missing"));
  return constants;
}

}  // namespace bwgemm::vgpu
