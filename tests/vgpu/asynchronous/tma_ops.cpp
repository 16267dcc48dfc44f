// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk, cp.reduce.async.bulk, tensors and plain bytes, and the bulk groups: issue, commit,
// wait. Plain bytes are a box of rows of 16 bytes.
#include <cstring>

#include "vgpu/asynchronous/tma.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

enum : std::uint32_t {
  multicast = 1,
  pair = 2,
  cluster_destination = 4,
  plain = 8,         // no tensor map; the list is one operand, the number of bytes
  from_shared = 16,  // plain, from this CTA's shared memory
  reduces = 32,      // with what follows
};
constexpr int tma_atomic_shift = 8;
constexpr std::uint64_t map_alignment = 64;
constexpr std::uint32_t shared_alignment = 128;

TensorMapFields map_at(Warp& warp, const Instruction& instruction, int lane) {
  const std::uint64_t address = lanes<std::uint64_t>(warp, instruction.b)[lane];
  if (address % map_alignment != 0)
    fail(warp, instruction, "tensor-map", "a tensor map at " + hexadecimal(address));
  TensorMapBytes bytes;
  std::memcpy(bytes.data(), warp.simulation.global(address, sizeof bytes, false, &instruction),
              sizeof bytes);
  const auto map = decode(bytes);
  if (!map) fail(warp, instruction, "tensor-map", "this is no tensor map");
  for (std::uint32_t i = 0; i < map->rank; ++i)
    if (map->element_stride[i] != 1)
      fail(warp, instruction, "tensor-map", "element strides are not modelled");
  return *map;
}

// Bytes in a row, as boxes see them.
Box plain_box(Warp& warp, const Instruction& instruction, int lane, std::uint32_t offset) {
  const Operand& size = warp.simulation.program().lists[instruction.list][0];
  const std::uint32_t bytes = lanes<std::uint32_t>(warp, size)[lane];
  const std::uint64_t address = instruction.b.bytes == 8
                                    ? lanes<std::uint64_t>(warp, instruction.b)[lane]
                                    : lanes<std::uint32_t>(warp, instruction.b)[lane] & offset_mask;
  if (bytes == 0 || (bytes | offset | address) % Box::chunk_bytes != 0)
    fail(warp, instruction, "tma-alignment",
         std::to_string(bytes) + " bytes at shared " + hexadecimal(offset) + ", " +
             hexadecimal(address));
  TensorMapFields map{};
  map.address = address;
  map.rank = 2;
  map.element = TensorElement::u8;
  map.box = {Box::chunk_bytes, bytes / Box::chunk_bytes, 1, 1, 1};
  map.extent = {map.box[0], map.box[1], 1, 1, 1};
  map.stride[0] = Box::chunk_bytes;
  return Box(map, {0, 0}, offset);
}

// The box of a lane. Swizzled boxes begin where the pattern of their swizzle does.
Box box_at(Warp& warp, const Instruction& instruction, int lane, std::uint32_t offset) {
  if (instruction.modifiers & plain) return plain_box(warp, instruction, lane, offset);
  const TensorMapFields map = map_at(warp, instruction, lane);
  const auto& list = warp.simulation.program().lists[instruction.list];
  if (list.size() != map.rank)
    fail(warp, instruction, "tensor-map",
         "coordinates for a tensor of rank " + std::to_string(map.rank));
  static constexpr std::uint32_t periods[] = {shared_alignment, 256, 512, 1024};
  if (offset % periods[static_cast<int>(map.swizzle)] != 0)
    fail(warp, instruction, "tma-alignment", "shared " + hexadecimal(offset));
  std::vector<std::int32_t> coordinates;
  for (const Operand& operand : list)
    coordinates.push_back(lanes<std::int32_t>(warp, operand)[lane]);
  // An illegal instruction (seen on an H200, 2026-11-21).
  if (static_cast<std::uint32_t>(coordinates[0]) * size_bytes(map.element) % Box::chunk_bytes != 0)
    fail(warp, instruction, "tma-alignment",
         "the innermost coordinate " + std::to_string(coordinates[0]) + " is not at 16 bytes");
  return Box(map, coordinates, offset);
}

std::uint32_t destinations_at(Warp& warp, const Instruction& instruction, int lane,
                              const Cta& named) {
  if (!(instruction.modifiers & multicast)) return 1u << named.rank;
  const std::uint32_t mask = lanes<std::uint16_t>(warp, instruction.e)[lane];
  if (mask == 0 || mask >> warp.cta.cluster.ctas.size() != 0)
    fail(warp, instruction, "multicast",
         "mask " + hexadecimal(mask) + " names no CTA, or one that is not in the cluster");
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
      fail(warp, instruction, "shared-bounds", "a .shared::cta destination in another CTA");
    const std::uint32_t apart = named.rank ^ barrier_cta.rank;
    if (!(flags & multicast) && (flags & pair ? apart > 1 : apart != 0))
      fail(warp, instruction, "tma-barrier",
           "the mbarrier is in CTA rank " + std::to_string(barrier_cta.rank) +
               ", the destination in " + std::to_string(named.rank));
    simulation.schedule(std::make_shared<TmaLoad>(
        simulation, warp, lane, instruction, box_at(warp, instruction, lane, address & offset_mask),
        TmaLoad::Target{destinations_at(warp, instruction, lane, named), barrier,
                        (flags & pair) != 0, (flags & from_shared) != 0}));
  });
  return Step::next;
}

