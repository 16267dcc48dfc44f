// SPDX-License-Identifier: Apache-2.0
// Context: one address of work and errors on a device, with its two default streams, and each
// thread's stack of current contexts. A destroyed context stays known, so that using it is an
// error and not undefined; its object serves the next one created, as addresses do, with a new id.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "vgpu/driver/device.h"
#include "vgpu/driver/status.h"

namespace bwgemm::vgpu::driver {

struct Stream;

struct Context {
  Context(int ordinal, const DeviceModel& model, bool is_primary);
  ~Context();

  CUcontext handle() const { return reinterpret_cast<CUcontext>(const_cast<Context*>(this)); }

  int ordinal;
  const DeviceModel* model;
  bool is_primary;
  bool is_alive = false;
  unsigned long long id = 0;  // of the life it lives now
  unsigned flags = 0;
  int references = 0;             // of a primary context
  CUresult error = CUDA_SUCCESS;  // sticky: what its work died of
  std::size_t pending = 0;        // operations submitted and not done
  std::unique_ptr<Stream> legacy;
  std::map<unsigned long long, std::unique_ptr<Stream>> per_thread;  // by thread, see stream.cpp
};

class Contexts {
 public:
  explicit Contexts(const std::vector<const DeviceModel*>& models);

  Context& primary(int ordinal) { return *all_[static_cast<std::size_t>(ordinal)]; }
  Context& create(int ordinal, unsigned flags);
  // Gives a context that is not alive its next life.
  void begin(Context& context);
  // Ends the life: what belongs to it is gone when this returns.
  void end(Context& context);

  // The context of a handle, alive or not.
  Context& get(CUcontext handle) const;

  // Of the calling thread; null if none.
  static Context* current();
  static void set_current(Context* context);
  static void push(Context& context);
  static Context& pop();

 private:
  std::vector<const DeviceModel*> models_;
  std::vector<std::unique_ptr<Context>> all_;  // the primary contexts first
  unsigned long long last_id_ = 0;
};

}  // namespace bwgemm::vgpu::driver
