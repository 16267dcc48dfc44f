// SPDX-License-Identifier: Apache-2.0
//
// The structs of DLPack 1.x that are read here.
#pragma once

#include <cstdint>

namespace bwgemm_python {

constexpr std::int32_t kDlpackCuda = 2;
constexpr std::uint8_t kDlpackFloat = 2, kDlpackBfloat = 4;

struct DlpackTensor {
  void* data;
  std::int32_t device_type, device;
  std::int32_t dimensions;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; may be null for rows one after the other
  std::uint64_t byte_offset;
};

// What a capsule "dltensor_versioned" points to. A capsule "dltensor" points to a struct that
// begins with the tensor.
struct DlpackVersioned {
  std::uint32_t major, minor;
  void* manager;
  void* deleter;
  std::uint64_t flags;
  DlpackTensor tensor;
};

// What the capsule __dlpack_c_exchange_api__ of a type points to. A result of 0 is success; after
// another, Python's error is set.
struct DlpackExchange {
  std::uint32_t major, minor;
  DlpackExchange* older;
  void *allocate, *to_managed, *from_managed;
  int (*tensor_of)(void* object, DlpackTensor* tensor);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

}  // namespace bwgemm_python
