// SPDX-License-Identifier: Apache-2.0
// Dtype: element types as the kernels know them. The C enumerators are translated in api/validate.
// MmaKind: which of them a kernel multiplies. Nothing else lists kinds.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace bwgemm {

enum class Dtype : std::uint8_t { f32, f16, bf16, e4m3, e5m2 };

// Two functions say what an element is. They are no table, because device code cannot read one.
constexpr int bits(Dtype type) {
  switch (type) {
    case Dtype::f32: return 32;
    case Dtype::f16:
    case Dtype::bf16: return 16;
    case Dtype::e4m3:
    case Dtype::e5m2: return 8;
  }
  return 0;
}
constexpr const char* name(Dtype type) {
  switch (type) {
    case Dtype::f32: return "f32";
    case Dtype::f16: return "f16";
    case Dtype::bf16: return "bf16";
    case Dtype::e4m3: return "e4m3";
    case Dtype::e5m2: return "e5m2";
  }
  return "?";
}
constexpr int size_bytes(Dtype type) {
  return bits(type) / 8;
}

// What one instruction of the tensor cores multiplies. A kernel is compiled for one kind; a launch
// says which of the kind's types A and B have.
enum class MmaKind : std::uint8_t { b16 };

// Bits of an element of A or B in shared memory.
constexpr int operand_bits(MmaKind kind) {
  switch (kind) {
    case MmaKind::b16: return 16;
  }
  return 0;
}

struct MmaTypes {
  Dtype a, b;
  bool operator==(const MmaTypes&) const = default;
};

// The types of A and B. A kernel has a main loop for each pair of its kind.
inline constexpr std::array b16_types = {MmaTypes{Dtype::bf16, Dtype::bf16},
                                         MmaTypes{Dtype::f16, Dtype::f16}};

// All else that distinguishes one kind from another.
struct MmaKindFacts {
  const char* name;  // the enumerator's, also in names of kernels
  std::span<const MmaTypes> types;
  const char* takes;  // the same as a sentence
};
constexpr MmaKindFacts facts_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::b16: break;
  }
  return {"b16", b16_types, "takes A and B both of bf16 or both of f16"};
}

constexpr bool takes(MmaKind kind, const MmaTypes& types) {
  for (const MmaTypes& pair : facts_of(kind).types)
    if (pair == types) return true;
  return false;
}

}  // namespace bwgemm
