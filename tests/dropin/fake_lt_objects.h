// SPDX-License-Identifier: Apache-2.0
// Descriptors and layouts of the double of cuBLASLt: attributes by their numbers, with the sizes
// and defaults of cuBLASLt 13.1 and, at the end of each list, those that 13.10 has besides.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "dropin/fake_cublaslt.h"

namespace bwgemm::test {

struct FakeAttribute {
  int number;
  std::size_t size;
  std::uint64_t value;
};

inline constexpr FakeAttribute desc_attributes[] = {
    {0, 4, 68},     {1, 4, 0},           {2, 4, 0},  {3, 4, 0},           {4, 4, 0},  {5, 4, 0},
    {6, 4, 2},      {7, 4, 1},           {8, 8, 0},  {10, 8, 0},          {11, 8, 0}, {12, 8, 0},
    {13, 8, 0},     {14, 8, 0},          {15, 4, 0}, {16, 4, 0},          {17, 8, 0}, {18, 8, 0},
    {19, 8, 0},     {20, 8, 0},          {21, 8, 0}, {22, 4, 0xffffffff}, {23, 8, 0}, {24, 8, 0},
    {25, 1, 0},     {26, 4, 0xffffffff}, {31, 4, 0}, {32, 4, 0},          {33, 4, 0}, {34, 4, 0},
    {35, 4, 0},     {36, 8, 0},          {37, 4, 0}, {38, 8, 0},          {39, 8, 0}, {40, 8, 0},
    {41, 4, 0x8000}};
inline constexpr FakeAttribute layout_attributes[] = {
    {0, 4, 0}, {1, 4, 0}, {2, 8, 0}, {3, 8, 0},  {4, 8, 0},  {5, 4, 1},  {6, 8, 0},
    {7, 8, 0}, {8, 4, 0}, {9, 8, 0}, {10, 8, 0}, {11, 8, 0}, {12, 4, 0}, {13, 4, 0}};

inline const FakeAttribute* attribute_of(std::span<const FakeAttribute> all, int number) {
  for (const FakeAttribute& one : all)
    if (one.number == number) return &one;
  return nullptr;
}

// Attributes lie one behind the other, as far as `words` go, which is the size that cublasLt.h
// publishes; others lie behind. FAKE_CUBLASLT_OUTSIDE names one that does not lie there at all, by
// its number: all objects have it in common.
template <std::size_t words>
struct FakeObject {
  explicit FakeObject(std::span<const FakeAttribute> of) : all(of) {
    for (const FakeAttribute& one : all) set(one.number, &one.value, one.size);
  }
  void set(int number, const void* from, std::size_t size) {
    std::memcpy(place(all, number), from, size);
  }
  std::int64_t long_whole(int number) const {
    std::int64_t value = 0;
    std::memcpy(&value, const_cast<FakeObject*>(this)->place(all, number),
                attribute_of(all, number)->size);
    return value;
  }
  int whole(int number) const { return static_cast<int>(long_whole(number)); }
  template <class Pointer>
  Pointer pointer(int number) const {
    return reinterpret_cast<Pointer>(long_whole(number));
  }
  // Where the attribute of that number lies. `list` is given, as a copy has none.
  void* place(std::span<const FakeAttribute> list, int number) {
    static std::uint64_t outside = 0;
    const char* const named = std::getenv("FAKE_CUBLASLT_OUTSIDE");
    if (named != nullptr && words == 32 && std::atoi(named) == number) return &outside;
    std::size_t at = 0;
    for (const FakeAttribute& one : list) {
      at = (at + one.size - 1) / one.size * one.size;
      if (at + one.size > sizeof memory) break;
      if (one.number == number) return reinterpret_cast<char*>(memory.data()) + at;
      at += one.size;
    }
    return &behind[static_cast<std::size_t>(number)];
  }

  std::array<std::uint64_t, words> memory{};
  std::array<std::uint64_t, 64> behind{};
  std::span<const FakeAttribute> all;
};

}  // namespace bwgemm::test

struct cublasLtMatmulDescOpaque : bwgemm::test::FakeObject<32> {
  using FakeObject::FakeObject;
};
struct cublasLtMatrixLayoutOpaque : bwgemm::test::FakeObject<8> {
  using FakeObject::FakeObject;
};
