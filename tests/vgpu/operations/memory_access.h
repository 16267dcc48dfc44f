// SPDX-License-Identifier: Apache-2.0
// What loads, stores and atomics share: addresses, vectors of registers, and the synchronisation of
// strong accesses to global memory.
#pragma once

#include <cstdint>
#include <cstring>

#include "vgpu/machine/simulation.h"
#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {

inline std::uint64_t address_of(Warp& warp, const Instruction& instruction, const Operand& base,
                                int lane) {
  const std::uint64_t value = base.bytes == 8 ? lanes<std::uint64_t>(warp, base)[lane]
                                              : lanes<std::uint32_t>(warp, base)[lane];
  return value + static_cast<std::uint64_t>(instruction.displacement);
}

// A shared address; 32 bits wherever it came from.
inline std::uint32_t shared_address(Warp& warp, const Instruction& instruction, int lane) {
  return static_cast<std::uint32_t>(address_of(warp, instruction, instruction.a, lane));
}

// As memcpy, of the sizes that registers have.
inline void copy_register(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 2: std::memcpy(to, from, 2); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, bytes);
  }
}

// Registers of a lane to memory, element by element, and back; wider registers are zero-extended.
inline void gather(Warp& warp, const std::vector<Operand>& list, std::uint32_t bytes, int lane,
                   std::byte* to) {
  for (const Operand& operand : list) {
    copy_register(to, lanes<std::byte>(warp, operand) + lane * operand.bytes, bytes);
    to += bytes;
  }
}

inline void scatter(Warp& warp, const std::vector<Operand>& list, std::uint32_t bytes, int lane,
                    const std::byte* from) {
  for (const Operand& operand : list) {
    std::byte* const to = lanes<std::byte>(warp, operand) + lane * operand.bytes;
    if (operand.bytes == bytes) {
      copy_register(to, from, bytes);
    } else {
      std::byte value[16]{};
      std::memcpy(value, from, bytes);
      std::memcpy(to, value, operand.bytes);
    }
    from += bytes;
  }
}

// How strong an access is; kept in Instruction::modifiers.
struct Ordering {
  bool strong = false, acquires = false, releases = false;
  Scope scope = Scope::cta;

  std::uint32_t bits() const {
    return strong | acquires << 1 | releases << 2 | static_cast<std::uint32_t>(scope) << 4;
  }
  static Ordering from_bits(std::uint32_t bits) {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, static_cast<Scope>(bits >> 4 & 3)};
  }
};
inline constexpr std::uint32_t ordering_bits = 0x3f;

// .weak, .volatile, or .relaxed/.acquire/.release/.acq_rel with a scope.
Ordering decode_ordering(Decoder& decoder);
Scope decode_scope(Decoder& decoder);

// Around a strong access to global memory. A relaxed read keeps what was published for a later
// fence; a relaxed write publishes what the last fence covered.
void observe(Warp& warp, LaneMask lane, std::uint64_t address, const Ordering& ordering);
void publish(Warp& warp, LaneMask lane, std::uint64_t address, const Ordering& ordering,
             const View& released);

inline constexpr std::uint32_t remote_bit = 0x100;  // shared::cluster: the address says whose
// The CTA that an access reaches, its own or, by the remote bit, a peer.
Cta& reached_cta(Warp& warp, const Instruction& instruction, std::uint32_t address);

std::uint32_t decode_vector_width(Decoder& decoder);  // .v2, .v4, .v8; else 1
// Hints that change nothing here. True: .L2::cache_hint, which has an operand.
bool decode_cache_hints(Decoder& decoder);
void narrow_granule(std::uint32_t& granule, std::uint32_t bytes);

}  // namespace bwgemm::vgpu
