// SPDX-License-Identifier: Apache-2.0
// ScratchPool: device memory of one handle that kernels use between their CTAs: partial sums, and
// arrival counters that are zero before and after every launch.
//
// Launches that may overlap never share any: each stream has a slot, each captured launch has one
// of its own, because its graph may be replayed beside anything. Nothing is freed or moved before
// the handle ends, so nothing has to wait for pending work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "launch/driver.h"
#include "plan/plan.h"

namespace bwgemm {

// Identifies what orders launches. Stream addresses are reused by the driver, ids are not.
using StreamKey = std::uint64_t;

// Of the stream as the calling thread sees it: the per-thread default stream is one per thread.
class StreamIdentity {
 public:
  StreamIdentity() = default;
  StreamIdentity(const Driver& driver, CUstream stream);  // its context must be current

  StreamKey key(const Driver& driver) const;  // the stream must not be capturing
  CUstream stream() const { return stream_; }

 private:
  bool is_created() const;  // by a program, not one of the driver's special streams
  StreamKey queried_id(const Driver& driver) const;

  CUstream stream_ = nullptr;  // the legacy default stream
  std::optional<StreamKey> id_;
};

struct ScratchNeed {
  std::size_t partials_bytes = 0;
  std::size_t partials_limit = 0;  // not less: no buffer for them may be larger
  std::size_t arrivals = 0;
};

class ScratchPool {
 public:
  // What one launch may have of the library's memory.
  static constexpr std::size_t max_partials_bytes = std::size_t{24} << 20;

  explicit ScratchPool(const Driver& driver) : driver_(driver) {}
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;

  // Makes the counters that most handles will ever need, so that a first use inside a capture finds
  // them. As every function here, with the handle's context current.
  void open();

  // Scratch for one launch on the stream. With `workspace`, which has room for the partial sums,
  // only the counters are the library's.
  Scratch acquire(const StreamIdentity& stream, const ScratchNeed& need, void* workspace);

  // Makes what acquire() would make for a launch on the stream (unless it is being captured), and
  // for one captured launch on any.
  void reserve(const StreamIdentity& stream, const ScratchNeed& need);
  // For launches on the stream that need as much or less.
  void reserve_all(const StreamIdentity& stream, const ScratchNeed& most);

  // Returns the first failure, and goes on after it. No kernel that has scratch may be running.
  CUresult release();

 private:
  // A slot's buffers have fixed sizes, 32 MiB together (less where the limit is lower), and a
  // launch takes the smallest that suffices: growing one would mean freeing memory that pending
  // work may use.
  static constexpr std::array<std::size_t, 3> partials_steps{
      std::size_t{2} << 20, std::size_t{6} << 20, max_partials_bytes};
  static constexpr std::size_t counters_per_chunk = 65536;
  static constexpr std::size_t counters_per_slot = 1024;

  struct Buffer {
    CUdeviceptr memory = 0;
    std::size_t bytes = 0;
  };
  struct Slot {
    StreamKey key = 0;
    std::array<Buffer, partials_steps.size()> partials{};
    CUdeviceptr arrivals = 0;
    std::size_t arrivals_capacity = 0;
  };

  Slot& slot_of(StreamKey key);
  CUdeviceptr partials_of(Slot& slot, const ScratchNeed& need);
  CUdeviceptr captured_partials(std::size_t bytes);
  CUdeviceptr arrivals_of(Slot& slot, std::size_t count);
  CUdeviceptr take_arrivals(std::size_t count);
  void keep_free_counters(std::size_t count);
  CUdeviceptr zeroed_counters(std::size_t count);
  CUdeviceptr allocate(std::size_t bytes);

  const Driver& driver_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<Buffer> spares_;  // of captured launches to come
  std::vector<CUdeviceptr> allocations_;
  CUdeviceptr free_counters_ = 0;  // zeroed, not yet given to a slot
  std::size_t free_counters_count_ = 0;
};

}  // namespace bwgemm
