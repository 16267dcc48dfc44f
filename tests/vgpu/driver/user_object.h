// SPDX-License-Identifier: Apache-2.0
// User objects: something of the program's that lives as long as the program or a graph refers to
// it. The last reference gone, its destructor runs on the driver's own thread.
#pragma once

#include <map>

#include "vgpu/driver/callback.h"
#include "vgpu/driver/handles.h"

namespace bwgemm::vgpu::driver {

struct UserObject {
  Callback destructor;
  unsigned long long of_program = 0, of_graphs = 0;  // references
};

using UserObjects = Handles<UserObject, CUuserObject>;

// Posts the destructor of an object that nothing refers to any more, and forgets the object.
void end_if_unused(UserObject& object);

// The references that one graph holds. A copy holds as many of its own.
class GraphReferences {
 public:
  GraphReferences() = default;
  GraphReferences(const GraphReferences& other) { add(other); }
  GraphReferences& operator=(const GraphReferences&) = delete;
  ~GraphReferences();

  void add(UserObject& object, unsigned long long count);
  void add(const GraphReferences& other);
  // Fails, if the graph holds fewer.
  void remove(UserObject& object, unsigned long long count);

 private:
  std::map<UserObject*, unsigned long long> counts_;
};

}  // namespace bwgemm::vgpu::driver
