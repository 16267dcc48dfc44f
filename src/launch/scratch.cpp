// SPDX-License-Identifier: Apache-2.0
#include "launch/scratch.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <unistd.h>

#include "launch/context.h"

namespace bwgemm {
namespace {

// No id of a created stream, and no address, is that large.
constexpr StreamKey special = StreamKey{1} << 63, by_id = StreamKey{1} << 62;

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

// The one that the stream takes part in. Calls outside of captures ask only whether.
std::optional<StreamCapture> capture_of(const Driver& driver, CUstream stream) {
  if (!is_capturing(driver, stream)) return std::nullopt;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  StreamCapture capture;
  driver.call(driver.cuStreamGetCaptureInfo, stream, &status, &capture.id, &capture.graph, nullptr,
              nullptr, nullptr);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    throw Error(BWGEMM_STATUS_EXECUTION_FAILED, "the capture of the stream ended during the call");
  GraphEnd::stay_loaded();
  return capture;
}

// False too if another thread has its number by now.
bool has_ended(pid_t thread) {
  const int error_before = errno;
  const bool is_gone = ::tgkill(::getpid(), thread, 0) != 0 && errno == ESRCH;
  errno = error_before;
  return is_gone;
}

// The smallest of the spares that has as many; none if there is none.
template <class Spare, class Size>
std::optional<Spare> taken(std::vector<Spare>& spares, Size Spare::*size, std::size_t least) {
  auto best = spares.end();
  for (auto spare = spares.begin(); spare != spares.end(); ++spare)
    if ((*spare).*size >= least && (best == spares.end() || (*spare).*size < (*best).*size))
      best = spare;
  if (best == spares.end()) return std::nullopt;
  const Spare found = *best;
  spares.erase(best);
  return found;
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
  if (stream_ == CU_STREAM_PER_THREAD) return special | thread_ordinal();
  return id_ ? by_id | *id_ : reinterpret_cast<std::uintptr_t>(stream_);
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
  const std::optional<StreamCapture> capture = capture_of(driver_, stream.stream());
  const std::lock_guard lock(mutex_);
  const auto counters = [](CUdeviceptr memory) { return reinterpret_cast<std::uint32_t*>(memory); };
  Scratch scratch{static_cast<float*>(workspace), nullptr};
  if (capture && workspace != nullptr) {
    if (need.arrivals == 0) return scratch;
    std::vector<Counters>& all = record_of(*capture).arrivals;
    all.reserve(all.size() + 1);  // first, so that none can go unrecorded
    all.push_back(take_arrivals(need.arrivals));
    scratch.arrivals = counters(all.back().memory);
    return scratch;
  }
  Slot& slot = slot_of(stream, capture);
  if (workspace == nullptr && need.partials_bytes > 0)
    scratch.partials = reinterpret_cast<float*>(partials_of(slot, need));
  if (need.arrivals > 0) scratch.arrivals = counters(arrivals_of(slot, need.arrivals));
  scratch.last_use = slot.last_use;
  return scratch;
}

void ScratchPool::reserve(const StreamIdentity& stream, const ScratchNeed& need) {
  const std::optional<StreamCapture> capture = capture_of(driver_, stream.stream());
  const std::lock_guard lock(mutex_);
  fill(slot_of(stream, capture), need);
  keep_spares(need);
  keep_free_counters(need.arrivals);
}

void ScratchPool::reserve_all(const StreamIdentity& stream, const ScratchNeed& most) {
  for (const std::size_t bytes : partials_steps)
    reserve(stream, {std::min(bytes, most.partials_bytes), most.partials_limit, most.arrivals});
}

ScratchPool::Slot& ScratchPool::slot_of(const StreamIdentity& stream,
                                        const std::optional<StreamCapture>& capture) {
  return capture ? slot_in_capture(stream, record_of(*capture)) : slot_outside_captures(stream);
}

ScratchPool::Slot& ScratchPool::slot_outside_captures(const StreamIdentity& stream) {
  const StreamKey key = stream.key(driver_);
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [&](const Slot& slot) { return slot.stream == key; });
  if (found != slots_.end()) return *found;
  if (stream.is_per_thread()) return slot_of_thread(key);
  slots_.push_back({.stream = key});
  return slots_.back();
}

// That of a thread which is gone, if there is one. Its stream cannot be waited for: the slot's
// event tells whether the work on it is over.
ScratchPool::Slot& ScratchPool::slot_of_thread(StreamKey stream) {
  const CaptureRelaxer relaxer(driver_);
  const auto left = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.thread != 0 && has_ended(slot.thread) &&
           driver_.cuEventQuery(slot.last_use) == CUDA_SUCCESS;
  });
  if (left != slots_.end()) {
    left->stream = stream;
    left->thread = ::gettid();
    return *left;
  }
  slots_.reserve(slots_.size() + 1);
  Slot slot{.stream = stream, .thread = ::gettid()};
  driver_.call(driver_.cuEventCreate, &slot.last_use, unsigned{CU_EVENT_DISABLE_TIMING});
  slots_.push_back(slot);
  return slots_.back();
}

ScratchPool::Slot& ScratchPool::slot_in_capture(const StreamIdentity& stream, Capture& capture) {
  const StreamKey key = stream.key_in_capture();
  const auto found = std::find_if(capture.slots.begin(), capture.slots.end(),
                                  [&](const Slot& slot) { return slot.stream == key; });
  if (found != capture.slots.end()) return *found;
  capture.slots.push_back({.stream = key, .is_captured = true});
  return capture.slots.back();
}

