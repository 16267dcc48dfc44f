// SPDX-License-Identifier: Apache-2.0
// GuardedBuffer: a Matrix in device memory between two guard bands of poison, optionally displaced
// by some elements. Reading poison gives NaN; writing to it is found by damage(). Without the band
// behind it, the memory ends with the matrix.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "support/driver.h"
#include "support/matrix.h"

namespace bwgemm::test {

class GuardedBuffer {
 public:
  static constexpr std::size_t guard_bytes = 64 << 10;

  explicit GuardedBuffer(const Matrix& matrix, std::int64_t displacement = 0,
                         std::size_t bytes_behind = guard_bytes)
      : matrix_(matrix),
        start_(guard_bytes + static_cast<std::size_t>(displacement * size_bytes(matrix.type()))),
        image_(start_ + matrix.bytes().size() + bytes_behind),
        memory_(image_.size()) {
    fill_with_poison(image_.data(), image_.size());
    std::memcpy(image_.data() + start_, matrix.bytes().data(), matrix.bytes().size());
    upload();
  }

  void* pointer() const { return reinterpret_cast<void*>(memory_.address() + start_); }

  // Restores what the constructor uploaded, on the device.
  void upload() {
    check(driver().memcpy_htod(memory_.address(), image_.data(), image_.size()), "cuMemcpyHtoD");
    synchronize();  // a copy from pageable memory may return before it has arrived
  }

  // Waits for the device and returns the matrix as it is there now.
  const Matrix& download() {
    synchronize();
    seen_.resize(image_.size());
    check(driver().memcpy_dtoh(seen_.data(), memory_.address(), seen_.size()), "cuMemcpyDtoH");
    std::memcpy(matrix_.bytes().data(), seen_.data() + start_, matrix_.bytes().size());
    return matrix_;
  }

  // What download() returned last.
  const Matrix& seen() const { return matrix_; }

  // After download(): empty if only elements of the matrix changed, else where another byte did.
  std::string damage() const {
    std::vector<std::byte> allowed = image_;
    Matrix expected = matrix_;
    std::memcpy(expected.bytes().data(), image_.data() + start_, expected.bytes().size());
    expected.copy_elements_from(matrix_);
    std::memcpy(allowed.data() + start_, expected.bytes().data(), expected.bytes().size());
    if (is_equal(allowed, seen_)) return "";
    const auto at = std::mismatch(seen_.begin(), seen_.end(), allowed.begin()).first;
    const std::int64_t byte = (at - seen_.begin()) - static_cast<std::int64_t>(start_);
    const std::int64_t element = byte / size_bytes(matrix_.type());
    return "memory that is no element was written: element offset " + std::to_string(element) +
           " of a " + std::to_string(matrix_.rows()) + " x " + std::to_string(matrix_.columns()) +
           " matrix with leading dimension " + std::to_string(matrix_.ld());
  }

  // After download(): true if nothing changed at all.
  bool untouched() const { return is_equal(seen_, image_); }

 private:
  // As operator==, which compares byte by byte.
  static bool is_equal(const std::vector<std::byte>& one, const std::vector<std::byte>& other) {
    return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
  }

  Matrix matrix_;
  std::size_t start_;             // of the first element
  std::vector<std::byte> image_;  // what was uploaded
  std::vector<std::byte> seen_;   // what was downloaded
  DeviceMemory memory_;
};

}  // namespace bwgemm::test
