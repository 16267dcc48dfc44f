// SPDX-License-Identifier: Apache-2.0
// What lanes of a warp do together: elect, shuffle, synchronise; and addresses of other CTAs.
#include <algorithm>

#include "vgpu/machine/simulation.h"
#include "vgpu/operations/alu.h"
#include "vgpu/operations/atomic.h"

namespace bwgemm::vgpu {
namespace {

// The member mask is the first active lane's; members that are alive must be here.
LaneMask members(Warp& warp, const Instruction& instruction, const Operand& operand,
                 LaneMask mask) {
  const LaneMask members = lanes<std::uint32_t>(warp, operand)[__builtin_ctz(mask)] & warp.live;
  if ((mask & members) != members || (mask & ~members) != 0)
    fail(
        warp, instruction, "divergent",
        "lanes " + hexadecimal(mask) + " execute an instruction for lanes " + hexadecimal(members));
  return members;
}

// Any lane may be elected, but for one mask it is always the same.
Step elect(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const LaneMask candidates = members(warp, instruction, instruction.a, mask);
  int elected = __builtin_ctz(candidates);
  if (warp.simulation.options().adversarial) {
    const std::uint64_t seed = warp.simulation.request().seed + warp.cta.index * 32 + warp.index;
    const auto count = static_cast<std::uint64_t>(__builtin_popcount(candidates));
    LaneMask rest = candidates;
    for (std::uint64_t skip = (seed * 0x9e3779b97f4a7c15ull >> 32) % count; skip > 0; --skip)
      rest &= rest - 1;
    elected = __builtin_ctz(rest);
  }
  set_predicate(warp, instruction.predicate, 1u << elected, mask);
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  over_lanes(mask, [&](int lane) { d[lane] = static_cast<std::uint32_t>(elected); });
  return Step::next;
}

enum class Shuffle : std::uint32_t { index, up, down, butterfly };

Step shuffle(Warp& warp, const Instruction& instruction, LaneMask mask) {
  members(warp, instruction, instruction.e, mask);
  const auto* a = lanes<std::uint32_t>(warp, instruction.a);
  const auto* b = lanes<std::uint32_t>(warp, instruction.b);
  const auto* c = lanes<std::uint32_t>(warp, instruction.c);
  std::uint32_t result[warp_lanes];
  LaneMask in_range = 0;
  for_each_lane(mask, [&](int lane) {
    const int step = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31);
    const int segment = static_cast<int>(c[lane] >> 8 & 31);
    const int first = lane & segment, last = first | (clamp & ~segment);
    int from = lane;
    switch (static_cast<Shuffle>(instruction.modifiers)) {
      case Shuffle::index: from = first | (step & ~segment); break;
      case Shuffle::up: from = lane - step; break;
      case Shuffle::down: from = lane + step; break;
      case Shuffle::butterfly: from = lane ^ step; break;
    }
    const bool up = static_cast<Shuffle>(instruction.modifiers) == Shuffle::up;
    const bool inside = up ? from >= last : from <= last;
    if (!inside) from = lane;
    in_range |= static_cast<LaneMask>(inside) << lane;
    if (!(mask >> from & 1)) fail(warp, instruction, "divergent", "shuffle from an inactive lane");
    result[lane] = a[from];
  });
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  for_each_lane(mask, [&](int lane) { d[lane] = result[lane]; });
  set_predicate(warp, instruction.predicate, in_range, mask);
  return Step::next;
}

Step warp_sync(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const LaneMask members =
      lanes<std::uint32_t>(warp, instruction.a)[__builtin_ctz(mask)] & warp.live;
  if (mask & ~members)
    fail(warp, instruction, "divergent",
         "lanes " + hexadecimal(mask) + " synchronise lanes " + hexadecimal(members));
  if ((mask & members) == members) {
    warp.synchronise();
    return Step::next;
  }
  auto meeting =
      std::find_if(warp.rendezvous.begin(), warp.rendezvous.end(),
                   [&](const WarpRendezvous& other) { return other.members == members; });
  if (meeting == warp.rendezvous.end()) {
    warp.rendezvous.push_back({members, 0, {}});
    meeting = std::prev(warp.rendezvous.end());
  }
  meeting->arrived |= mask;
  if (meeting->arrived != members) {
    meeting->sleepers.push_back(warp.current);
    warp.simulation.sleep(warp.current, "bar.warp.sync of lanes", members);
    return Step::wait;
  }
  warp.synchronise();
  warp.simulation.wake_all(meeting->sleepers);
  warp.rendezvous.erase(meeting);
  return Step::next;
}

Step map_address(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  const auto* a = lanes<std::uint32_t>(warp, instruction.a);
  const auto* rank = lanes<std::uint32_t>(warp, instruction.b);
  over_lanes(mask, [&](int lane) { d[lane] = (a[lane] & offset_mask) | rank[lane] << rank_shift; });
  return Step::next;
}

Step owner_of_address(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  const auto* a = lanes<std::uint32_t>(warp, instruction.a);
  over_lanes(mask, [&](int lane) { d[lane] = a[lane] >> rank_shift; });
  return Step::next;
}

enum class Vote : std::uint32_t { all, any, uniform, ballot };

Step vote(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const LaneMask voters = members(warp, instruction, instruction.e, mask);
  const LaneMask yes = predicate(warp, instruction.predicate) & voters;
  const auto form = static_cast<Vote>(instruction.modifiers);
  if (form == Vote::ballot) {
    auto* d = lanes<std::uint32_t>(warp, instruction.d);
    over_lanes(mask, [&](int lane) { d[lane] = yes; });
    return Step::next;
  }
  const bool result = form == Vote::any   ? yes != 0
                      : form == Vote::all ? yes == voters
                                          : yes == voters || yes == 0;
  set_predicate(warp, instruction.d, result ? all_lanes : 0, mask);
  return Step::next;
}

Step reduce(Warp& warp, const Instruction& instruction, LaneMask mask) {
  members(warp, instruction, instruction.e, mask);
  const auto atomic = Atomic::from_bits(instruction.modifiers);
  const auto* a = lanes<std::uint32_t>(warp, instruction.a);
  std::uint64_t result = a[__builtin_ctz(mask)];
  for_each_lane(mask & (mask - 1), [&](int lane) { result = atomic.apply(result, a[lane]); });
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  over_lanes(mask, [&](int lane) { d[lane] = static_cast<std::uint32_t>(result); });
  return Step::next;
}

Step active_lanes(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::uint32_t>(warp, instruction.d);
  over_lanes(mask, [&](int lane) { d[lane] = mask; });
  return Step::next;
}

// Others go first; for how long is nobody's promise.
Step yield(Warp&, const Instruction&, LaneMask) {
  return Step::pause;
}

Step trap(Warp& warp, const Instruction& instruction, LaneMask) {
  fail(warp, instruction, "trap", warp.name() + " executes a trap");
}

void decode_shuffle(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("sync");
  instruction.modifiers = static_cast<std::uint32_t>(decoder.one_of({"idx", "up", "down", "bfly"}));
  if (decoder.type() != Type::b32) decoder.fail("type not supported");
  decoder.destination_pair(0, instruction.d, instruction.predicate);
  instruction.a = decoder.source(1, 4);
  instruction.b = decoder.source(2, 4);
  instruction.c = decoder.source(3, 4);
  instruction.e = decoder.source(4, 4);
  instruction.execute = shuffle;
}

void decode_vote(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("sync");
  const int form = decoder.one_of({"all", "any", "uni", "ballot"});
  instruction.modifiers = static_cast<std::uint32_t>(form);
  const bool is_ballot = decoder.type() == Type::b32;
  if (is_ballot != (form == 3)) decoder.fail("type not supported");
  instruction.d = is_ballot ? decoder.destination(0, 4) : decoder.predicate_destination(0);
  instruction.predicate = decoder.predicate_source(1);
  instruction.e = decoder.source(2, 4);
  instruction.execute = vote;
}

void decode_reduction(Decoder& decoder) {
  decoder.expect("sync");
  const Atomic atomic{Atomic::decode_operation(decoder), decoder.type()};
  if (size_bytes(atomic.type) != 4 || !is_integer(atomic.type) ||
      atomic.operation > AtomicOperation::bit_xor)
    decoder.fail("type not supported");
  decoder.instruction.modifiers = atomic.bits();
  take_operands(decoder, 4, 4, 1);
  decoder.instruction.e = decoder.source(2, 4);
  decoder.instruction.execute = reduce;
}

}  // namespace