// There may be very many, but those under way are among the last.
ScratchPool::Capture& ScratchPool::record_of(const StreamCapture& capture) {
  const auto found = std::find_if(captures_.rbegin(), captures_.rend(),
                                  [&](const Capture& known) { return known.id == capture.id; });
  if (found != captures_.rend()) return *found;
  collect_ended_captures();
  const CaptureRelaxer relaxer(driver_);
  captures_.push_back({.id = capture.id, .end = GraphEnd(driver_, capture.graph)});
  return captures_.back();
}

void ScratchPool::collect_ended_captures() {
  for (auto capture = captures_.begin(); capture != captures_.end();) {
    if (!capture->end.has_come()) {
      ++capture;
      continue;
    }
    spares_.make_room(capture->slots.size() + capture->arrivals.size());
    for (const Slot& slot : capture->slots) spares_.add(slot);
    for (const Counters& arrivals : capture->arrivals) spares_.arrivals.push_back(arrivals);
    capture = captures_.erase(capture);
  }
}

void ScratchPool::Spares::make_room(std::size_t slots) {
  for (std::vector<Buffer>& buffers : partials) buffers.reserve(buffers.size() + slots);
  arrivals.reserve(arrivals.size() + slots);
}

void ScratchPool::Spares::add(const Slot& slot) {
  for (std::size_t step = 0; step < partials_steps.size(); ++step)
    if (slot.partials[step].bytes > 0) partials[step].push_back(slot.partials[step]);
  if (slot.arrivals.count > 0) arrivals.push_back(slot.arrivals);
}

void ScratchPool::fill(Slot& slot, const ScratchNeed& need) {
  if (need.partials_bytes > 0) partials_of(slot, need);
  if (need.arrivals > 0) arrivals_of(slot, need.arrivals);
}

// A slot of a capture takes what it needs and gives it back at once.
void ScratchPool::keep_spares(const ScratchNeed& need) {
  spares_.make_room(1);
  Slot slot{.is_captured = true};
  try {
    fill(slot, need);
  } catch (...) {
    spares_.add(slot);  // what it had got is not lost
    throw;
  }
  spares_.add(slot);
}

CUdeviceptr ScratchPool::partials_of(Slot& slot, const ScratchNeed& need) {
  for (std::size_t step = 0; step < partials_steps.size(); ++step) {
    if (partials_steps[step] < need.partials_bytes) continue;
    Buffer& buffer = slot.partials[step];
    if (buffer.bytes < need.partials_bytes) {  // none yet, or one of a lower limit
      const auto spare = slot.is_captured
                             ? taken(spares_.partials[step], &Buffer::bytes, need.partials_bytes)
                             : std::nullopt;
      const std::size_t bytes = std::min(partials_steps[step], need.partials_limit);
      buffer = spare ? *spare : Buffer{allocate(bytes), bytes};
    }
    return buffer.memory;
  }
  throw Error(BWGEMM_STATUS_INTERNAL_ERROR,
              text("a launch asks for ", need.partials_bytes, " bytes of workspace; the limit is ",
                   max_partials_bytes));
}

CUdeviceptr ScratchPool::arrivals_of(Slot& slot, std::size_t count) {
  if (slot.arrivals.count < count) {
    const std::size_t wanted = std::max(counters_per_slot, std::bit_ceil(count));
    slot.arrivals = slot.is_captured ? take_arrivals(wanted) : new_arrivals(wanted);
  }
  return slot.arrivals.memory;
}

// For captures.
ScratchPool::Counters ScratchPool::take_arrivals(std::size_t count) {
  const auto spare = taken(spares_.arrivals, &Counters::count, count);
  return spare ? *spare : new_arrivals(count);
}

// Slices are multiples of 128 bytes, so that no two slots share a cache line.
ScratchPool::Counters ScratchPool::new_arrivals(std::size_t count) {
  count = (count + 31) / 32 * 32;
  keep_free_counters(count);
  const Counters taken{free_counters_, count};
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
  const auto note = [&first](CUresult result) {
    if (first == CUDA_SUCCESS) first = result;
  };
  for (const CUdeviceptr memory : allocations_) note(driver_.cuMemFree(memory));
  for (const Slot& slot : slots_)
    if (slot.last_use != nullptr) note(driver_.cuEventDestroy(slot.last_use));
  allocations_.clear();
  slots_.clear();
  captures_.clear();
  spares_ = {};
  free_counters_ = 0;
  free_counters_count_ = 0;
  return first;
}

// Those of scratch at some of all addresses. The mutex is held for looking at the list only.
struct ScratchUse::Bucket {
  std::mutex mutex;
  ScratchUse* first = nullptr;
  int waiting = 0;
  std::atomic<int> ends{0};  // that were waited for, which is done without the mutex

  bool has(const void* partials) const {
    const ScratchUse* one = first;
    while (one != nullptr && one->partials_ != partials) one = one->next_;
    return one != nullptr;
  }
};

void ScratchUse::begin() {
  constexpr std::size_t alignment = 256;
  static constinit std::array<Bucket, 61> buckets{};
  bucket_ = &buckets[reinterpret_cast<std::uintptr_t>(partials_) / alignment % buckets.size()];
  Bucket& bucket = *bucket_;
  std::unique_lock lock(bucket.mutex);
  while (bucket.has(partials_)) {
    const int seen = bucket.ends.load(std::memory_order_relaxed);
    ++bucket.waiting;
    lock.unlock();
    bucket.ends.wait(seen, std::memory_order_relaxed);
    lock.lock();
    --bucket.waiting;
  }
  next_ = bucket.first;
  bucket.first = this;
}

void ScratchUse::end() {
  Bucket& bucket = *bucket_;
  std::unique_lock lock(bucket.mutex);
  ScratchUse** at = &bucket.first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  if (bucket.waiting == 0) return;
  bucket.ends.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  bucket.ends.notify_all();
}

}  // namespace bwgemm
