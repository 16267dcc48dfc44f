// SPDX-License-Identifier: Apache-2.0
#include "vgpu/judges/clocks.h"

namespace bwgemm::vgpu {

Time Clock::at(std::uint32_t cluster, Entity entity) const {
  if (!foreign_) return 0;
  const auto times = foreign_->find(cluster);
  return times != foreign_->end() && entity < times->second.size() ? times->second[entity] : 0;
}

void Clock::raise(Entity entity, Time time) {
  if (entity >= times_.size()) times_.resize(entity + 1);
  times_[entity] = std::max(times_[entity], time);
}

void Clock::join_foreign(const Foreign& other) {
  auto joined = foreign_ ? std::make_shared<Foreign>(*foreign_) : std::make_shared<Foreign>();
  for (const auto& [cluster, times] : other) join((*joined)[cluster], times);
  foreign_ = std::move(joined);
}

}  // namespace bwgemm::vgpu
