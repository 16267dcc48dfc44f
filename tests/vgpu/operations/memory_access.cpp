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
    if (bytes == sizeof value)
      std::memcpy(&value, from, sizeof value);
    else
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

// Where the lanes of an access lie, each with so many bytes, a power of two.
struct Places {
  std::uint64_t of[warp_lanes];
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  std::uint64_t ones = 0;  // bits that some address has

  Places(Warp& warp, const Instruction& instruction, LaneMask mask) {
    for_each_lane(mask, [&](int lane) {
      const std::uint64_t at = address_of(warp, instruction, instruction.a, lane);
      of[lane] = at;
      lowest = std::min(lowest, at);
      highest = std::max(highest, at);
      ones |= at;
    });
  }
};

// The bytes of one lane after the other, to and from its registers.
template <class T>
void move_lanes(T* registers, std::byte* const* memory, std::size_t offset, LaneMask mask,
                bool stores) {
  if (stores)
    for_each_lane(
        mask, [&](int lane) { std::memcpy(memory[lane] + offset, &registers[lane], sizeof(T)); });
  else
    for_each_lane(
        mask, [&](int lane) { std::memcpy(&registers[lane], memory[lane] + offset, sizeof(T)); });
}

void move_vectors(Warp& warp, const Instruction& instruction, std::byte* const* memory,
                  LaneMask mask, bool stores) {
  const auto& list = vector_of(warp, instruction);
  for (std::size_t i = 0, offset = 0; i < list.size(); ++i, offset += instruction.size) {
    const Operand& operand = list[i];
    const bool is_as_wide = operand.bytes == instruction.size;
    if (is_as_wide && operand.bytes == 4)
      move_lanes(lanes<std::uint32_t>(warp, operand), memory, offset, mask, stores);
    else if (is_as_wide && operand.bytes == 8)
      move_lanes(lanes<std::uint64_t>(warp, operand), memory, offset, mask, stores);
    else if (is_as_wide && operand.bytes == 2)
      move_lanes(lanes<std::uint16_t>(warp, operand), memory, offset, mask, stores);
    else
      for_each_lane(mask, [&](int lane) {
        const std::vector<Operand> one{operand};
        if (stores)
          gather(warp, one, instruction.size, lane, memory[lane] + offset);
        else
          scatter(warp, one, instruction.size, lane, memory[lane] + offset);
      });
  }
}

// The bytes of each lane. Those of all at once, where all are within one allocation.
class GlobalPlaces : public Places {
 public:
  GlobalPlaces(Warp& warp, const Instruction& instruction, LaneMask mask, std::uint32_t bytes,
               bool writes)
      : Places(warp, instruction, mask),
        warp_(warp),
        instruction_(instruction),
        bytes_(bytes),
        writes_(writes) {
    if ((ones & (bytes - 1)) == 0)
      allocation_ = warp.simulation.find_global(lowest, highest - lowest + bytes, writes);
    if (allocation_ && !writes && highest - lowest <= most_at_once)
      are_written_ = allocation_->is_initialised(lowest, highest - lowest + bytes);
  }

  std::byte* memory(int lane) {
    Simulation& simulation = warp_.simulation;
    const std::uint64_t address = of[lane];
    if ((address & (bytes_ - 1)) != 0)
      fail(warp_, instruction_, "misaligned",
           std::to_string(bytes_) + " bytes at global " + hexadecimal(address));
    if (!allocation_) {
      std::byte* const bytes = simulation.global(address, bytes_, writes_, &instruction_);
      if (!writes_) simulation.check_initialised(address, bytes_, &instruction_);
      return bytes;
    }
    if (writes_)
      allocation_->mark_initialised(address, bytes_);
    else if (!are_written_)
      simulation.check_initialised(address, bytes_, &instruction_);
    return allocation_->host(address);
  }

 private:
  static constexpr std::uint64_t most_at_once = 4096;

  Warp& warp_;
  const Instruction& instruction_;
  std::uint32_t bytes_;
  bool writes_;
  Allocation* allocation_ = nullptr;  // that contains all
  bool are_written_ = false;          // all from the lowest to the highest
};

