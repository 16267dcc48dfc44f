// SPDX-License-Identifier: Apache-2.0
// How many clusters a device holds at once: selection and planning count alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device_facts.h"

namespace bwgemm {

// Clusters of so many CTAs, one on each SM, that run at the same time on facts.sm_count SMs: those
// of a cluster lie in one GPC. Where the driver was not asked, Hopper's are in proportion to an
// H200's (its answers, 2026-11-21), and Blackwell's as many as there are SMs for.
constexpr std::int64_t clusters_that_fit(const DeviceFacts& facts, int ctas) {
  constexpr int gpcs[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  const std::int64_t room = facts.sm_count / ctas;
  if (const int asked = facts.clusters.of(ctas); asked != ClusterCounts::unknown)
    return std::min<std::int64_t>(asked, room);
  if (facts.arch() != Arch::sm90) return room;
  int all = 0, clusters = 0;
  for (const int sms : gpcs) {
    all += sms;
    clusters += sms / ctas;
  }
  return std::int64_t{clusters} * facts.sm_count / all;
}

}  // namespace bwgemm
