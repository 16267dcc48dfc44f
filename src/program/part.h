// SPDX-License-Identifier: Apache-2.0
// Part: the kernels that a call launches one after the other, with their parameters, and the list
// of all that follows from a call's arguments. Moving a part to the arguments of another call of
// the same kind writes what that list names, and nothing else.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/problem.h"
#include "program/tensor_map.h"

namespace bwgemm {

// What differs between calls of one kind. What all calls have comes first.
enum class Argument : std::uint8_t {
  alpha,
  beta,
  a,
  b,
  d,
  c,  // apart from d
  workspace,
  counters,
  bias,
  row_scale,
  column_scale,
  aux,
  bias_gradient
};
inline constexpr std::size_t argument_count = 13;

// Addresses, and the bits of scalars that are given by value.
class Values {
 public:
  std::uint64_t& operator[](Argument argument) { return words_[index(argument)]; }
  std::uint64_t operator[](Argument argument) const { return words_[index(argument)]; }
  void set(Argument argument, const void* address) {
    (*this)[argument] = reinterpret_cast<std::uintptr_t>(address);
  }
  const void* address(Argument argument) const {
    return reinterpret_cast<const void*>((*this)[argument]);
  }
  void set(Argument argument, float value) {
    (*this)[argument] = std::bit_cast<std::uint32_t>(value);
  }

  // Whether the first arguments, so many, are equal. Word by word, as they were just written: wider
  // loads would have to wait for the stores.
  bool begins_like(const Values& other, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i)
      if (words_[i] != other.words_[i]) return false;
    return true;
  }

 private:
  static constexpr std::size_t index(Argument argument) {
    return static_cast<std::size_t>(argument);
  }

  std::array<std::uint64_t, argument_count> words_{};
};

// Which arguments the operands of a problem are. A problem may be the transpose of the call's, and
// may find an operand's copy in the workspace.
struct Provenance {
  Argument a = Argument::a, b = Argument::b, c = Argument::d;
  Argument row_scale = Argument::row_scale, column_scale = Argument::column_scale;

  Provenance transposed() const { return {b, a, c, column_scale, row_scale}; }
};
// `is_exchanged`: the call's A is the problem's B.
Provenance provenance(const Problem& problem, bool is_exchanged);

// The arguments of a call that asks for the problem, with a nominal workspace and counters.
Values values_of(const Problem& problem, bool is_exchanged);

// Whether a kernel may start during the tail of the one before it.
enum class Overlap : std::uint8_t {
  as_set,           // where the program has asked for it
  as_set_in_call,   // likewise, and the device has room for kernels of one call beside each other
  wherever_it_fits  // where the device has room for them
};

struct Step {
  int kernel;   // by number: a row of families/variants.h, or, below zero, of families/helpers.h
  int grid;     // CTAs
  int cluster;  // CTAs of a cluster
  int threads, smem_bytes;
  Overlap overlap = Overlap::as_set;
  bool is_short = false;        // NextStart::when_loaded, by itself
  std::uint32_t params_at = 0;  // bytes from the beginning of the part's parameters
};

enum class FieldKind : std::uint8_t { word, address, map };

struct Relocation {
  Argument argument;
  FieldKind kind;
  std::uint16_t key;    // of a map: its number
  std::uint32_t at;     // bytes from the beginning of the part's parameters
  std::uint64_t delta;  // from the argument to what the field holds, or to where the map begins
};

class Part {
 public:
  static constexpr std::size_t most_steps = 3, most_bytes = 6144;

  explicit Part(Overlap first = Overlap::as_set) : first_(first) {}

  // At the end; the first step overlaps as the part does. The relocations of its parameters are
  // those that Linkers of this part noted since the step before it.
  void add(Step step, const void* params, std::size_t bytes);

  std::span<const Step> steps() const { return {steps_.data(), step_count_}; }
  // With room for all: an array is copied without a call.
  const std::array<Step, most_steps>& step_array() const { return steps_; }
  const std::vector<Relocation>& relocations() const { return relocations_; }
  const std::byte* params() const { return params_.empty() ? nullptr : params_[0].bytes; }
  std::size_t bytes() const { return bytes_; }

  // Makes the parameters those of a call with these arguments, which are aligned like those that it
  // was built for. Maps come from the cache. A part that was not moved yet has no maps. What this
  // throws leaves the part usable.
  void move_to(const Values& to, TensorMapCache& maps) {
    if (!is_placed_ || !at_.begins_like(to, used_)) relocate(to, maps);
  }

 private:
  friend class Linker;
  struct alignas(64) Chunk {
    std::byte bytes[64];
  };

  void relocate(const Values& to, TensorMapCache& maps);

  Overlap first_;
  std::array<Step, most_steps> steps_{};
  std::size_t step_count_ = 0;
  std::vector<Relocation> relocations_;
  std::vector<TensorMapKey> keys_;
  std::vector<Chunk> params_;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;  // arguments, up to the last that a relocation names
  Values at_;
  bool is_placed_ = false;  // the parameters are those of `at_`
};

// Notes what of the parameters of the part's next step follows from which argument. Fields of
// addresses hold those of a call with the arguments `base`.
class Linker {
 public:
  Linker(Part& part, const Values& base, const void* params)
      : part_(part), base_(base), params_(params) {}

  // A field that is null stays null.
  template <class Element>
  void address(Element* const& field, Argument argument) {
    if (field != nullptr) add(FieldKind::address, &field, argument, to_integer(field), 0);
  }
  void scalar(const Scalar& field, Argument argument);
  // Fields of equal maps that are named one after the other are looked up once.
  void map(const TensorMap& field, const TensorMapKey& key, Argument argument);

 private:
  static std::uint64_t to_integer(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
  }
  void add(FieldKind kind, const void* field, Argument argument, std::uint64_t value,
           std::size_t key);

  Part& part_;
  const Values& base_;
  const void* params_;
};

}  // namespace bwgemm