// What elements of a tensor are to a reduction.
Type type_of(TensorElement element) {
  switch (element) {
    case TensorElement::s32: return Type::s32;
    case TensorElement::u64: return Type::u64;
    case TensorElement::s64: return Type::s64;
    case TensorElement::f16: return Type::f16;
    case TensorElement::bf16: return Type::bf16;
    case TensorElement::f32: return Type::f32;
    default: return Type::u32;
  }
}

Step issue_store(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    if (&simulation.cta_at(warp.cta, address, &instruction) != &warp.cta)
      fail(warp, instruction, "shared-bounds", "a TMA store from another CTA");
    Box box = box_at(warp, instruction, lane, address & offset_mask);
    // An illegal instruction (seen on an H200, 2026-11-21).
    if (box.starts_before_the_tensor())
      fail(warp, instruction, "tma-coordinates", "a store to negative coordinates");
    std::optional<Atomic> reduction;
    if (instruction.modifiers & reduces) {
      reduction = Atomic::from_bits(instruction.modifiers >> tma_atomic_shift);
      if (!(instruction.modifiers & plain)) reduction->type = type_of(box.map().element);
    }
    simulation.schedule(
        std::make_shared<TmaStore>(simulation, warp, lane, instruction, std::move(box), reduction));
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

Step prefetch(Warp&, const Instruction&, LaneMask) {
  return Step::next;
}

// The global side: a tensor with coordinates, or an address (and a size, later).
std::size_t decode_rank(Decoder& decoder) {
  if (!decoder.take("tensor")) {
    decoder.instruction.modifiers |= plain;
    return 0;
  }
  const int rank = decoder.one_of({"1d", "2d", "3d", "4d", "5d"}) + 1;
  decoder.take("tile");
  return static_cast<std::size_t>(rank);
}

void decode_store(Decoder& decoder, std::size_t rank) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("global");
  decoder.expect("shared::cta");
  instruction.b = rank ? decoder.tensor_coordinates(0) : decoder.plain_address(0, 8);
  instruction.a = decoder.plain_address(1, 4);
  if (!rank) instruction.list = decoder.sources(2, 4);
  instruction.execute = issue_store;
}

void decode_load(Decoder& decoder, std::size_t rank) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("mbarrier::complete_tx::bytes");
  if (decoder.take("shared::cluster")) instruction.modifiers |= cluster_destination;
  const bool is_local = decoder.take("shared::cta");
  if (!decoder.take("global")) {
    if (rank || !is_local) decoder.fail("a source is missing");
    instruction.modifiers |= from_shared;
  }
  if (decoder.take("multicast::cluster")) instruction.modifiers |= multicast;
  if (rank && decoder.take("cta_group::2")) instruction.modifiers |= pair;
  if (rank) decoder.take("cta_group::1");
  instruction.a = decoder.plain_address(0, 4);
  instruction.b = rank ? decoder.tensor_coordinates(1)
                       : decoder.plain_address(1, instruction.modifiers & from_shared ? 4 : 8);
  if (!rank) instruction.list = decoder.sources(2, 4);
  const std::size_t barrier = rank ? 2 : 3;
  instruction.c = decoder.plain_address(barrier, 4);
  if (instruction.modifiers & multicast) instruction.e = decoder.source(barrier + 1, 2);
  instruction.execute = issue_load;
}

void decode_prefetch(Decoder& decoder, std::size_t rank) {
  decoder.expect("L2");
  decoder.expect("global");
  if (rank)
    decoder.tensor_coordinates(0);
  else
    decoder.plain_address(0, 8), decoder.source(1, 4);
  decoder.instruction.execute = prefetch;
}

void decode_copy(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const bool prefetches = decoder.take("prefetch");
  const std::size_t rank = decode_rank(decoder);
  const bool has_policy = decoder.take("L2::cache_hint");
  if (prefetches) {
    decode_prefetch(decoder, rank);
  } else if (decoder.take("bulk_group")) {
    if (decoder.take("reduce")) {  // elements of tensors have a type without being told
      const Atomic atomic =
          rank ? Atomic{Atomic::decode_operation(decoder), Type::u32} : Atomic::decode(decoder);
      instruction.modifiers |= reduces | atomic.bits() << tma_atomic_shift;
    }
    decode_store(decoder, rank);
  } else {
    decode_load(decoder, rank);
  }
  if (has_policy) decoder.source(decoder.operands() - 1, 8);
  if (rank && decoder.list(instruction.list).size() != rank)
    decoder.fail("coordinates of another rank");
}

}  // namespace

bool decode_tma(Decoder& decoder) {
  if (decoder.base() != "cp" || !decoder.take("bulk")) return false;
  decoder.expect("async");
  Instruction& instruction = decoder.instruction;
  if (decoder.take("commit_group")) {
    instruction.execute = commit_group;
  } else if (decoder.take("wait_group")) {
    if (decoder.take("read")) instruction.modifiers = only_reads;
    instruction.displacement = decoder.immediate(0);
    instruction.execute = wait_group;
  } else {
    decode_copy(decoder);
  }
  return true;
}

}  // namespace bwgemm::vgpu
