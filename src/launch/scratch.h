// SPDX-License-Identifier: Apache-2.0
// ScratchPool: device memory of one handle that the kernels of a call use between their CTAs,
// and between each other: partial sums, copies of operands, and arrival counters that are zero
// before and after every launch. And ScratchUse, which is held while one part of a call launches
// kernels that use scratch.
//
// Calls that may overlap never share any, calls that follow each other do: each stream has a
// slot, and so has each stream of each capture, because its graph may be replayed beside anything.
// Nothing is freed or moved before the handle ends, so nothing has to wait for pending work. What
// belonged to a graph that is gone, or to the stream of a thread that is gone and whose work is
// over, is used again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "launch/driver.h"
#include "launch/graph_end.h"

namespace bwgemm {

// Identifies what orders launches. Stream addresses are reused by the driver, ids are not.
using StreamKey = std::uint64_t;

// What a stream is being captured into.
struct StreamCapture {
  cuuint64_t id = 0;  // never used again in the process
  CUgraph graph = nullptr;
};

// Identity of a stream as the calling thread sees the stream: the per-thread default stream is one
// per thread.
class StreamIdentity {
 public:
  StreamIdentity() = default;
  StreamIdentity(const Driver& driver, CUstream stream);  // its context must be current

  StreamKey key(const Driver& driver) const;  // the stream must not be capturing
  // Tells apart the streams of one capture. By its address a stream that was set when it was part
  // of one: the program keeps it alive until the capture ends.
  StreamKey key_in_capture() const;
  CUstream stream() const { return stream_; }
  bool is_per_thread() const { return stream_ == CU_STREAM_PER_THREAD; }

 private:
  bool is_created() const;  // by a program, not one of the driver's special streams
  StreamKey queried_id(const Driver& driver) const;

  CUstream stream_ = nullptr;  // the legacy default stream
  std::optional<StreamKey> id_;
};

// What the kernels of a call may use of device memory.
struct Scratch {
  float* partials = nullptr;  // and copies, in front of them
  std::uint32_t* arrivals = nullptr;
  CUevent last_use = nullptr;  // to be recorded behind the launches that use it; null: none
};

struct ScratchNeed {
  std::size_t partials_bytes = 0;
  std::size_t partials_limit = 0;  // not less: no buffer for them may be larger
  std::size_t arrivals = 0;
};

class ScratchPool {
 public:
  // What one launch may have of the library's memory.
  static constexpr std::size_t max_partials_bytes = std::size_t{32} << 20;

  explicit ScratchPool(const Driver& driver) : driver_(driver) {}
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;

  // Makes the counters that most handles will ever need, so that a first use inside a capture finds
  // them. As every function here, with the handle's context current.
  void open();

  // Scratch for one call on the stream. With `workspace`, which has room for all but the counters,
  // only the counters are the library's; captured launches then share none, so that those with
  // workspaces of their own may overlap, whatever becomes of their order in the graph. Whoever
  // launches records the scratch's last use.
  Scratch acquire(const StreamIdentity& stream, const ScratchNeed& need, void* workspace);

  // Makes what acquire() would make for a launch on the stream, captured if it is being captured,
  // and for captured launches on the first stream that has no slot in its capture yet.
  void reserve(const StreamIdentity& stream, const ScratchNeed& need);
  // For launches on the stream that need as much or less.
  void reserve_all(const StreamIdentity& stream, const ScratchNeed& most);

  // Returns the first failure, and goes on after it. No kernel that has scratch may be running.
  CUresult release();

 private:
  // A slot's buffers have fixed sizes, 40 MiB together (less where the limit is lower), and a
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
  struct Counters {
    CUdeviceptr memory = 0;
    std::size_t count = 0;
  };
  struct Slot {
    StreamKey stream = 0;
    std::array<Buffer, partials_steps.size()> partials{};
    Counters arrivals{};
    bool is_captured = false;
    pid_t thread = 0;  // whose stream it is; 0: that of all threads
    CUevent last_use = nullptr;
  };
  struct Capture {
    cuuint64_t id;
    GraphEnd end;
    std::vector<Slot> slots{};
    std::vector<Counters> arrivals{};  // of launches with workspaces of their own
  };
  // What graphs that are gone have left, for captures to come.
  struct Spares {
    std::array<std::vector<Buffer>, partials_steps.size()> partials;
    std::vector<Counters> arrivals;

    void make_room(std::size_t slots);
    void add(const Slot& slot);
  };

  Slot& slot_of(const StreamIdentity& stream, const std::optional<StreamCapture>& capture);
  Slot& slot_outside_captures(const StreamIdentity& stream);
  Slot& slot_of_thread(StreamKey stream);
  Slot& slot_in_capture(const StreamIdentity& stream, Capture& capture);
  Capture& record_of(const StreamCapture& capture);
  void collect_ended_captures();
  void fill(Slot& slot, const ScratchNeed& need);
  void keep_spares(const ScratchNeed& need);
  CUdeviceptr partials_of(Slot& slot, const ScratchNeed& need);
  CUdeviceptr arrivals_of(Slot& slot, std::size_t count);
  Counters take_arrivals(std::size_t count);
  Counters new_arrivals(std::size_t count);
  void keep_free_counters(std::size_t count);
  CUdeviceptr zeroed_counters(std::size_t count);
  CUdeviceptr allocate(std::size_t bytes);

  const Driver& driver_;
  std::mutex mutex_;
  std::vector<Slot> slots_;        // of streams outside captures
  std::vector<Capture> captures_;  // in the order of their first launches
  Spares spares_;
  std::vector<CUdeviceptr> allocations_;
  CUdeviceptr free_counters_ = 0;  // zeroed, not yet given to a slot
  std::size_t free_counters_count_ = 0;
};

// The use of scratch by one part of a call, from its first launch to its last. Calls with the same
// partials, from any thread or handle, cannot enqueue between these launches. Calls with others
// never wait, because a launch may block until the stream moves on, and that may need a call of
// another thread. The end of a ScratchUse records the last use, however many of the launches
// succeeded. Allocates nothing.
class ScratchUse {
 public:
  ScratchUse(const Driver& driver, const Scratch& scratch, CUstream stream)
      : driver_(driver), partials_(scratch.partials), last_use_(scratch.last_use), stream_(stream) {
    if (partials_ != nullptr) begin();
  }
  ~ScratchUse() {
    // What fails here has failed in the launches too: the context is lost.
    if (last_use_ != nullptr) static_cast<void>(driver_.cuEventRecord(last_use_, stream_));
    if (bucket_ != nullptr) end();
  }
  ScratchUse(const ScratchUse&) = delete;
  ScratchUse& operator=(const ScratchUse&) = delete;

 private:
  struct Bucket;
  void begin();
  void end();

  const Driver& driver_;
  const void* partials_;
  CUevent last_use_;
  CUstream stream_;
  Bucket* bucket_ = nullptr;
  ScratchUse* next_ = nullptr;  // of the bucket
};

}  // namespace bwgemm
