// SPDX-License-Identifier: Apache-2.0
// DeviceFacts: what selection and planning may know of a GPU. A plain value, so that tests and
// bwgemmExplain write their own. launch/device fills it from the driver.
#pragma once

#include <array>
#include <cstdint>

#include "core/kernel_config.h"

namespace bwgemm {

// Clusters that the SMs of a context hold at once, one CTA on each SM, by their CTAs.
class ClusterCounts {
 public:
  static constexpr int largest = 16, unknown = -1;
  constexpr ClusterCounts() {
    for (std::int16_t& count : counts_) count = unknown;
  }
  constexpr int of(int ctas) const { return counts_[at(ctas)]; }
  constexpr void set(int ctas, int clusters) {
    counts_[at(ctas)] = static_cast<std::int16_t>(clusters);
  }
  bool operator==(const ClusterCounts&) const = default;

 private:
  static constexpr std::size_t at(int ctas) { return static_cast<std::size_t>(ctas); }
  std::array<std::int16_t, largest + 1> counts_{};
};

struct DeviceFacts {
  int cc_major = 0, cc_minor = 0;
  int sm_count = 0;  // of the context (a MIG slice or green context has fewer than the chip)
  std::int64_t l2_bytes = 0;
  double memory_bytes_per_us = 0;  // device memory's peak; 0: not known
  // CTAs that may share an SM, however many fit. One where a call may not occupy all SMs: CTAs are
  // spread over SMs before they share any.
  int ctas_per_sm = 32;
  // CTAs of the largest cluster that is sure to find room somewhere.
  int largest_cluster = 8;
  ClusterCounts clusters{};  // the driver's answers, of all SMs

  constexpr Arch arch() const { return cc_major == 9 ? Arch::sm90 : Arch::sm100; }
  bool operator==(const DeviceFacts&) const = default;
};

// Multiprocessors a call may occupy: the device's, or the target if there is one and it is fewer.
constexpr int usable_sms(const DeviceFacts& facts, int sm_count_target) {
  return sm_count_target > 0 && sm_count_target < facts.sm_count ? sm_count_target : facts.sm_count;
}

// Compute capabilities that an image of every kernel runs on: sm_90a, sm_100a and sm_100f, whose
// family within 10.x is 10.0 and 10.3.
constexpr bool is_supported(const DeviceFacts& facts) {
  if (facts.cc_major == 9) return facts.cc_minor == 0;
  return facts.cc_major == 10 && (facts.cc_minor == 0 || facts.cc_minor == 3);
}

// Memory of double rate: two transfers a clock, of as many bits as the bus is wide.
constexpr double peak_memory_bytes_per_us(int clock_khz, int bus_bits) {
  return 2.0 * clock_khz * bus_bits / (8 * 1000);
}

inline constexpr DeviceFacts nominal_h100{9, 0, 132, 50 << 20,
                                          peak_memory_bytes_per_us(2619000, 5120)};
inline constexpr DeviceFacts nominal_h200{9, 0, 132, 60 << 20,
                                          peak_memory_bytes_per_us(3201000, 6016)};
inline constexpr DeviceFacts nominal_b200{10, 0, 148, 126 << 20,
                                          peak_memory_bytes_per_us(3996000, 8192)};

}  // namespace bwgemm
