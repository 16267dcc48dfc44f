// SPDX-License-Identifier: Apache-2.0
// Shapes of arithmetic instructions: a functor per operation, applied to the lanes of a mask. With
// all lanes active the loop has no condition and becomes vector code, as wide as the processor has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "vgpu/machine/warp.h"
#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {

// A register is the same as another or apart from it: no lane writes what another reads.
template <class Body>
[[gnu::always_inline]] inline void over_lanes(LaneMask mask, Body body) {
  if (mask == all_lanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < warp_lanes; ++lane) body(lane);
  } else {
    for_each_lane(mask, body);
  }
}

// Only these lanes' bits.
struct LaneBits {
  LaneMask of[warp_lanes];
};
inline constexpr LaneBits lane_bits = [] {
  LaneBits bits{};
  for (int lane = 0; lane < warp_lanes; ++lane) bits.of[lane] = 1u << lane;
  return bits;
}();

inline const bool has_wide_vectors =
    __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

template <class Operation, class Result, class... Sources>
[[gnu::always_inline]] inline void apply_to_lanes(Warp& warp, const Instruction& instruction,
                                                  LaneMask mask) {
  const Operand* const operands[] = {&instruction.a, &instruction.b, &instruction.c,
                                     &instruction.e};
  Result* d = lanes<Result>(warp, instruction.d);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const std::tuple sources{static_cast<const Sources*>(lanes<Sources>(warp, *operands[i]))...};
    over_lanes(mask, [&](int lane) {
      d[lane] = static_cast<Result>(Operation()(std::get<i>(sources)[lane]...));
    });
  }
  (std::index_sequence_for<Sources...>());
}

template <class Operation, class Result, class... Sources>
[[gnu::target("avx2,fma")]] Step apply_in_wide_vectors(Warp& warp, const Instruction& instruction,
                                                       LaneMask mask) {
  apply_to_lanes<Operation, Result, Sources...>(warp, instruction, mask);
  return Step::next;
}

// d = Operation(a, b, c, e), of as many sources as there are types.
template <class Operation, class Result, class... Sources>
Step apply(Warp& warp, const Instruction& instruction, LaneMask mask) {
  if (has_wide_vectors)
    return apply_in_wide_vectors<Operation, Result, Sources...>(warp, instruction, mask);
  apply_to_lanes<Operation, Result, Sources...>(warp, instruction, mask);
  return Step::next;
}

// The destination, and `count` sources of `bytes` each.
inline void take_operands(Decoder& decoder, std::uint32_t result_bytes, std::uint32_t bytes,
                          int count) {
  Instruction& instruction = decoder.instruction;
  Operand* const sources[] = {&instruction.a, &instruction.b, &instruction.c, &instruction.e};
  instruction.d = decoder.destination(0, result_bytes);
  for (int i = 0; i < count; ++i)
    *sources[i] = decoder.source(static_cast<std::size_t>(i) + 1, bytes);
}

// Calls use(T()) for the C++ type of an integer type; b types count as unsigned.
template <class Use>
Execute for_integer(Type type, Use use) {
  switch (type) {
    case Type::b16:
    case Type::u16: return use(std::uint16_t());
    case Type::b32:
    case Type::u32: return use(std::uint32_t());
    case Type::b64:
    case Type::u64: return use(std::uint64_t());
    case Type::s16: return use(std::int16_t());
    case Type::s32: return use(std::int32_t());
    case Type::s64: return use(std::int64_t());
    default: return nullptr;
  }
}

// An operation on given types, by its whole opcode; the sources are all as wide as the widest.
struct FixedOperation {
  std::string_view opcode;
  std::uint32_t result_bytes, source_bytes;
  int sources;
  Execute execute;
};

template <class Operation, class Result, class... Sources>
constexpr FixedOperation fixed(std::string_view opcode, Operation, Result, Sources...) {
  return {opcode, sizeof(Result), std::max({sizeof(Sources)...}), sizeof...(Sources),
          apply<Operation, Result, Sources...>};
}

inline bool decode_fixed(Decoder& decoder, std::span<const FixedOperation> table) {
  for (const FixedOperation& row : table) {
    if (!decoder.is(row.opcode)) continue;
    take_operands(decoder, row.result_bytes, row.source_bytes, row.sources);
    decoder.instruction.execute = row.execute;
    return true;
  }
  return false;
}

}  // namespace bwgemm::vgpu
