// SPDX-License-Identifier: Apache-2.0
// mov in its forms (plain, packing, unpacking, from special registers), cvta, and what does nothing
// here: hints for caches and the register file.
#include <cstring>

#include "vgpu/machine/simulation.h"
#include "vgpu/operations/alu.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

template <class T>
Step move(Warp& warp, const Instruction& instruction, LaneMask mask) {
  T* d = lanes<T>(warp, instruction.d);
  const T* a = lanes<T>(warp, instruction.a);
  over_lanes(mask, [&](int lane) { d[lane] = a[lane]; });
  return Step::next;
}

Step move_special(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::byte>(warp, instruction.d);
  const std::uint32_t bytes = instruction.d.bytes;
  const SpecialRegister& special = special_registers()[instruction.a.offset];
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t value = special.value(warp, static_cast<std::uint32_t>(lane));
    std::memcpy(d + lane * bytes, &value, bytes);
  });
  return Step::next;
}

// Parts lie in the whole from its low bits up; instruction.size is their width in bytes.
Step pack(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto& parts = warp.simulation.program().lists[instruction.list];
  const std::uint32_t bytes = instruction.size;
  for_each_lane(mask, [&](int lane) {
    std::byte* to = lanes<std::byte>(warp, instruction.d) + lane * instruction.d.bytes;
    for (std::size_t i = 0; i < parts.size(); ++i)
      std::memcpy(to + i * bytes, lanes<std::byte>(warp, parts[i]) + lane * parts[i].bytes, bytes);
  });
  return Step::next;
}

Step unpack(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto& parts = warp.simulation.program().lists[instruction.list];
  const std::uint32_t bytes = instruction.size;
  for_each_lane(mask, [&](int lane) {
    const std::byte* from = lanes<std::byte>(warp, instruction.a) + lane * instruction.a.bytes;
    unsigned __int128 whole = 0;  // first, because a part may be the whole's register
    std::memcpy(&whole, from, instruction.a.bytes);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto part = static_cast<std::uint64_t>(whole >> (8 * bytes * i));
      std::byte* to = lanes<std::byte>(warp, parts[i]) + lane * parts[i].bytes;
      std::memcpy(to, &part, bytes);
    }
  });
  return Step::next;
}

void decode_mov(Decoder& decoder) {
  const std::uint32_t bytes = size_bytes(decoder.type());
  Instruction& instruction = decoder.instruction;
  if (decoder.text(0).starts_with('{') || decoder.text(1).starts_with('{')) {
    const bool packs = decoder.text(1).starts_with('{');
    const std::size_t vector = packs ? 1 : 0;
    const auto parts = static_cast<std::uint32_t>(
        split_operands(
            std::string_view(decoder.text(vector)).substr(1, decoder.text(vector).size() - 2))
            .size());
    if (parts == 0 || bytes % parts != 0) decoder.fail("bad vector");
    instruction.size = bytes / parts;
    instruction.list = packs ? decoder.sources(vector, instruction.size)
                             : decoder.destinations(vector, instruction.size);
    if (packs)
      instruction.d = decoder.destination(0, bytes);
    else
      instruction.a = decoder.source(1, bytes);
    instruction.execute = packs ? pack : unpack;
    return;
  }
  instruction.d = decoder.destination(0, bytes);
  instruction.a = decoder.source_or_wider(1, bytes);
  if (instruction.a.kind == Operand::Kind::special) {
    instruction.execute = move_special;
    return;
  }
  if (instruction.a.bytes != bytes) decoder.fail("register of another size");
  instruction.execute = bytes == 8   ? move<std::uint64_t>
                        : bytes == 4 ? move<std::uint32_t>
                        : bytes == 2 ? move<std::uint16_t>
                                     : nullptr;
  if (!instruction.execute) decoder.fail("type not supported");
}

Step parameter_to_generic(Warp& warp, const Instruction& instruction, LaneMask mask) {
  auto* d = lanes<std::uint64_t>(warp, instruction.d);
  const auto* a = lanes<std::uint64_t>(warp, instruction.a);
  const std::uint64_t window = warp.simulation.parameter_window();
  over_lanes(mask, [&](int lane) { d[lane] = window + a[lane]; });
  return Step::next;
}

