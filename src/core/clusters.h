// SPDX-License-Identifier: Apache-2.0
// How many clusters a device holds at once: selection and planning count alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device_facts.h"

namespace bwgemm {

inline constexpr int h200_sms = 132;

// Clusters that an H200 holds, by its groups of SMs (the driver's answers, 2026-11-21). The CTAs of
// a cluster lie in one group.
constexpr ClusterCounts h200_clusters() {
  constexpr int gpcs[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  ClusterCounts counts;
  for (int ctas = 1; ctas <= ClusterCounts::largest; ++ctas) {
    int clusters = 0;
    for (const int sms : gpcs) clusters += sms / ctas;
    counts.set(ctas, clusters);
  }
  return counts;
}

// Clusters of so many CTAs, at most 16, one on each SM, that run at the same time on facts.sm_count
// SMs. Where the driver was not asked, Hopper's are in proportion to an H200's, and Blackwell's as
// many as there are SMs for.
constexpr std::int64_t clusters_that_fit(const DeviceFacts& facts, int ctas) {
  constexpr ClusterCounts of_h200 = h200_clusters();
  const std::int64_t room = facts.sm_count / ctas;
  if (const int asked = facts.clusters.of(ctas); asked != ClusterCounts::unknown)
    return std::min<std::int64_t>(asked, room);
  if (facts.arch() != Arch::sm90) return room;
  return std::int64_t{of_h200.of(ctas)} * facts.sm_count / h200_sms;
}

}  // namespace bwgemm
