// SPDX-License-Identifier: Apache-2.0
// cp.async: threads' copies of 4 to 16 bytes from global to shared memory, their groups, and
// arrivals that come when they are done. A lane's copies are numbered; they are ordinary writes,
// which a thread knows of when it has waited for them.
#include <cstring>
#include <deque>

#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {

struct LaneCopies {
  Entity entity = 0;  // its times are numbers of copies, from 1
  Time issued = 0;
  std::vector<Time> groups;  // the last copy of each
};

// Those of one warp, done in their order.
class CopyQueue : public AsyncTask {
 public:
  explicit CopyQueue(Warp& warp) : warp_(warp) {}

  struct Copy {
    const Instruction* instruction;
    int lane;
    Time number;  // of its lane's last copy
    std::uint32_t offset;
    std::vector<std::byte> bytes;  // none: an arrival on the mbarrier there
  };

  LaneCopies lanes[warp_lanes];

  LaneCopies& of(int lane) {
    if (lanes[lane].entity == 0)
      lanes[lane].entity =
          warp_.cta.cluster.new_entity(Cluster::EntityKind::copies, warp_.cta.rank, warp_.index);
    return lanes[lane];
  }
  void push(Copy copy) { queue_.push_back(std::move(copy)); }
  bool has(int lane, Time until) const {
    for (const Copy& copy : queue_)
      if (copy.lane == lane && copy.number <= until) return true;
    return false;
  }
  std::vector<Split*> sleepers;

  bool step() override {
    const Copy copy = std::move(queue_.front());
    queue_.pop_front();
    Simulation& simulation = warp_.simulation;
    if (copy.bytes.empty()) {
      View view;
      view.generic.raise(lanes[copy.lane].entity, copy.number);
      arrive(
          simulation,
          find_mbarrier(simulation, warp_.cta, copy.offset, "cp.async's arrival", copy.instruction),
          1, &view, copy.instruction);
    } else {
      const auto size = static_cast<std::uint32_t>(copy.bytes.size());
      std::memcpy(&warp_.cta.shared[copy.offset], copy.bytes.data(), size);
      warp_.cta.shadow.end_async_write(copy.offset, size, lanes[copy.lane].entity, copy.number,
                                       true);
    }
    simulation.wake_all(sleepers);
    return !queue_.empty();
  }
  bool belongs_to(const Cluster& cluster) const override { return &warp_.cta.cluster == &cluster; }
  Work work() const override { return {.kind = Work::Kind::copies, .issuer = &warp_}; }
  void check_exit(const Cta& cta) override {
    if (&cta == &warp_.cta)
      warp_.simulation.findings().fatal("copy-exit",
                                        warp_.name() + " has copies in flight when its CTA exits",
                                        queue_.front().instruction);
  }

 private:
  Warp& warp_;
  std::deque<Copy> queue_;
};

namespace {

CopyQueue& queue_of(Warp& warp) {
  if (!warp.copies) warp.copies = std::make_shared<CopyQueue>(warp);
  return *warp.copies;
}

// The source is read when it is issued: what may change it meanwhile is a race all the same.
Step issue(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  CopyQueue& queue = queue_of(warp);
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t size = instruction.size;
    const std::uint32_t to = shared_address(warp, instruction, lane);
    const std::uint64_t from =
        lanes<std::uint64_t>(warp, instruction.b)[lane] +
        static_cast<std::uint64_t>(static_cast<std::int64_t>(instruction.source_displacement));
    const std::uint32_t count =
        instruction.c.exists() ? lanes<std::uint32_t>(warp, instruction.c)[lane] : size;
    if (from % size != 0 || count > size)
      fail(warp, instruction, "misaligned",
           std::to_string(count) + " of " + std::to_string(size) + " bytes at global " +
               hexadecimal(from));
    if (&simulation.cta_at(warp.cta, to, &instruction) != &warp.cta)
      fail(warp, instruction, "shared-bounds", "cp.async into another CTA");
    const std::uint32_t offset = to & offset_mask;
    std::byte* memory = simulation.shared(warp.cta, offset, size, size, &instruction);
    std::vector<std::byte> bytes(size);
    if (count > 0) {
      std::memcpy(bytes.data(), simulation.global(from, count, false, &instruction), count);
      simulation.check_initialised(from, count, &instruction);
      simulation.global_shadow().read({warp, lane, &instruction, "cp.async"}, from, count);
    }
    warp.cta.shadow.begin_async_write({warp, lane, &instruction, "cp.async"}, offset, size);
    if (simulation.options().adversarial)
      std::memset(memory, static_cast<int>(Allocation::poison), size);
    queue.push({&instruction, lane, ++queue.of(lane).issued, offset, std::move(bytes)});
  });
  simulation.schedule(warp.copies);
  return Step::next;
}

