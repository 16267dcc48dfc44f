// SPDX-License-Identifier: Apache-2.0
// atom and red on global and shared memory. A read-modify-write of global memory takes what was
// published at its address and leaves it there for those after it.
#include "vgpu/operations/atomic.h"

#include <algorithm>

#include "vgpu/operations/memory_access.h"
#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {
namespace {

constexpr int atomic_shift = 9;  // of Atomic in Instruction::modifiers, behind the rest

template <class T>
T apply_to(AtomicOperation operation, T old, T value, T other) {
  switch (operation) {
    case AtomicOperation::add: return static_cast<T>(old + value);
    case AtomicOperation::minimum: return std::min(old, value);
    case AtomicOperation::maximum: return std::max(old, value);
    case AtomicOperation::exchange: return value;
    case AtomicOperation::swap_if: return old == value ? other : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) switch (operation) {
      case AtomicOperation::bit_and: return old & value;
      case AtomicOperation::bit_or: return old | value;
      case AtomicOperation::bit_xor: return old ^ value;
      case AtomicOperation::increment: return old >= value ? T(0) : old + 1;
      case AtomicOperation::decrement: return old == 0 || old > value ? value : old - 1;
      default: break;
    }
  return old;
}

// A type of two halves: of each half alone.
Type half_of(Type type) {
  return type == Type::f16x2 ? Type::f16 : type == Type::bf16x2 ? Type::bf16 : type;
}

bool is_known(const Atomic& atomic) {
  const bool is_float = !is_integer(atomic.type);
  switch (atomic.operation) {
    case AtomicOperation::add:
      return is_float ? atomic.type != Type::pred : size_bytes(atomic.type) >= 4;
    case AtomicOperation::minimum:
    case AtomicOperation::maximum: return atomic.type != Type::f32 && atomic.type != Type::pred;
    case AtomicOperation::increment:
    case AtomicOperation::decrement: return atomic.type == Type::u32;
    default: return atomic.type == Type::b32 || atomic.type == Type::b64;
  }
}

// Judges, and gives the bytes of, one lane's access.
std::byte* reach(Warp& warp, const Instruction& instruction, int lane, std::uint32_t bytes,
                 bool is_shared) {
  Simulation& simulation = warp.simulation;
  const std::uint64_t address = address_of(warp, instruction, instruction.a, lane);
  if (is_shared) {
    const auto at = static_cast<std::uint32_t>(address);
    Cta& cta = reached_cta(warp, instruction, at);
    std::byte* memory = simulation.shared(cta, at & offset_mask, bytes, bytes, &instruction);
    cta.shadow.reduce({warp, lane, &instruction, "atomic"}, at & offset_mask, bytes);
    return memory;
  }
  if (address % bytes != 0)
    fail(warp, instruction, "misaligned", "atomic at global " + hexadecimal(address));
  std::byte* memory = simulation.global(address, bytes, false, &instruction);
  simulation.check_initialised(address, bytes, &instruction);
  const auto ordering = Ordering::from_bits(instruction.modifiers);
  const LaneMask self = 1u << lane;
  observe(warp, self, address, ordering);
  simulation.global_shadow().write({warp, lane, &instruction, "atomic", true}, address, bytes);
  publish(warp, self, address, ordering, ordering.releases ? warp.release(self) : View());
  return memory;
}

// The lanes act one after the other, in an order nobody may rely on.
template <bool is_shared>
Step execute_atomic(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  const auto& lists = simulation.program().lists;
  const auto atomic = Atomic::from_bits(instruction.modifiers >> atomic_shift);
  const auto& values = lists[instruction.list_b];
  const std::uint32_t bytes = instruction.size;
  auto value_of = [&](const Operand& from, int lane) {
    std::uint64_t value = 0;
    if (from.exists()) std::memcpy(&value, lanes<std::byte>(warp, from) + lane * from.bytes, bytes);
    return value;
  };
  const int first =
      simulation.options().adversarial ? static_cast<int>(simulation.random(warp_lanes)) : 0;
  for (int i = 0; i < warp_lanes; ++i) {
    const int lane = (first + i) % warp_lanes;
    if (!(mask >> lane & 1)) continue;
    const auto all = static_cast<std::uint32_t>(bytes * values.size());
    std::byte* memory = reach(warp, instruction, lane, all, is_shared);
    std::vector<std::byte> before(memory, memory + all);
    for (std::size_t element = 0; element < values.size(); ++element) {
      std::uint64_t old = 0;
      std::memcpy(&old, memory + element * bytes, bytes);
      const std::uint64_t result =
          atomic.apply(old, value_of(values[element], lane), value_of(instruction.c, lane));
      if (is_shared || !simulation.keeps_memory())
        std::memcpy(memory + element * bytes, &result, bytes);
    }
    if (instruction.list >= 0) scatter(warp, lists[instruction.list], bytes, lane, before.data());
  }
  return Step::next;
}

}  // namespace

