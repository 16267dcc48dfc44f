// SPDX-License-Identifier: Apache-2.0
// Driver: the state of the process, all of it under one lock; and call(), in which every entry
// point wraps its work: no cancellation, lock, preconditions, and the way from Failure to CUresult.
#pragma once

#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "vgpu/driver/callback.h"
#include "vgpu/driver/cancellation.h"
#include "vgpu/driver/context.h"
#include "vgpu/driver/heap.h"
#include "vgpu/driver/kernel.h"
#include "vgpu/driver/schedule.h"
#include "vgpu/driver/stream.h"
#include "vgpu/timing/constants.h"

namespace bwgemm::vgpu::driver {

struct Settings {
  std::vector<const DeviceModel*> models;
  std::uint64_t seed = 1;
  bool is_strict = true;  // findings make the work fail
  vgpu::RunOptions run;
  std::optional<vgpu::Constants> timing;  // then kernels run in simulated time

  // From the environment; the table of variables is in README.md. No models: a name is unknown.
  static Settings of_environment();
};

struct Driver {
  static Driver& get();  // never destroyed: threads may outlive main

  Settings settings;
  std::mutex mutex;
  bool is_initialized = false;
  unsigned long long last_id = 0;       // of streams and captures
  unsigned long long launch_count = 0;  // of kernels

  Scheduler scheduler;
  Heap heap;
  Contexts contexts;
  Streams streams;
  Events events;
  std::vector<std::shared_ptr<Capture>> captures;  // begun and not ended
  CallbackThread destructors;
  UserObjects user_objects;
  Graphs graphs;
  GraphExecs graph_execs;
  Libraries libraries;
  Modules modules;

 private:
  explicit Driver(Settings from);
};

enum class Needs {
  nothing,
  driver,          // cuInit
  context,         // and a current context that is alive
  working_context  // and whose work has not failed
};

// Fails like a call that has these needs. Returns the current context, if it needs one.
Context* checked(Needs needs);

template <class Body>
CUresult call(Needs needs, const Body& body) noexcept {
  const CancellationHold hold;
  if (is_in_callback()) return refuse_call_of_callback();
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  try {
    checked(needs);
    body(driver);
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return failure.result;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

// The current context; the call needs one.
inline Context& current_context() {
  return *Contexts::current();
}

}  // namespace bwgemm::vgpu::driver
