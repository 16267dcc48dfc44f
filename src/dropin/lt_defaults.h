// SPDX-License-Identifier: Apache-2.0
// The defaults that a copy of cuBLASLt sets in new descriptors and layouts, for attributes that
// this library does not read. A call with another value asks for something unknown here, such as a
// feature of a later cuBLASLt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dropin/cublaslt_abi.h"

namespace bwgemm::dropin {

// Beyond any number that cuBLASLt gave out.
inline constexpr int lt_attributes = 256;

struct LtGetters {
  decltype(&::cublasLtMatmulDescGetAttribute) desc;
  decltype(&::cublasLtMatrixLayoutGetAttribute) layout;
};

struct LtMakers {
  decltype(&::cublasLtMatmulDescCreate) create_desc;
  decltype(&::cublasLtMatmulDescDestroy) destroy_desc;
  decltype(&::cublasLtMatrixLayoutCreate) create_layout;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&::cublasLtMatmulDescSetAttribute) set_desc;
  decltype(&::cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&::cublasLtGetVersion) get_version;
};

struct LtDefault {
  int attribute;
  std::uint32_t size;
  std::uint64_t value;  // the first `size` bytes of it
};

template <std::size_t capacity>
struct LtDefaultList {
  std::array<LtDefault, capacity> all;
  std::size_t count;

  void add(const LtDefault& one) { all[count++] = one; }
  const LtDefault* begin() const { return all.data(); }
  const LtDefault* end() const { return all.data() + count; }
};

struct LtDefaults {
  LtDefaultList<64> desc;
  LtDefaultList<32> layout;
  // Whether the copy has every attribute that calls are read by, with the size that is known here,
  // and no other that is larger than a number.
  bool are_known;
};

LtDefaults defaults_of(const LtGetters& getters, const LtMakers& makers);

}  // namespace bwgemm::dropin
