// SPDX-License-Identifier: Apache-2.0
// ld and st: parameters, global and shared memory.
#include "vgpu/operations/memory_access.h"

#include <algorithm>

#include "vgpu/operations/alu.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t most_vector_bytes = 32;

const std::vector<Operand>& vector_of(Warp& warp, const Instruction& instruction) {
  return warp.simulation.program().lists[instruction.list];
}

// A value of `bytes` into a register of all lanes of the mask.
void spread(Warp& warp, const Operand& operand, std::uint32_t bytes, const std::byte* from,
            LaneMask mask) {
  const auto into = [&](auto value) {
    std::memcpy(&value, from, bytes);
    auto* d = lanes<decltype(value)>(warp, operand);
    over_lanes(mask, [&](int lane) { d[lane] = value; });
  };
  switch (operand.bytes) {
    case 1: return into(std::uint8_t{});
    case 2: return into(std::uint16_t{});
    case 4: return into(std::uint32_t{});
    case 8: return into(std::uint64_t{});
    default: return into((unsigned __int128){});
  }
}

Step load_parameter(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto& list = vector_of(warp, instruction);
  const auto& parameters = warp.simulation.parameters();
  const std::size_t bytes = instruction.size * list.size();
  const auto source = [&](int lane) {
    const std::uint64_t at = address_of(warp, instruction, instruction.a, lane);
    if (at > parameters.size() || bytes > parameters.size() - at)
      fail(warp, instruction, "parameter-bounds", "at " + hexadecimal(at));
    return &parameters[at];
  };
  if (instruction.a.kind == Operand::Kind::constants) {  // the same for all
    const std::byte* from = source(0);
    for (const Operand& operand : list) {
      spread(warp, operand, instruction.size, from, mask);
      from += instruction.size;
    }
  } else {
    for_each_lane(mask,
                  [&](int lane) { scatter(warp, list, instruction.size, lane, source(lane)); });
  }
  return Step::next;
}

std::uint64_t global_address(Warp& warp, const Instruction& instruction, int lane,
                             std::uint32_t bytes) {
  const std::uint64_t address = address_of(warp, instruction, instruction.a, lane);
  if (address % bytes != 0)
    fail(warp, instruction, "misaligned",
         std::to_string(bytes) + " bytes at global " + hexadecimal(address));
  return address;
}

Step load_global(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  const auto& list = vector_of(warp, instruction);
  const auto bytes = static_cast<std::uint32_t>(instruction.size * list.size());
  const Ordering ordering = Ordering::from_bits(instruction.modifiers);
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = global_address(warp, instruction, lane, bytes);
    const std::byte* from = simulation.global(address, bytes, false, &instruction);
    simulation.check_initialised(address, bytes, &instruction);
    if (ordering.strong) observe(warp, 1u << lane, address, ordering);
    simulation.global_shadow().read({warp, lane, &instruction, "load", ordering.strong}, address,
                                    bytes);
    scatter(warp, list, instruction.size, lane, from);
  });
  return Step::next;
}

Step store_global(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  const auto& list = vector_of(warp, instruction);
  const auto bytes = static_cast<std::uint32_t>(instruction.size * list.size());
  const Ordering ordering = Ordering::from_bits(instruction.modifiers);
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = global_address(warp, instruction, lane, bytes);
    std::byte* to = simulation.global(address, bytes, true, &instruction);
    simulation.global_shadow().write({warp, lane, &instruction, "store", ordering.strong}, address,
                                     bytes);
    simulation.global_shadow().forget(address);
    gather(warp, list, instruction.size, lane, to);
  });
  if (!ordering.strong) return Step::next;
  const View released = ordering.releases ? warp.release(mask) : View();
  for_each_lane(mask, [&](int lane) {
    publish(warp, 1u << lane, global_address(warp, instruction, lane, bytes), ordering, released);
  });
  return Step::next;
}

Step load_shared(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto& list = vector_of(warp, instruction);
  const auto bytes = static_cast<std::uint32_t>(instruction.size * list.size());
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    Cta& cta = reached_cta(warp, instruction, address);
    const std::uint32_t offset = address & offset_mask;
    const std::byte* from = warp.simulation.shared(cta, offset, bytes, bytes, &instruction);
    cta.shadow.read({warp, lane, &instruction, "load"}, offset, bytes);
    scatter(warp, list, instruction.size, lane, from);
  });
  return Step::next;
}

Step store_shared(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto& list = vector_of(warp, instruction);
  const auto bytes = static_cast<std::uint32_t>(instruction.size * list.size());
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    Cta& cta = reached_cta(warp, instruction, address);
    const std::uint32_t offset = address & offset_mask;
    std::byte* to = warp.simulation.shared(cta, offset, bytes, bytes, &instruction);
    cta.shadow.write({warp, lane, &instruction, "store"}, offset, bytes);
    gather(warp, list, instruction.size, lane, to);
  });
  return Step::next;
}

enum class Space { parameter, global, shared, cluster_shared };

Space decode_space(Decoder& decoder) {
  switch (decoder.one_of({"param", "global", "shared", "shared::cta", "shared::cluster"})) {
    case 0: return Space::parameter;
    case 1: return Space::global;
    case 4: return Space::cluster_shared;
    default: return Space::shared;
  }
}

