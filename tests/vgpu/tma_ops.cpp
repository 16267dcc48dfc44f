// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor and the bulk groups: issue, commit, wait.
#include <cstring>

#include "vgpu/memory_access.h"
#include "vgpu/tma.h"

namespace bwgemm::vgpu {
namespace {

enum : std::uint32_t { multicast = 1, pair = 2, cluster_destination = 4 };
constexpr std::uint64_t map_alignment = 64;
constexpr std::uint32_t shared_alignment = 128;

TensorMapFields map_at(Warp& warp, const Instruction& instruction, int lane) {
  Simulation& simulation = warp.simulation;
  const std::uint64_t address = lanes<std::uint64_t>(warp, instruction.b)[lane];
  if (address % map_alignment != 0)
    simulation.findings().fatal("tensor-map", "a tensor map at " + hexadecimal(address),
                                &instruction);
  TensorMapBytes bytes;
  std::memcpy(bytes.data(), simulation.global(address, sizeof bytes, false, &instruction),
              sizeof bytes);
  const auto map = decode(bytes);
  if (!map) simulation.findings().fatal("tensor-map", "this is no tensor map", &instruction);
  for (std::uint32_t i = 0; i < map->rank; ++i)
    if (map->element_stride[i] != 1)
      simulation.findings().fatal("tensor-map", "element strides are not modelled", &instruction);
  return *map;
}

// The box of a lane. Swizzled boxes begin where the pattern of their swizzle does.
Box box_at(Warp& warp, const Instruction& instruction, int lane, std::uint32_t offset) {
  const TensorMapFields map = map_at(warp, instruction, lane);
  const auto& list = warp.simulation.program().lists[instruction.list];
  if (list.size() != map.rank)
    warp.simulation.findings().fatal(
        "tensor-map", "coordinates for a tensor of rank " + std::to_string(map.rank), &instruction);
  static constexpr std::uint32_t periods[] = {shared_alignment, 256, 512, 1024};
  if (offset % periods[static_cast<int>(map.swizzle)] != 0)
    warp.simulation.findings().fatal("tma-alignment", "shared " + hexadecimal(offset),
                                     &instruction);
  std::vector<std::int32_t> coordinates;
  for (const Operand& operand : list)
    coordinates.push_back(lanes<std::int32_t>(warp, operand)[lane]);
  return Box(map, coordinates, offset);
}

std::uint32_t destinations_at(Warp& warp, const Instruction& instruction, int lane,
                              const Cta& named) {
  if (!(instruction.modifiers & multicast)) return 1u << named.rank;
  const std::uint32_t mask = lanes<std::uint16_t>(warp, instruction.e)[lane];
  if (mask == 0 || mask >> warp.cta.cluster.ctas.size() != 0)
    warp.simulation.findings().fatal("multicast",
                                     "mask " + hexadecimal(mask) +
                                         " names no CTA, or one that "
                                         "is not in the cluster",
                                     &instruction);
  return mask;
}

Step issue_load(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    const std::uint32_t barrier = lanes<std::uint32_t>(warp, instruction.c)[lane];
    Cta& named = simulation.cta_at(warp.cta, address, &instruction);
    Cta& barrier_cta = simulation.cta_at(warp.cta, barrier, &instruction);
    const std::uint32_t flags = instruction.modifiers;
    if (!(flags & cluster_destination) && &named != &warp.cta)
      simulation.findings().fatal("shared-bounds", "a .shared::cta destination in another CTA",
                                  &instruction);
    const std::uint32_t apart = named.rank ^ barrier_cta.rank;
    if (!(flags & multicast) && (flags & pair ? apart > 1 : apart != 0))
      simulation.findings().fatal("tma-barrier",
                                  "the mbarrier is in CTA rank " +
                                      std::to_string(barrier_cta.rank) + ", the destination in " +
                                      std::to_string(named.rank),
                                  &instruction);
    simulation.schedule(std::make_shared<TmaLoad>(
        simulation, warp, lane, instruction, box_at(warp, instruction, lane, address & offset_mask),
        destinations_at(warp, instruction, lane, named), barrier, (flags & pair) != 0));
  });
  return Step::next;
}

