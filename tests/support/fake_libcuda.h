// SPDX-License-Identifier: Apache-2.0
// State of the test double of libcuda, shared by its files: fake_libcuda.cpp (control, devices,
// contexts), fake_libcuda_streams.cpp (memory, streams), fake_libcuda_graphs.cpp (capture, graphs),
// fake_libcuda_events.cpp (events) and fake_libcuda_kernels.cpp (libraries, kernels, tensor maps,
// launches).
//
// Calls that a steady state makes use no heap, so that tests can count the library's own.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_cuda.h"

#define FAKE_CUDA_ENTRY extern "C" __attribute__((visibility("default")))

namespace bwgemm::test {

struct FakeContext {
  unsigned long long id;
  bool is_primary = false;
  bool is_alive = true;
};

struct FakeStream;
struct FakeGraph;

// A capture under way. That all its work is joined at its end is not checked.
struct FakeCapture {
  unsigned long long id;
  const FakeStream* origin;
  CUstreamCaptureMode mode;
  FakeGraph* graph;
  std::thread::id thread{};
  bool is_valid = true;
};

struct FakeStream {
  FakeContext* context;
  unsigned long long id;
  bool is_blocking;  // implicitly synchronizes with the legacy stream
  bool is_legacy = false;
  bool is_alive = true;
  std::shared_ptr<FakeCapture> capture{};  // that it takes part in

  CUstreamCaptureStatus status() const {
    if (capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
    return capture->is_valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                             : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  }
};

struct FakeEvent {
  FakeContext* context;
  double at = -1;  // of the clock when it was recorded; below zero: it was not
  bool is_alive = true;
  std::weak_ptr<FakeCapture> capture{};  // in which it was recorded
};

struct FakeGraph {
  std::vector<std::function<void()>> work{};
  std::vector<std::shared_ptr<void>> objects{};  // of users, which end with the last graph
  bool is_alive = true;
};

struct FakeUserObject {
  unsigned references;  // of the program, not of graphs
  std::shared_ptr<void> data;
};

struct FakeFunction {
  std::string name;
  FakeContext* context;
  int max_dynamic_smem_bytes = 48 << 10;
};

struct FakeLibrary {
  bool is_alive = true;
  std::vector<std::unique_ptr<std::string>> kernels;  // a CUkernel points to its name
  std::vector<std::unique_ptr<FakeFunction>> functions;
};

struct FakeMemory {
  std::size_t bytes;
  FakeContext* context;
};

struct FakeDevice {
  const char* name;
  int cc_major, cc_minor, sm_count, l2_bytes;
  int context_sms = sm_count;  // of the contexts: fewer, as those of a green one
};

class FakeDriver {
 public:
  static FakeDriver& get();

  // Held by every entry point. Construction counts the call and finds out whether it is to fail.
  class Call {
   public:
    explicit Call(const char* entry);
    CUresult fault() const { return fault_; }

   private:
    std::lock_guard<std::recursive_mutex> lock_;
    CUresult fault_;
  };

  void misused(std::string what);
  FakeContext* current() const;

  // Success, or the error of a call that no thread may make while a capture is under way that does
  // not allow it. That capture is then invalid.
  CUresult unsafe_in_capture();
  // Work is put into a stream: now, or into its capture.
  CUresult enqueue(CUstream stream, const char* entry, std::function<void()> work);
  // Null (and noted as misuse) if the stream is unknown.
  FakeStream* stream(CUstream handle, const char* entry);
  // Success, or the error of using the legacy stream while a blocking stream is being captured.
  CUresult legacy_in_capture(const FakeStream& stream);
  CUstreamCaptureMode& capture_mode();  // of the calling thread
  void release_all_of(FakeContext* context);
  bool any_capture(const FakeContext* context) const;

  static inline constinit std::atomic<bool> is_quick{false};  // see fake_cuda.h
  static inline constinit std::atomic<void (*)(const char*)> on_call{nullptr};

  std::recursive_mutex mutex;
  const FakeDevice* device = nullptr;  // null: there is none
  int version = 13000;
  bool is_initialized = false;

  FakeContext primary{1, true};
  int primary_references = 0;
  unsigned long long last_id = 100;
  std::vector<std::unique_ptr<FakeContext>> contexts;
  std::vector<std::unique_ptr<FakeStream>> streams;
  std::unique_ptr<FakeStream> forgotten_stream;             // whose address the next one gets
  std::vector<std::unique_ptr<FakeStream>> legacy_streams;  // one per context
  std::vector<std::unique_ptr<FakeLibrary>> libraries;
  std::vector<std::unique_ptr<FakeGraph>> graphs;
  std::list<FakeUserObject> user_objects;
  std::vector<std::unique_ptr<FakeEvent>> events;
  std::map<CUdeviceptr, FakeMemory> memory;

  // The log since reset, of fixed size: counting goes on when the rest is full.
  struct Count {
    const char* entry;
    long calls;
  };
  std::array<Count, 128> counts{};
  std::array<const char*, 8192> call_names{};
  long calls = 0;
  std::array<FakeLaunch, 2048> launches{};
  long launch_count = 0;
  std::vector<std::string> misuses;

  double clock = 0;  // microseconds that launches took
  double (*duration)(const FakeLaunch&) = nullptr;

  long failing_call = 0;  // 0: none
  const char* failing_entry = nullptr;
  CUresult failure = CUDA_SUCCESS;

 private:
  FakeDriver();
};

}  // namespace bwgemm::test
