// SPDX-License-Identifier: Apache-2.0
// Mode check's own memory on the device, and copies of the program's memory on the host. All of it
// on the call's stream, which is then waited for. The context must be current.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "dropin/compare.h"
#include "dropin/device.h"

namespace bwgemm::dropin {

// A call cannot be checked.
struct CannotCheck : std::exception {};

inline void require(bool holds) {
  if (!holds) throw CannotCheck();
}

void download(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);

// A matrix of a call, or all matrices of its batch, with what lies between their elements.
HostMatrix copied(const Call& call, const Operand& operand, std::int64_t rows, std::int64_t columns,
                  CUstream stream);

// A copy of the call's output between bands of a pattern, aligned as that is.
class Shadow {
 public:
  Shadow(const Call& call, CUstream stream);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // What stands for the output in the arguments of the call.
  void* argument() const;
  // Waits for what the stream has been given.
  HostMatrix elements() const;
  // What was written besides elements, by what elements() returned before and after.
  std::string damage(const HostMatrix& before, const HostMatrix& after) const;

 private:
  void copy(const std::vector<CUdeviceptr>& sources);
  bool has_whole_bands() const;

  const Call& call_;
  CUstream stream_;
  std::int64_t piece_bytes_ = 0;
  std::vector<std::int64_t>
      offsets_;                // of the pieces that hold the output: one, or one of each batch
  std::int64_t pointers_ = 0;  // of a batch by pointers: where the array lies
  std::int64_t bytes_ = 0;
  CUdeviceptr memory_ = 0;
};

}  // namespace bwgemm::dropin