Step load_global(Warp& warp, const Instruction& instruction, LaneMask mask) {
  GlobalShadow& shadow = warp.simulation.global_shadow();
  const auto bytes =
      static_cast<std::uint32_t>(instruction.size * vector_of(warp, instruction).size());
  const Ordering ordering = Ordering::from_bits(instruction.modifiers);
  GlobalPlaces places(warp, instruction, mask, bytes, false);
  std::byte* memory[warp_lanes];
  for_each_lane(mask, [&](int lane) {
    memory[lane] = places.memory(lane);
    if (ordering.strong) observe(warp, 1u << lane, places.of[lane], ordering);
    shadow.read({warp, lane, &instruction, "load", ordering.strong}, places.of[lane], bytes);
  });
  move_vectors(warp, instruction, memory, mask, false);
  return Step::next;
}

Step store_global(Warp& warp, const Instruction& instruction, LaneMask mask) {
  GlobalShadow& shadow = warp.simulation.global_shadow();
  const auto bytes =
      static_cast<std::uint32_t>(instruction.size * vector_of(warp, instruction).size());
  const Ordering ordering = Ordering::from_bits(instruction.modifiers);
  GlobalPlaces places(warp, instruction, mask, bytes, true);
  std::byte* memory[warp_lanes];
  for_each_lane(mask, [&](int lane) {
    memory[lane] = places.memory(lane);
    shadow.write({warp, lane, &instruction, "store", ordering.strong}, places.of[lane], bytes);
    shadow.forget(places.of[lane]);
  });
  move_vectors(warp, instruction, memory, mask, true);
  if (!ordering.strong) return Step::next;
  const View released = ordering.releases ? warp.release(mask) : View();
  for_each_lane(mask,
                [&](int lane) { publish(warp, 1u << lane, places.of[lane], ordering, released); });
  return Step::next;
}

// Shared memory of one's own CTA is mostly within bounds for all lanes at once.
template <class Judge>
void for_shared(Warp& warp, const Instruction& instruction, LaneMask mask, bool stores,
                Judge judge) {
  const auto bytes =
      static_cast<std::uint32_t>(instruction.size * vector_of(warp, instruction).size());
  const Places places(warp, instruction, mask);
  const auto lowest = static_cast<std::uint32_t>(places.lowest) & offset_mask;
  const auto highest = static_cast<std::uint32_t>(places.highest) & offset_mask;
  const std::uint64_t own = std::uint64_t{warp.cta.rank} << rank_shift;
  const bool are_own = places.lowest - lowest == own && places.highest - highest == own;
  std::byte* first = nullptr;  // of the lowest, if all are fine
  if (are_own && lowest >= shared_base && highest + bytes <= warp.cta.shared.size() &&
      (places.ones & (bytes - 1)) == 0)
    first = warp.cta.shared.reach(lowest, highest + bytes - lowest);
  std::byte* memory[warp_lanes];
  for_each_lane(mask, [&](int lane) {
    const auto address = static_cast<std::uint32_t>(places.of[lane]);
    const std::uint32_t offset = address & offset_mask;
    Cta& cta = first ? warp.cta : reached_cta(warp, instruction, address);
    memory[lane] = first ? first + (offset - lowest)
                         : warp.simulation.shared(cta, offset, bytes, bytes, &instruction);
    judge(cta, lane, offset, bytes);
  });
  move_vectors(warp, instruction, memory, mask, stores);
}

Step load_shared(Warp& warp, const Instruction& instruction, LaneMask mask) {
  for_shared(warp, instruction, mask, false,
             [&](Cta& cta, int lane, std::uint32_t offset, std::uint32_t bytes) {
               cta.shadow.read({warp, lane, &instruction, "load"}, offset, bytes);
             });
  return Step::next;
}

Step store_shared(Warp& warp, const Instruction& instruction, LaneMask mask) {
  for_shared(warp, instruction, mask, true,
             [&](Cta& cta, int lane, std::uint32_t offset, std::uint32_t bytes) {
               cta.shadow.write({warp, lane, &instruction, "store"}, offset, bytes);
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
  if (decoder.take("v2")) return 2;
  if (decoder.take("v4")) return 4;
  return decoder.take("v8") ? 8 : 1;
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