std::uint64_t Atomic::apply(std::uint64_t old, std::uint64_t value, std::uint64_t other) const {
  auto as = [&](auto zero) {
    using T = decltype(zero);
    return apply_to<T>(operation, static_cast<T>(old), static_cast<T>(value),
                       static_cast<T>(other));
  };
  const auto low = [](std::uint64_t bits) { return static_cast<std::uint16_t>(bits); };
  switch (type) {
    case Type::f32:
      return bits_of(apply_to(operation, float_from_bits(static_cast<std::uint32_t>(old)),
                              float_from_bits(static_cast<std::uint32_t>(value)), 0.0f));
    case Type::f16:
      return to_f16(apply_to(operation, from_f16(low(old)), from_f16(low(value)), 0.f));
    case Type::bf16:
      return to_bf16(apply_to(operation, from_bf16(low(old)), from_bf16(low(value)), 0.f));
    case Type::f16x2:
    case Type::bf16x2: {
      const Atomic half{operation, half_of(type)};
      return half.apply(old >> 16, value >> 16) << 16 | half.apply(old & 0xffff, value & 0xffff);
    }
    case Type::s32: return static_cast<std::uint32_t>(as(std::int32_t()));
    case Type::s64: return static_cast<std::uint64_t>(as(std::int64_t()));
    case Type::u64:
    case Type::b64: return as(std::uint64_t());
    default: return as(std::uint32_t());
  }
}

void Atomic::apply(std::byte* to, const std::byte* value, std::size_t bytes) const {
  const std::uint32_t step = size_bytes(type);
  for (std::size_t i = 0; i < bytes; i += step) {
    std::uint64_t old = 0, with = 0;
    std::memcpy(&old, to + i, step);
    std::memcpy(&with, value + i, step);
    const std::uint64_t result = apply(old, with);
    std::memcpy(to + i, &result, step);
  }
}

AtomicOperation Atomic::decode_operation(Decoder& decoder) {
  return static_cast<AtomicOperation>(
      decoder.one_of({"add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas"}));
}

Atomic Atomic::decode(Decoder& decoder) {
  Atomic atomic{decode_operation(decoder), Type::u32};
  decoder.take("noftz");
  atomic.type = decoder.type();
  if (!is_known(atomic)) decoder.fail("type not supported");
  return atomic;
}

// [.sem][.scope][.space].op[.vec].type
bool decode_atomic(Decoder& decoder) {
  if ((decoder.base() != "atom" && decoder.base() != "red") || decoder.has("async")) return false;
  Instruction& instruction = decoder.instruction;
  Ordering ordering = decode_ordering(decoder);
  if (!ordering.strong) {  // unsaid is relaxed, at a scope that is unsaid or not
    ordering.strong = true;
    ordering.scope = Scope::gpu;
    for (int scope = 0; const char* name : {"cta", "cluster", "gpu", "sys"}) {
      if (decoder.take(name)) ordering.scope = static_cast<Scope>(std::min(scope, 2));
      ++scope;
    }
  }
  const int space = decoder.one_of({"global", "shared", "shared::cta", "shared::cluster"});
  const bool is_shared = space > 0;
  if (is_shared && (ordering.acquires || ordering.releases))
    decoder.fail("only global memory synchronises");
  const std::size_t width = decode_vector_width(decoder);
  const Atomic atomic = Atomic::decode(decoder);
  instruction.size = size_bytes(atomic.type);
  instruction.modifiers =
      ordering.bits() | (space == 3 ? remote_bit : 0) | atomic.bits() << atomic_shift;
  std::size_t at = 0;
  if (decoder.base() == "atom") instruction.list = decoder.destinations(at++, instruction.size);
  instruction.a = decoder.address(at++, is_shared ? 4 : 8);
  instruction.list_b = decoder.sources(at++, instruction.size);
  if (atomic.operation == AtomicOperation::swap_if)
    instruction.c = decoder.source(at, instruction.size);
  if (decoder.list(instruction.list_b).size() != width) decoder.fail("vector of another size");
  auto& granule = is_shared ? decoder.program().shared_granule : decoder.program().global_granule;
  narrow_granule(granule, instruction.size);
  instruction.execute = is_shared ? execute_atomic<true> : execute_atomic<false>;
  return true;
}

}  // namespace bwgemm::vgpu