Step commit_copies(Warp& warp, const Instruction&, LaneMask mask) {
  for_each_lane(mask, [&](int lane) {
    LaneCopies& copies = queue_of(warp).of(lane);
    copies.groups.push_back(copies.issued);
  });
  return Step::next;
}

constexpr std::uint32_t waits_for_all = 1;

// Without a queue there is nothing to wait for.
Step wait_for_copies(Warp& warp, const Instruction& instruction, LaneMask mask) {
  if (!warp.copies) return Step::next;
  CopyQueue& queue = *warp.copies;
  const auto allowed = static_cast<std::size_t>(instruction.displacement);
  const auto last = [&](int lane) -> Time {
    const LaneCopies& copies = queue.of(lane);
    if (instruction.modifiers & waits_for_all) return copies.issued;
    return copies.groups.size() > allowed ? copies.groups.end()[-1 - instruction.displacement] : 0;
  };
  bool is_pending = false;
  for_each_lane(mask, [&](int lane) { is_pending |= queue.has(lane, last(lane)); });
  if (is_pending) {
    queue.sleepers.push_back(warp.current);
    warp.simulation.sleep(warp.current, "cp.async groups, but",
                          static_cast<std::uint32_t>(allowed));
    return Step::retry;
  }
  for_each_lane(mask, [&](int lane) {
    View done;
    done.generic.raise(queue.of(lane).entity, last(lane));
    warp.knowledge.acquire(1u << lane, warp.live, done);
  });
  return Step::next;
}

constexpr std::uint32_t noinc = 1;

Step arrive_behind(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t offset = shared_address(warp, instruction, lane) & offset_mask;
    MBarrier& barrier =
        find_mbarrier(simulation, warp.cta, offset, "cp.async.mbarrier.arrive", &instruction);
    warp.cta.shadow.use_barrier({warp, lane, &instruction, "use of an mbarrier"}, offset, false);
    if (!(instruction.modifiers & noinc)) ++barrier.pending;
    CopyQueue& queue = queue_of(warp);
    queue.push({&instruction, lane, queue.of(lane).issued, offset, {}});
  });
  simulation.schedule(warp.copies);
  return Step::next;
}

// cp.async.{ca,cg}.shared.global [to], [from], bytes{, bytes that are not zero}{, policy}
void decode_issue(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const bool only_16 = decoder.one_of({"ca", "cg"}) == 1;
  decoder.one_of({"shared", "shared::cta"});
  decoder.expect("global");
  const bool has_policy = decode_cache_hints(decoder);
  instruction.b = decoder.address(1, 8);
  instruction.source_displacement = static_cast<std::int32_t>(instruction.displacement);
  instruction.a = decoder.address(0, 4);
  instruction.size = static_cast<std::uint32_t>(decoder.immediate(2));
  const std::uint32_t size = instruction.size;
  if (size != 16 && (only_16 || (size != 4 && size != 8))) decoder.fail("size not supported");
  const std::size_t end = decoder.operands() - (has_policy ? 1 : 0);
  if (end > 3) instruction.c = decoder.source(3, 4);
  if (has_policy) decoder.source(end, 8);
  narrow_granule(decoder.program().shared_granule, 4);
  narrow_granule(decoder.program().global_granule, 4);
  instruction.execute = issue;
}

}  // namespace

bool decode_copy_async(Decoder& decoder) {
  if (decoder.base() != "cp" || decoder.has("bulk") || !decoder.take("async")) return false;
  Instruction& instruction = decoder.instruction;
  if (decoder.take("commit_group")) {
    instruction.execute = commit_copies;
  } else if (decoder.take("wait_all")) {
    instruction.modifiers = waits_for_all;
    instruction.execute = wait_for_copies;
  } else if (decoder.take("wait_group")) {
    instruction.displacement = decoder.immediate(0);
    instruction.execute = wait_for_copies;
  } else if (decoder.take("mbarrier")) {
    decoder.expect("arrive");
    if (decoder.take("noinc")) instruction.modifiers = noinc;
    decoder.one_of({"shared", "shared::cta"});
    if (decoder.type() != Type::b64) decoder.fail("type .b64 expected");
    instruction.a = decoder.address(0, 4);
    instruction.execute = arrive_behind;
  } else {
    decode_issue(decoder);
  }
  return true;
}

}  // namespace bwgemm::vgpu