bool decode_warp(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const std::string& base = decoder.base();
  if (base == "elect") {
    decoder.expect("sync");
    decoder.destination_pair(0, instruction.d, instruction.predicate);
    instruction.a = decoder.source(1, 4);
    instruction.execute = elect;
  } else if (base == "shfl") {
    decode_shuffle(decoder);
  } else if (base == "bar" && decoder.take("warp")) {
    decoder.expect("sync");
    instruction.a = decoder.source(0, 4);
    instruction.execute = warp_sync;
  } else if (base == "mapa") {
    decoder.expect("shared::cluster");
    if (decoder.type() != Type::u32) decoder.fail("type not supported");
    take_operands(decoder, 4, 4, 2);
    instruction.execute = map_address;
  } else if (base == "getctarank") {
    decoder.expect("shared::cluster");
    if (decoder.type() != Type::u32) decoder.fail("type not supported");
    take_operands(decoder, 4, 4, 1);
    instruction.execute = owner_of_address;
  } else if (base == "vote") {
    decode_vote(decoder);
  } else if (base == "redux") {
    decode_reduction(decoder);
  } else if (base == "activemask") {
    if (decoder.type() != Type::b32) decoder.fail("type not supported");
    instruction.d = decoder.destination(0, 4);
    instruction.execute = active_lanes;
  } else if (base == "nanosleep") {
    if (decoder.type() != Type::u32) decoder.fail("type not supported");
    decoder.source(0, 4);
    instruction.execute = yield;
  } else if (base == "trap") {
    instruction.execute = trap;
  } else {
    return false;
  }
  return true;
}

}  // namespace bwgemm::vgpu
