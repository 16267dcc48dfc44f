// SPDX-License-Identifier: Apache-2.0
// Handles: the live objects of one kind, known to callers by an opaque pointer. An address that is
// no live object of the kind is refused, never followed.
#pragma once

#include <memory>
#include <unordered_map>

#include "vgpu/driver/status.h"

namespace bwgemm::vgpu::driver {

template <class Object, class Handle>
class Handles {
 public:
  static Handle handle_of(const Object& object) {
    return reinterpret_cast<Handle>(const_cast<Object*>(&object));
  }

  Handle add(std::shared_ptr<Object> object) {
    const Handle handle = handle_of(*object);
    live_.emplace(handle, std::move(object));
    return handle;
  }

  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = live_.find(handle);
    return found != live_.end() ? found->second : nullptr;
  }

  Object& get(Handle handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) const {
    const auto found = live_.find(handle);
    require(found != live_.end(), otherwise);
    return *found->second;
  }

  std::shared_ptr<Object> take(Handle handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    const auto found = live_.find(handle);
    require(found != live_.end(), otherwise);
    std::shared_ptr<Object> taken = std::move(found->second);
    live_.erase(found);
    return taken;
  }

  template <class Predicate>
  void erase_if(const Predicate& predicate) {
    std::erase_if(live_, [&](const auto& entry) { return predicate(*entry.second); });
  }

  template <class Body>
  void for_each(const Body& body) const {
    for (const auto& [handle, object] : live_) body(*object);
  }

 private:
  std::unordered_map<Handle, std::shared_ptr<Object>> live_;
};

}  // namespace bwgemm::vgpu::driver
