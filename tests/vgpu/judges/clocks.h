// SPDX-License-Identifier: Apache-2.0
// Vector clocks: what is ordered before what, whatever the schedule. An entity is anything that
// acts on its own: a warp, the phases of an mbarrier, a tensor pipe, a thread's bulk groups. It
// numbers its actions; a clock says, per entity, up to which number its holder comes after.
//
// Entities belong to clusters, because nearly all synchronisation does. What a clock holds of other
// clusters (through global memory) is kept aside and is usually nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace bwgemm::vgpu {

using Entity = std::uint16_t;  // counts from 1 within its cluster; 0 is nobody
using Time = std::uint32_t;

class Clock {
 public:
  using Times = std::vector<Time>;                 // by entity
  using Foreign = std::map<std::uint32_t, Times>;  // by cluster

  Time at(Entity entity) const { return entity < times_.size() ? times_[entity] : 0; }
  Time at(std::uint32_t cluster, Entity entity) const;  // of another cluster
  void raise(Entity entity, Time time);
  void lower(Entity entity, Time time) {
    if (entity < times_.size()) times_[entity] = std::min(times_[entity], time);
  }
  void join(const Clock& other) {
    join(times_, other.times_);
    if (!foreign_)
      foreign_ = other.foreign_;
    else if (other.foreign_ && other.foreign_ != foreign_)
      join_foreign(*other.foreign_);
  }
  void join_foreign(const Foreign& other);
  void forget_foreign() { foreign_.reset(); }
  void clear() {  // keeps its memory
    times_.clear();
    foreign_.reset();
  }

  const Times& times() const { return times_; }
  Times& times() { return times_; }
  const std::shared_ptr<const Foreign>& foreign() const { return foreign_; }

  static void join(Times& to, const Times& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
  }

 private:
  Times times_;
  std::shared_ptr<const Foreign> foreign_;  // shared between clocks, hence never changed in place
};

// What a thread, or a synchronisation object, comes after: as seen by ordinary accesses, and by the
// async proxy, which needs fence.proxy.async: its accesses to shared memory (TMA, wgmma, tcgen05)
// and to global memory (TMA), because a fence may be for one of them.
struct View {
  Clock generic, async;
  Clock async_global{};

  void join(const View& other) {
    generic.join(other.generic);
    async.join(other.async);
    async_global.join(other.async_global);
  }
  void clear() {
    for (Clock* clock : {&generic, &async, &async_global}) clock->clear();
  }
  void raise(Entity entity, Time time) {
    generic.raise(entity, time);
    raise_async(entity, time);
  }
  void raise_async(Entity entity, Time time) {
    async.raise(entity, time);
    async_global.raise(entity, time);
  }
  void lower_async(Entity entity, Time time) {
    async.lower(entity, time);
    async_global.lower(entity, time);
  }
};

}  // namespace bwgemm::vgpu
