// SPDX-License-Identifier: Apache-2.0
// Export: an entry point as cuGetProcAddress knows it.
#pragma once

#include <vector>

#include "vgpu/driver/stream.h"

namespace bwgemm::vgpu::driver {

struct Export {
  const char* name;  // without version suffix
  int since;         // the CUDA version that gave it this form, as 12040
  void* function;
  void* per_thread;  // with the per-thread default stream for null; or the same function
};

const std::vector<Export>& exports();

// The form of an entry point whose null stream is the calling thread's.
template <auto entry>
struct OnPerThreadStream;

template <class... Arguments, CUresult (*entry)(Arguments...)>
struct OnPerThreadStream<entry> {
  static CUresult call(Arguments... arguments) {
    const PerThreadDefaultStream scope;
    return entry(arguments...);
  }
};

template <auto entry>
Export plain(const char* name, int since) {
  void* function = reinterpret_cast<void*>(entry);
  return {name, since, function, function};
}

// Of an entry point that takes or implies a stream.
template <auto entry>
Export streamed(const char* name, int since) {
  return {name, since, reinterpret_cast<void*>(entry),
          reinterpret_cast<void*>(&OnPerThreadStream<entry>::call)};
}

}  // namespace bwgemm::vgpu::driver