void decode_access(Decoder& decoder, bool stores) {
  Instruction& instruction = decoder.instruction;
  const Space space = decode_space(decoder);
  const Ordering ordering = decode_ordering(decoder);
  const bool has_policy = decode_cache_hints(decoder);
  const std::uint32_t width = decode_vector_width(decoder);
  const Type type = decoder.type();
  if (type == Type::pred) decoder.fail("type not supported");
  instruction.size = size_bytes(type);
  if (is_signed(type) && instruction.size < 4) decoder.fail("sign extension is not supported");
  if (instruction.size * width > most_vector_bytes) decoder.fail("vector too wide");
  const bool is_shared = space == Space::shared || space == Space::cluster_shared;
  if (ordering.strong && space != Space::global) decoder.fail("only global memory has these");
  instruction.modifiers = ordering.bits() | (space == Space::cluster_shared ? remote_bit : 0);
  instruction.a = decoder.address(stores ? 0 : 1, is_shared ? 4 : 8);
  instruction.list =
      stores ? decoder.sources(1, instruction.size) : decoder.destinations(0, instruction.size);
  if (decoder.list(instruction.list).size() != width) decoder.fail("vector of another size");
  if (has_policy) decoder.source(2, 8);
  if (is_shared) narrow_granule(decoder.program().shared_granule, instruction.size * width);
  if (space == Space::global)
    narrow_granule(decoder.program().global_granule, instruction.size * width);
  if (space == Space::parameter && stores) decoder.fail("not supported");
  instruction.execute = space == Space::parameter ? load_parameter
                        : is_shared               ? (stores ? store_shared : load_shared)
                                                  : (stores ? store_global : load_global);
}

}  // namespace

Cta& reached_cta(Warp& warp, const Instruction& instruction, std::uint32_t address) {
  Cta& cta = warp.simulation.cta_at(warp.cta, address, &instruction);
  if (&cta == &warp.cta) return cta;
  if (!(instruction.modifiers & remote_bit))
    fail(warp, instruction, "shared-bounds", "a .shared::cta access to another CTA");
  if (cta.exited)
    fail(warp, instruction, "exited-peer", "an access to shared memory of an exited CTA");
  cta.remote_accesses.raise(warp.entity, warp.time);
  return cta;
}

std::uint32_t decode_vector_width(Decoder& decoder) {
  for (const std::uint32_t width : {2u, 4u, 8u})
    if (decoder.take("v" + std::to_string(width))) return width;
  return 1;
}

bool decode_cache_hints(Decoder& decoder) {
  for (const char* hint : {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"}) decoder.take(hint);
  for (const char* hint : {"evict_first", "evict_last", "evict_normal", "evict_unchanged",
                           "no_allocate", "64B", "128B", "256B"})
    for (const char* level : {"L1::", "L2::"}) decoder.take(std::string(level) + hint);
  return decoder.take("L2::cache_hint");
}

Scope decode_scope(Decoder& decoder) {
  return static_cast<Scope>(std::min(decoder.one_of({"cta", "cluster", "gpu", "sys"}), 2));
}

Ordering decode_ordering(Decoder& decoder) {
  Ordering ordering;
  if (decoder.take("weak")) return ordering;
  if (decoder.take("volatile")) return {true, false, false, Scope::gpu};
  const bool both = decoder.take("acq_rel");
  ordering.acquires = both || decoder.take("acquire");
  ordering.releases = both || decoder.take("release");
  ordering.strong = ordering.acquires || ordering.releases || decoder.take("relaxed");
  if (ordering.strong) ordering.scope = decode_scope(decoder);
  return ordering;
}

void observe(Warp& warp, LaneMask lane, std::uint64_t address, const Ordering& ordering) {
  const GlobalShadow& shadow = warp.simulation.global_shadow();
  const int widest = static_cast<int>(ordering.scope);
  for (int scope = ordering.acquires ? widest : 0; scope <= widest; ++scope) {
    const View view = shadow.published(warp, address, static_cast<Scope>(scope));
    if (view.generic.times().empty() && !view.generic.foreign()) continue;
    warp.knowledge.for_lanes(lane, warp.live, [&](Knowledge& knowledge) {
      (ordering.acquires ? knowledge.view : knowledge.observed[scope]).join(view);
    });
  }
}

void publish(Warp& warp, LaneMask lane, std::uint64_t address, const Ordering& ordering,
             const View& released) {
  GlobalShadow& shadow = warp.simulation.global_shadow();
  if (ordering.releases) {
    shadow.publish(warp, address, ordering.scope, released);
    return;
  }
  const Knowledge& knowledge = warp.knowledge.of_lane(__builtin_ctz(lane));
  if (knowledge.fenced)
    shadow.publish(
        warp, address,
        static_cast<Scope>(std::min(knowledge.fence_scope, static_cast<int>(ordering.scope))),
        *knowledge.fenced);
}

void narrow_granule(std::uint32_t& granule, std::uint32_t bytes) {
  granule = std::min(granule, bytes);
}

bool decode_memory(Decoder& decoder) {
  if (decoder.base() != "ld" && decoder.base() != "st") return false;
  decode_access(decoder, decoder.base() == "st");
  return true;
}

}  // namespace bwgemm::vgpu
