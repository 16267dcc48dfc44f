// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/user_object.h"

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {

void end_if_unused(UserObject& object) {
  if (object.of_program > 0 || object.of_graphs > 0) return;
  Driver& driver = Driver::get();
  driver.destructors.post(object.destructor);
  static_cast<void>(driver.user_objects.take(UserObjects::handle_of(object)));
}

GraphReferences::~GraphReferences() {
  for (const auto& [object, count] : counts_) {
    object->of_graphs -= count;
    end_if_unused(*object);
  }
}

void GraphReferences::add(UserObject& object, unsigned long long count) {
  counts_[&object] += count;
  object.of_graphs += count;
}

void GraphReferences::add(const GraphReferences& other) {
  for (const auto& [object, count] : other.counts_) add(*object, count);
}

void GraphReferences::remove(UserObject& object, unsigned long long count) {
  const auto held = counts_.find(&object);
  require_value(held != counts_.end() && held->second >= count);
  held->second -= count;
  object.of_graphs -= count;
  if (held->second == 0) counts_.erase(held);
  end_if_unused(object);
}

}  // namespace bwgemm::vgpu::driver
