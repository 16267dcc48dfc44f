// SPDX-License-Identifier: Apache-2.0
#include "vgpu/judges/knowledge.h"

#include <algorithm>

namespace bwgemm::vgpu {

void Knowledge::join(const Knowledge& other) {
  view.join(other.view);
  tensor.join(other.tensor);
  for (std::size_t scope = 0; scope < observed.size(); ++scope)
    observed[scope].join(other.observed[scope]);
  if (other.fenced) {
    if (fenced) {
      fenced->join(*other.fenced);
      fence_scope = std::min(fence_scope, other.fence_scope);
    } else {
      fenced = other.fenced;
      fence_scope = other.fence_scope;
    }
  }
}

Knowledge WarpKnowledge::gathered(LaneMask mask) const {
  LaneMask rest = mask;
  std::optional<Knowledge> result;
  auto add = [&](const Knowledge& knowledge) {
    if (result)
      result->join(knowledge);
    else
      result = knowledge;
  };
  for (const Group& group : groups_)
    if (group.mask & mask) {
      add(group.knowledge);
      rest &= ~group.mask;
    }
  if (rest || !result) add(common_);
  return *result;
}

View WarpKnowledge::gathered_view(LaneMask mask) const {
  LaneMask rest = mask;
  View result;
  for (const Group& group : groups_)
    if (group.mask & mask) {
      result.join(group.knowledge.view);
      rest &= ~group.mask;
    }
  if (rest || rest == mask) result.join(common_.view);
  return result;
}

void WarpKnowledge::separate(LaneMask mask) {
  LaneMask rest = mask;
  for (std::size_t i = 0, count = groups_.size(); i < count; ++i) {
    const LaneMask inside = groups_[i].mask & mask;
    rest &= ~inside;
    if (inside == 0 || inside == groups_[i].mask) continue;
    Group split{inside, groups_[i].knowledge};
    groups_[i].mask &= ~inside;
    groups_.push_back(std::move(split));
  }
  if (rest) groups_.push_back({rest, common_});
}

void WarpKnowledge::share() {
  for (const Group& group : groups_) common_.join(group.knowledge);
  groups_.clear();
}

}  // namespace bwgemm::vgpu