Step issue_store(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    if (&simulation.cta_at(warp.cta, address, &instruction) != &warp.cta)
      simulation.findings().fatal("shared-bounds", "a TMA store from another CTA", &instruction);
    simulation.schedule(
        std::make_shared<TmaStore>(simulation, warp, lane, instruction,
                                   box_at(warp, instruction, lane, address & offset_mask)));
  });
  return Step::next;
}

Step commit_group(Warp& warp, const Instruction&, LaneMask mask) {
  for_each_lane(mask, [&](int lane) {
    BulkGroups& groups = warp.bulk_groups(lane);
    groups.committed.push_back(groups.open);
    groups.open = {};
  });
  return Step::next;
}

constexpr std::uint32_t only_reads = 1;

Step wait_group(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto allowed = static_cast<std::size_t>(instruction.displacement);
  const bool reads = instruction.modifiers & only_reads;
  BulkGroups* pending = nullptr;
  for_each_lane(mask, [&](int lane) {
    if (!warp.bulk[lane]) return;
    BulkGroups& groups = *warp.bulk[lane];
    for (std::size_t i = 0; i + allowed < groups.committed.size(); ++i)
      if (groups.committed[i].reading > 0 || (!reads && groups.committed[i].writing > 0))
        pending = &groups;
  });
  if (pending) {
    pending->sleepers.push_back(warp.current);
    warp.simulation.sleep(warp.current, "bulk groups, but", static_cast<std::uint32_t>(allowed));
    return Step::retry;
  }
  for_each_lane(mask, [&](int lane) {
    if (!warp.bulk[lane]) return;
    BulkGroups& groups = *warp.bulk[lane];
    if (groups.committed.size() <= allowed) return;
    const auto last = static_cast<Time>(groups.committed.size() - allowed);
    View done;
    done.raise(groups.reads, last);
    if (!reads) done.raise(groups.writes, last);
    warp.knowledge.acquire(1u << lane, warp.live, done);
  });
  return Step::next;
}

void decode_tensor_copy(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const std::size_t rank =
      static_cast<std::size_t>(decoder.one_of({"1d", "2d", "3d", "4d", "5d"})) + 1;
  decoder.take("tile");
  const bool has_policy = decoder.take("L2::cache_hint");
  std::size_t operands = 0;
  if (decoder.take("bulk_group")) {
    decoder.expect("global");
    decoder.expect("shared::cta");
    instruction.b = decoder.tensor_coordinates(0);
    instruction.a = decoder.plain_address(1, 4);
    operands = 2;
    instruction.execute = issue_store;
  } else {
    decoder.expect("mbarrier::complete_tx::bytes");
    decoder.expect("global");
    if (decoder.one_of({"shared::cta", "shared::cluster"}) == 1)
      instruction.modifiers |= cluster_destination;
    if (decoder.take("multicast::cluster")) instruction.modifiers |= multicast;
    if (decoder.take("cta_group::2")) instruction.modifiers |= pair;
    decoder.take("cta_group::1");
    instruction.a = decoder.plain_address(0, 4);
    instruction.b = decoder.tensor_coordinates(1);
    instruction.c = decoder.plain_address(2, 4);
    operands = 3;
    if (instruction.modifiers & multicast) instruction.e = decoder.source(operands++, 2);
    instruction.execute = issue_load;
  }
  if (has_policy) decoder.source(operands, 8);
  if (decoder.list(instruction.list).size() != rank) decoder.fail("coordinates of another rank");
}

}  // namespace

bool decode_tma(Decoder& decoder) {
  if (decoder.base() != "cp") return false;
  decoder.expect("async");
  decoder.expect("bulk");
  Instruction& instruction = decoder.instruction;
  if (decoder.take("commit_group")) {
    instruction.execute = commit_group;
  } else if (decoder.take("wait_group")) {
    if (decoder.take("read")) instruction.modifiers = only_reads;
    instruction.displacement = decoder.immediate(0);
    instruction.execute = wait_group;
  } else {
    decoder.expect("tensor");
    decode_tensor_copy(decoder);
  }
  return true;
}

}  // namespace bwgemm::vgpu
