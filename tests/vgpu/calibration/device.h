// SPDX-License-Identifier: Apache-2.0
// The driver under calibration (BWGEMM_LIBCUDA, else libcuda.so.1), the kernels of kernels/ on it,
// and memory. Whatever fails throws DriverError with the name of the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bwgemm::calibration {

void* driver_entry(const char* symbol);

// The entry point of a name as <cuda.h> has it, suffix and all.
#define CU_SYMBOL(name) #name
#define CU(name) \
  (reinterpret_cast<decltype(&::name)>(::bwgemm::calibration::driver_entry(CU_SYMBOL(name))))

std::string name_of(CUresult result);

class DriverError : public std::runtime_error {
 public:
  explicit DriverError(CUresult result) : std::runtime_error(name_of(result)) {}
};

void check(CUresult result);

class Memory {
 public:
  explicit Memory(std::size_t bytes, unsigned char fill = 0);
  template <class T>
  explicit Memory(const std::vector<T>& values) : Memory(values.size() * sizeof(T)) {
    check(CU(cuMemcpyHtoD)(address_, values.data(), size_));
  }
  Memory(const Memory&) = delete;
  Memory(Memory&& other) noexcept;
  ~Memory();  // leaves it to a context that is broken

  CUdeviceptr address() const { return address_; }
  // Waits for the device.
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(size_ / sizeof(T));
    check(CU(cuCtxSynchronize)());
    check(CU(cuMemcpyDtoH)(values.data(), address_, values.size() * sizeof(T)));
    return values;
  }

 private:
  CUdeviceptr address_ = 0;
  std::size_t size_ = 0;
};

struct Shape {
  unsigned grid = 1, threads = 128;
  unsigned shared_bytes = 0;
  unsigned cluster = 0;  // 0: not said
};

// Device 0's primary context, current.
class Device {
 public:
  Device();

  CUfunction function(const std::string& module, const char* name);
  // Launches and waits.
  void run(CUfunction function, const Shape& shape, std::initializer_list<const void*> arguments);
  // What the launch alone returns.
  static CUresult launch(CUfunction function, const Shape& shape, const void* const* arguments);
  static bool is_virtual();

 private:
  std::map<std::string, CUmodule> modules_;
};

// A tensor of three dimensions, {inner, outer, batch}, and boxes {inner, outer, 1} of it.
struct Tensor {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  unsigned element_bytes = 2;
  CUdeviceptr address = 0;
  std::uint64_t inner = 1, outer = 1, batch = 1;
  std::uint64_t pitch = 0, batch_pitch = 0;  // bytes
  unsigned box_inner = 1, box_outer = 1;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult encode(CUtensorMap* map) const;
  CUtensorMap map() const;
};

}  // namespace bwgemm::calibration
