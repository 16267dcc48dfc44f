// SPDX-License-Identifier: Apache-2.0
// Operands of one call: filled matrices, their copies on the device, scalars and workspace there,
// and the call itself.
#pragma once

#include <memory>
#include <string>

#include "case.h"
#include "support/guarded_buffer.h"

namespace bwgemm::fuzz {

class Operands {
 public:
  // With `first`, A is C of that call, and what it holds when this one runs.
  explicit Operands(const Call& call, const Operands* first = nullptr);

  // Restores C and the workspace to what they were before any call.
  void reset();

  bwgemmStatus_t submit(bwgemmHandle_t handle) const;
  bwgemmStatus_t workspace_size(bwgemmHandle_t handle, std::size_t* size) const;

  // Waits for the device and looks at everything that the call may write or read. Empty, or what is
  // wrong.
  std::string judge();
  // C as it is now, the elements and what lies between them.
  std::vector<std::byte> result() { return c_device_->download().bytes(); }

  void* workspace() const { return workspace_ ? workspace_->pointer() : nullptr; }

  // Writes to C what no call wrote: into its last element, or where no element is.
  void spoil_element();
  void spoil_padding();

 private:
  void* a_pointer() const;
  void* b_pointer() const;
  void* c_pointer() const { return c_device_->pointer(); }
  const void* alpha() const;
  const void* beta() const;
  void write(std::int64_t element, float value);

  Call call_;
  const Operands* first_;
  test::Matrix a_, b_, c_;
  std::unique_ptr<test::GuardedBuffer> a_device_, b_device_, c_device_, workspace_, scalars_;
  std::unique_ptr<test::UnmappedMemory> nowhere_;
};

}  // namespace bwgemm::fuzz
