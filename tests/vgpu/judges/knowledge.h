// SPDX-License-Identifier: Apache-2.0
// Knowledge: what the threads of one warp come after. Lanes that wait on their own know more than
// their warp until a warp synchronisation shares it; reconverging shares nothing.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "vgpu/judges/clocks.h"
#include "vgpu/ptx/program.h"

namespace bwgemm::vgpu {

struct Knowledge {
  View view;
  Clock tensor;  // view of tcgen05 instructions: that of the last tcgen05.fence::after_thread_sync
  std::optional<View> fenced;  // the view at the last release fence, which relaxed writes publish
  int fence_scope = 0;         // Scope of that fence
  // Published by writes that relaxed reads have seen, by scope; for a later fence.
  std::array<View, 3> observed;

  void join(const Knowledge& other);
};

class WarpKnowledge {
 public:
  // Calls change(Knowledge&) for every group of lanes within `mask`.
  template <class Change>
  void for_lanes(LaneMask mask, LaneMask live, Change change) {
    if ((mask & live) == live) {
      change(common_);
      for (Group& group : groups_) change(group.knowledge);
      return;
    }
    separate(mask);
    for (Group& group : groups_)
      if (group.mask & mask) change(group.knowledge);
  }

  const Knowledge& of_lane(int lane) const {
    for (const Group& group : groups_)
      if (group.mask >> lane & 1) return group.knowledge;
    return common_;
  }
  // What the lanes of `mask` know between them.
  Knowledge gathered(LaneMask mask) const;
  View gathered_view(LaneMask mask) const;  // of it, the view
  const Knowledge& common() const { return common_; }

  void acquire(LaneMask mask, LaneMask live, const View& view) {
    for_lanes(mask, live, [&](Knowledge& knowledge) { knowledge.view.join(view); });
  }
  // All lanes learn what any of them knows.
  void share();

 private:
  struct Group {
    LaneMask mask;
    Knowledge knowledge;
  };
  // Makes `mask` a union of groups.
  void separate(LaneMask mask);

  Knowledge common_;           // of the lanes in no group
  std::vector<Group> groups_;  // disjoint
};

}  // namespace bwgemm::vgpu
