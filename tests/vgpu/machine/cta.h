// SPDX-License-Identifier: Apache-2.0
// Cta and Cluster: the threads that share memory, and what they share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/judges/shared_shadow.h"
#include "vgpu/machine.h"
#include "vgpu/machine/mbarrier.h"
#include "vgpu/machine/shared_memory.h"
#include "vgpu/machine/tensor_memory.h"
#include "vgpu/machine/warp.h"

namespace bwgemm::vgpu {

class Multiprocessor;
class TensorPipe;

struct NamedBarrier {
  static constexpr int count = 16;

  std::uint32_t arrived = 0, expected = 0;  // threads
  View arriving;
  LaneMask reduction = 0;  // of bar.red, folded; see barrier.cpp
  std::vector<Split*> sleepers;
};

struct Cta {
  Cta(Simulation& simulation, struct Cluster& cluster, std::uint32_t rank, std::uint64_t index,
      std::uint32_t shared_bytes, std::uint32_t threads);
  ~Cta();

  Cluster& cluster;
  std::uint32_t rank;       // in the cluster
  std::uint64_t index;      // in the grid
  Dim3 position;            // in the grid
  std::uint32_t place = 0;  // its SM, where time is simulated
  std::vector<std::byte> constants;
  SharedMemory shared;  // the window from address 0; the first KiB is reserved
  SharedShadow shadow;
  std::unordered_map<std::uint32_t, MBarrier> mbarriers;  // by offset
  std::array<NamedBarrier, NamedBarrier::count> barriers;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::unique_ptr<Warpgroup>> warpgroups;
  TensorMemory tensor;
  std::shared_ptr<Multiprocessor> multiprocessor;  // null: nothing has been allocated
  std::uint32_t live_threads, live_warps;
  std::uint32_t free_registers = 0;  // of all threads, given up by setmaxnreg.dec
  std::vector<Split*> register_sleepers;
  bool exited = false;
  bool lets_dependents_begin = false;  // griddepcontrol.launch_dependents, or exited
  Clock at_exit;                       // what its warps came after when they left
  Clock remote_accesses;  // by other CTAs to its shared memory: must be before its exit
};

struct Cluster {
  Cluster(std::uint32_t index, std::uint32_t size);
  ~Cluster();

  enum class EntityKind : std::uint8_t {
    prerequisites,
    warp,
    tensor_loads,
    bulk,
    copies,
    mbarrier,
    arrivals,
    wgmma,
    tensor_pipe,
    cluster_barrier
  };
  // The end of the grids that this one depends on: at time 1.
  static constexpr Entity prerequisites = 1;
  // The cluster barrier: at time n its first n phases are over, so that all CTAs have begun.
  static constexpr Entity barriers = 2;
  struct EntityInfo {
    EntityKind kind;
    std::uint32_t rank;  // of its CTA
    std::uint32_t number;
  };
  Entity new_entity(EntityKind kind, std::uint32_t rank, std::uint32_t number);
  // Removes what ordinary accesses of warps did: of all CTAs, or of all but one.
  void forget_warps(Clock& clock, int except_rank = -1) const;

  std::uint32_t index;
  std::vector<EntityInfo> entities;  // by entity; 0 is unused
  std::vector<std::unique_ptr<Cta>> ctas;
  std::uint32_t live_threads = 0, live_ctas = 0;

  bool saw_no_more_work = false;  // a try_cancel was seen to have failed

  // barrier.cluster
  std::uint32_t arrived = 0, phase = 0;
  View arriving, completed;
  std::vector<Split*> sleepers;

  std::array<std::shared_ptr<TensorPipe>, 16> pipes;  // by the rank of the (first) CTA
};

}  // namespace bwgemm::vgpu
