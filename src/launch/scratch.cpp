// SPDX-License-Identifier: Apache-2.0
#include "launch/scratch.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "launch/context.h"

namespace bwgemm {
namespace {

constexpr StreamKey special = StreamKey{1} << 63;  // no id of a created stream is that large

// Distinct for every thread that ever ran. With initial-exec storage the library does not need the
// dynamic linker by name; a few bytes of it are there for libraries that are opened late.
StreamKey thread_ordinal() {
  static constinit std::atomic<StreamKey> last{0};
  [[gnu::tls_model("initial-exec")]] static constinit thread_local StreamKey mine = 0;
  if (mine == 0) mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

// A stream for the length of one memset, which orders it after nothing: not after the caller's
// work, and not into a capture.
class PrivateStream {
 public:
  explicit PrivateStream(const Driver& driver) : driver_(driver) {
    driver.call(driver.cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
  }
  ~PrivateStream() { static_cast<void>(driver_.cuStreamDestroy(stream_)); }
  PrivateStream(const PrivateStream&) = delete;
  PrivateStream& operator=(const PrivateStream&) = delete;

  CUstream get() const { return stream_; }

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
};

// An invalid capture would keep what is allocated for it, though nothing can be launched into it.
bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver.call(driver.cuStreamIsCapturing, stream, &status);
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    throw Error(BWGEMM_STATUS_EXECUTION_FAILED, "the capture of the stream has become invalid");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Of the capture that the stream takes part in. Calls outside of captures ask only whether.
std::optional<CaptureId> capture_of(const Driver& driver, CUstream stream) {
  if (!is_capturing(driver, stream)) return std::nullopt;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CaptureId id = 0;
  driver.call(driver.cuStreamGetCaptureInfo, stream, &status, &id, nullptr, nullptr, nullptr,
              nullptr);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    throw Error(BWGEMM_STATUS_EXECUTION_FAILED, "the capture of the stream ended during the call");
  return id;
}

}  // namespace

StreamIdentity::StreamIdentity(const Driver& driver, CUstream stream) : stream_(stream) {
  // Asking a capturing stream for its id invalidates the capture (H200, driver 580.159, in every
  // mode): then it is asked for when it is needed, which captured launches never do.
  if (is_created() && !is_capturing(driver, stream)) id_ = queried_id(driver);
}

StreamKey StreamIdentity::key(const Driver& driver) const {
  if (stream_ == CU_STREAM_PER_THREAD) return special | thread_ordinal();
  if (!is_created()) return special;
  return id_ ? *id_ : queried_id(driver);
}

StreamKey StreamIdentity::key_in_capture() const {
  return stream_ == CU_STREAM_PER_THREAD ? special | thread_ordinal()
                                         : reinterpret_cast<std::uintptr_t>(stream_);
}

bool StreamIdentity::is_created() const {
  return stream_ != nullptr && stream_ != CU_STREAM_LEGACY && stream_ != CU_STREAM_PER_THREAD;
}

StreamKey StreamIdentity::queried_id(const Driver& driver) const {
  unsigned long long id = 0;
  driver.call(driver.cuStreamGetId, stream_, &id);
  return id;
}

void ScratchPool::open() {
  free_counters_ = zeroed_counters(counters_per_chunk);
  free_counters_count_ = counters_per_chunk;
}

Scratch ScratchPool::acquire(const StreamIdentity& stream, const ScratchNeed& need,
                             void* workspace) {
  const std::optional<CaptureId> capture = capture_of(driver_, stream.stream());
  const std::lock_guard lock(mutex_);
  const auto counters = [](CUdeviceptr memory) { return reinterpret_cast<std::uint32_t*>(memory); };
  Scratch scratch{static_cast<float*>(workspace), nullptr};
  if (capture && workspace != nullptr) {
    if (need.arrivals > 0) scratch.arrivals = counters(take_arrivals(need.arrivals));
    return scratch;
  }
  Slot& slot = slot_of(stream, capture);
  if (workspace == nullptr && need.partials_bytes > 0)
    scratch.partials = reinterpret_cast<float*>(partials_of(slot, need));
  if (need.arrivals > 0) scratch.arrivals = counters(arrivals_of(slot, need.arrivals));
  return scratch;
}

void ScratchPool::reserve(const StreamIdentity& stream, const ScratchNeed& need) {
  const std::optional<CaptureId> capture = capture_of(driver_, stream.stream());
  const std::lock_guard lock(mutex_);
  fill(slot_of(stream, capture), need);
  fill(spare_, need);
  keep_free_counters(need.arrivals);
}

void ScratchPool::reserve_all(const StreamIdentity& stream, const ScratchNeed& most) {
  for (const std::size_t bytes : partials_steps)
    reserve(stream, {std::min(bytes, most.partials_bytes), most.partials_limit, most.arrivals});
}

ScratchPool::Slot& ScratchPool::slot_of(const StreamIdentity& stream,
                                        const std::optional<CaptureId>& capture) {
  return capture ? slot_in_capture({stream.key_in_capture(), *capture})
                 : slot_outside_captures(stream.key(driver_));
}

ScratchPool::Slot& ScratchPool::slot_outside_captures(StreamKey stream) {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [&](const Slot& slot) { return slot.owner.stream == stream; });
  if (found != slots_.end()) return *found;
  slots_.push_back({.owner = {.stream = stream}});
  return slots_.back();
}

// There may be very many, but those of captures under way are among the last.
ScratchPool::Slot& ScratchPool::slot_in_capture(const Owner& owner) {
  const auto found = std::find_if(captured_.rbegin(), captured_.rend(),
                                  [&](const Slot& slot) { return slot.owner == owner; });
  if (found != captured_.rend()) return *found;
  captured_.push_back(spare_);
  spare_ = {};
  captured_.back().owner = owner;
  return captured_.back();
}

void ScratchPool::fill(Slot& slot, const ScratchNeed& need) {
  if (need.partials_bytes > 0) partials_of(slot, need);
  if (need.arrivals > 0) arrivals_of(slot, need.arrivals);
}

CUdeviceptr ScratchPool::partials_of(Slot& slot, const ScratchNeed& need) {
  for (std::size_t step = 0; step < partials_steps.size(); ++step) {
    if (partials_steps[step] < need.partials_bytes) continue;
    Buffer& buffer = slot.partials[step];
    if (buffer.bytes < need.partials_bytes) {  // none yet, or one of a lower limit
      const std::size_t bytes = std::min(partials_steps[step], need.partials_limit);
      buffer = {allocate(bytes), bytes};
    }
    return buffer.memory;
  }
  throw Error(BWGEMM_STATUS_INTERNAL_ERROR,
              text("a launch asks for ", need.partials_bytes, " bytes of workspace; the limit is ",
                   max_partials_bytes));
}

CUdeviceptr ScratchPool::arrivals_of(Slot& slot, std::size_t count) {
  if (slot.arrivals_capacity < count) {
    const std::size_t capacity = std::max(counters_per_slot, std::bit_ceil(count));
    slot.arrivals = take_arrivals(capacity);
    slot.arrivals_capacity = capacity;
  }
  return slot.arrivals;
}

// Slices are multiples of 128 bytes, so that no two slots share a cache line.
CUdeviceptr ScratchPool::take_arrivals(std::size_t count) {
  count = (count + 31) / 32 * 32;
  keep_free_counters(count);
  const CUdeviceptr taken = free_counters_;
  free_counters_ += count * sizeof(std::uint32_t);
  free_counters_count_ -= count;
  return taken;
}

void ScratchPool::keep_free_counters(std::size_t count) {
  if (free_counters_count_ >= count) return;
  const std::size_t chunk = std::max(count, counters_per_chunk);
  free_counters_ = zeroed_counters(chunk);
  free_counters_count_ = chunk;
}

// The host waits for the memset, and for nothing else: the first launch that uses the counters may
// come from any stream or graph, and no event could be put in front of all of them.
CUdeviceptr ScratchPool::zeroed_counters(std::size_t count) {
  const CaptureRelaxer relaxer(driver_);
  const PrivateStream stream(driver_);
  const CUdeviceptr counters = allocate(count * sizeof(std::uint32_t));
  driver_.call(driver_.cuMemsetD32Async, counters, 0U, count, stream.get());
  driver_.call(driver_.cuStreamSynchronize, stream.get());
  return counters;
}

CUdeviceptr ScratchPool::allocate(std::size_t bytes) {
  const CaptureRelaxer relaxer(driver_);
  allocations_.push_back(0);  // first, so that no allocation can go unrecorded
  const CUresult result = driver_.cuMemAlloc(&allocations_.back(), bytes);
  if (result == CUDA_SUCCESS) return allocations_.back();
  allocations_.pop_back();
  throw Error(status_of(result), text(driver_.describe(driver_.cuMemAlloc.name(), result), " for ",
                                      bytes, " bytes of scratch memory"));
}

CUresult ScratchPool::release() {
  CUresult first = CUDA_SUCCESS;
  for (const CUdeviceptr memory : allocations_) {
    const CUresult result = driver_.cuMemFree(memory);
    if (first == CUDA_SUCCESS) first = result;
  }
  allocations_.clear();
  slots_.clear();
  captured_.clear();
  spare_ = {};
  free_counters_ = 0;
  free_counters_count_ = 0;
  return first;
}

}  // namespace bwgemm