void decode_cvta(Decoder& decoder) {
  const bool to = decoder.take("to");
  const int space = decoder.one_of({"global", "param"});
  if (decoder.type() != Type::u64 || (to && space == 1)) decoder.fail("not supported");
  take_operands(decoder, 8, 8, 1);
  decoder.instruction.execute = space == 0 ? move<std::uint64_t> : parameter_to_generic;
}

Step nothing(Warp&, const Instruction&, LaneMask) {
  return Step::next;
}

// What warps give up others of the CTA may have, and wait for. The machine has registers enough for
// everybody; what is checked is that a kernel's would suffice.
Step set_registers(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask, warp.live);
  const auto wanted = static_cast<std::uint32_t>(instruction.displacement);
  if (warp.register_count == 0) return Step::next;
  const bool more = instruction.modifiers != 0;
  if (more ? wanted < warp.register_count : wanted > warp.register_count)
    fail(warp, instruction, "registers",
         "from " + std::to_string(warp.register_count) + " to " + std::to_string(wanted));
  const std::uint32_t registers =
      warp_lanes * (more ? wanted - warp.register_count : warp.register_count - wanted);
  if (more && warp.cta.free_registers < registers) {
    warp.cta.register_sleepers.push_back(warp.current);
    warp.simulation.sleep(warp.current, "registers, for each thread", wanted);
    return Step::retry;
  }
  warp.register_count = wanted;
  warp.cta.free_registers += more ? 0 - registers : registers;
  if (!more) warp.simulation.wake_all(warp.cta.register_sleepers);
  return Step::next;
}

Step wait_for_grids(Warp& warp, const Instruction&, LaneMask mask) {
  if (warp.simulation.waits_for_prerequisites(warp.current)) return Step::retry;
  warp.knowledge.for_lanes(mask, warp.live, [](Knowledge& knowledge) {
    knowledge.view.raise(Cluster::prerequisites, 1);
  });
  return Step::next;
}

Step launch_dependents(Warp& warp, const Instruction&, LaneMask) {
  warp.simulation.let_dependents_begin(warp.cta);
  return Step::pause;
}

void decode_hint(Decoder& decoder) {
  if (decoder.base() == "prefetch") {
    decoder.take("param");
    if (decoder.one_of({"tensormap", "global"}) == 1) decoder.one_of({"L1", "L2"});
    decoder.instruction.a = decoder.address(0, 8);
    decoder.instruction.execute = nothing;
  } else if (decoder.base() == "createpolicy") {  // its value means nothing here
    decoder.expect("fractional");
    decode_cache_hints(decoder);
    if (decoder.type() != Type::b64) decoder.fail("type .b64 expected");
    decoder.instruction.d = decoder.destination(0, 8);
    decoder.instruction.a = decoder.zero(8);
    if (decoder.operands() > 1) decoder.text(1);  // the fraction
    decoder.instruction.execute = move<std::uint64_t>;
  } else if (decoder.base() == "griddepcontrol") {
    const bool waits = decoder.one_of({"wait", "launch_dependents"}) == 0;
    decoder.instruction.execute = waits ? wait_for_grids : launch_dependents;
  } else {
    decoder.instruction.modifiers = decoder.one_of({"inc", "dec"}) == 0 ? 1 : 0;
    decoder.expect("sync");
    decoder.expect("aligned");
    if (decoder.type() != Type::u32) decoder.fail("type not supported");
    const std::int64_t count = decoder.immediate(0);
    if (count < 24 || count > 256 || count % 8 != 0) decoder.fail("register count out of range");
    decoder.instruction.displacement = count;
    decoder.instruction.execute = set_registers;
  }
}

}  // namespace

bool decode_move(Decoder& decoder) {
  const std::string& base = decoder.base();
  if (base == "mov")
    decode_mov(decoder);
  else if (base == "cvta")
    decode_cvta(decoder);
  else if (base == "prefetch" || base == "createpolicy" || base == "griddepcontrol" ||
           base == "setmaxnreg")
    decode_hint(decoder);
  else
    return false;
  return true;
}

}  // namespace bwgemm::vgpu
