// SPDX-License-Identifier: Apache-2.0
// Keys of calls, and the struct that a key in short form stands for.
#include "api/arguments.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "core/hash.h"
#include "core/scalar.h"

namespace bwgemm {
namespace {

// The same of an operand of the product; where that is less than 16 bytes, how far behind 16 bytes
// it starts, on which the maps of unaligned operands depend.
std::uint64_t operand_traits(const void* pointer) {
  const std::uint64_t behind = reinterpret_cast<std::uintptr_t>(pointer) % 16;
  return behind == 0 ? alignment_traits(pointer) : 16 + behind;
}

// Sets the value. 0: a number, 1: zero, 2: on the device; nothing if it is neither.
std::optional<std::uint64_t> take_scalar(const void* scalar, bwgemmPointerMode_t mode,
                                         std::uint64_t& value) {
  if (scalar == nullptr) return std::nullopt;
  if (mode == BWGEMM_POINTER_MODE_DEVICE) {
    value = reinterpret_cast<std::uintptr_t>(scalar);
    if (value % alignof(float) != 0) return std::nullopt;
    return 2;
  }
  float number = 0;
  std::memcpy(&number, scalar, sizeof number);
  value = std::bit_cast<std::uint32_t>(number);
  return is_zero(number) ? 1 : 0;
}

// The struct of a key in short form, but its algo.
bwgemmMatmulDesc_t gemm_desc(const CallKey& key) {
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  const std::uint64_t* from = key.words.data() + 1;
  const auto take = [&](auto&... members) {
    ((members = static_cast<std::int64_t>(*from++)), ...);
  };
  const auto take_pair = [&](std::int32_t& first, std::int32_t& second) {
    first = static_cast<std::int32_t>(*from), second = static_cast<std::int32_t>(*from++ >> 32);
  };
  take_pair(desc.computeType, desc.transa);
  take_pair(desc.transb, desc.Atype);
  take_pair(desc.Btype, desc.Ctype);
  take(desc.m, desc.n, desc.k, desc.lda, desc.ldb, desc.ldc);
  if (key.count == CallKey::batched_gemm_words) {
    take(desc.strideA, desc.strideB, desc.strideC, desc.batchCount);
    desc.batchMode = static_cast<std::int32_t>(*from);
  }
  desc.Dtype = desc.Ctype, desc.ldd = desc.ldc, desc.strideD = desc.strideC;
  return desc;
}

}  // namespace

CallKey& CallKey::operator=(const CallKey& other) {
  count = other.count;
  std::copy_n(other.words.begin(), count, words.begin());
  return *this;
}

// The compiler unrolls what is constant.
std::uint64_t CallKey::hash() const {
  constexpr std::size_t of_product = 1 + offsetof(bwgemmMatmulDesc_t, gate) / sizeof(std::uint64_t);
  static_assert(gemm_words % 2 == 0 && batched_gemm_words < of_product);
  const std::uint64_t* const all = words.data();
  if (count == gemm_words) return hash_of_sum(mixed(all, 0, gemm_words));
  if (count == batched_gemm_words) return hash_of_sum(mixed(all, 0, batched_gemm_words));
  return hash_of_sum(mixed(all, 0, of_product) + mixed(all, of_product, count));
}

bool CallKey::operator==(const CallKey& other) const {
  return count == other.count &&
         std::memcmp(words.data(), other.words.data(), count * sizeof(std::uint64_t)) == 0;
}

bwgemmMatmulDesc_t desc_of(const Arguments& arguments) {
  const bool is_short = arguments.key.count <= CallKey::batched_gemm_words;
  bwgemmMatmulDesc_t desc = is_short ? gemm_desc(arguments.key) : matmul_desc(arguments);
  desc.algo = arguments.algo;
  return desc;
}

bool keyed(Arguments& arguments, bwgemmPointerMode_t pointer_mode) {
  if (arguments.is_nothing) return false;
  Values& values = arguments.values;
  const auto alpha = take_scalar(arguments.alpha, pointer_mode, values[Argument::alpha]);
  // In bwgemmMatmul null is a zero in either mode.
  const auto beta = arguments.beta != nullptr || arguments.is_gemm
                        ? take_scalar(arguments.beta, pointer_mode, values[Argument::beta])
                        : std::optional<std::uint64_t>(1);
  if (!alpha || !beta) return false;
  const std::uint64_t algo =
      arguments.is_gemm ? static_cast<std::uint32_t>(arguments.algo) : std::uint64_t{0};
  const void *c = values.address(Argument::c), *d = values.address(Argument::d);
  arguments.key.words[0] =
      operand_traits(values.address(Argument::a)) |
      operand_traits(values.address(Argument::b)) << 5 | alignment_traits(c) << 10 |
      alignment_traits(d) << 15 | *alpha << 20 | *beta << 22 | std::uint64_t{c == d} << 24 |
      std::uint64_t{arguments.is_gemm} << 25 | std::uint64_t{arguments.groups} << 26 | algo << 32;
  return true;
}

}  // namespace bwgemm
