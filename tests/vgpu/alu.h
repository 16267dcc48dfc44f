// SPDX-License-Identifier: Apache-2.0
// Shapes of arithmetic instructions: a functor per operation, applied to the lanes of a mask. With
// all lanes active the loop has no condition and becomes vector code.
#pragma once

#include <cstdint>

#include "vgpu/decoder.h"
#include "vgpu/warp.h"

namespace bwgemm::vgpu {

template <class Body>
inline void over_lanes(LaneMask mask, Body body) {
  if (mask == all_lanes)
    for (int lane = 0; lane < warp_lanes; ++lane) body(lane);
  else
    for_each_lane(mask, body);
}

template <class Result, class Source, class Operation>
Step unary(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Result* d = lanes<Result>(warp, instruction.d);
  const Source* a = lanes<Source>(warp, instruction.a);
  over_lanes(mask, [&](int lane) { d[lane] = Operation()(a[lane]); });
  return Step::next;
}

template <class Result, class Source, class Operation>
Step binary(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Result* d = lanes<Result>(warp, instruction.d);
  const Source* a = lanes<Source>(warp, instruction.a);
  const Source* b = lanes<Source>(warp, instruction.b);
  over_lanes(mask, [&](int lane) { d[lane] = Operation()(a[lane], b[lane]); });
  return Step::next;
}

template <class Result, class Source, class Operation>
Step ternary(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Result* d = lanes<Result>(warp, instruction.d);
  const Source* a = lanes<Source>(warp, instruction.a);
  const Source* b = lanes<Source>(warp, instruction.b);
  const Result* c = lanes<Result>(warp, instruction.c);
  over_lanes(mask, [&](int lane) { d[lane] = Operation()(a[lane], b[lane], c[lane]); });
  return Step::next;
}

// Destination and sources of `count` operands, sources of `bytes` each.
inline void take_operands(Decoder& decoder, std::uint32_t result_bytes, std::uint32_t bytes,
                          int sources) {
  Instruction& instruction = decoder.instruction;
  instruction.d = decoder.destination(0, result_bytes);
  instruction.a = decoder.source(1, bytes);
  if (sources > 1) instruction.b = decoder.source(2, bytes);
  if (sources > 2) instruction.c = decoder.source(3, result_bytes);
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

}  // namespace bwgemm::vgpu
