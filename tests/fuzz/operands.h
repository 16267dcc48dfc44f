// SPDX-License-Identifier: Apache-2.0
// Operands of one call: filled matrices and vectors, their copies on the device, arrays of
// pointers, scalars and workspace there, and the call itself.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "support/guarded_buffer.h"

namespace bwgemm::fuzz {

// A matrix or vector, and its copy on the device if there is one.
struct Placed {
  test::Matrix host;
  std::unique_ptr<test::GuardedBuffer> device;

  void* pointer() const { return device ? device->pointer() : nullptr; }
};

// Which way a call is to take. The algo is of bwgemmMatmul alone.
struct Way {
  std::int64_t algo = -1;
  std::string kernel;          // of the algo; empty: unknown
  std::optional<bool> copies;  // operands, before the product; nothing: unknown
};

class Operands {
 public:
  // With `first`, A is C of that call, and what it holds when this one runs.
  explicit Operands(const Call& call, const Operands* first = nullptr);

  // Restores what is written, and the workspace, to what they were before any call.
  void reset();

  bwgemmStatus_t submit(bwgemmHandle_t handle, const Way& way) const;
  // In place of a call, with at most so many candidates.
  bwgemmStatus_t tune(bwgemmHandle_t handle, std::int64_t candidates);
  std::int64_t tuned() const { return tuned_; }  // the algo that tuning found; -1: none
  bwgemmStatus_t preload(bwgemmHandle_t handle, const Way& way) const;
  bwgemmStatus_t workspace_size(bwgemmHandle_t handle, std::size_t* size) const;
  // Of what the call would do, with the workspace that it has: as much as says what is chosen.
  std::string explained(bwgemmHandle_t handle) const;
  // Number `listed` - 1 of the handle's algos, counted cyclically. Throws if the list is wrong.
  Way listed(bwgemmHandle_t handle, std::int64_t listed) const;

  // Waits for the device and looks at everything that the call may write or read. Empty, or what is
  // wrong.
  std::string judge();
  // What is written as it is now, the elements and what lies between them.
  std::vector<std::byte> result();

  void* workspace() const { return workspace_ ? workspace_->pointer() : nullptr; }

  // Writes what no call wrote: into the last element of C, where no element is, or into the last
  // element of aux or the bias gradient, if that is written.
  void spoil_element();
  void spoil_padding();
  void spoil_aux();
  void spoil_gradient();

 private:
  struct Named {
    const char* name;
    Placed* of;
  };

  void fill();
  void place();
  void make_arrays();
  std::vector<Named> inputs();
  std::vector<Named> outputs();
  const void* a_pointer() const;
  const void* b_pointer() const;
  const void* addend_pointer() const;
  void* c_pointer() const { return c_.pointer(); }
  const void* alpha() const;
  const void* beta() const;
  bwgemmMatmulDesc_t desc(std::int64_t algo) const;
  template <class Function, class... More>
  bwgemmStatus_t matmul(Function entry, bwgemmHandle_t handle, std::int64_t algo,
                        More... more) const;
  // As the call takes them: arrays of pointers, if there are any.
  const void* passed(std::size_t which, const void* plain) const;

  Call call_;
  const Operands* first_;
  Placed a_, b_, c_, addend_, aux_, bias_, row_scale_, column_scale_, gradient_;
  Placed scalars_, arrays_;  // arrays_: of A, B, C and the C apart, 8 bytes each
  std::unique_ptr<test::GuardedBuffer> workspace_;
  std::unique_ptr<test::UnmappedMemory> nowhere_;
  std::int64_t tuned_ = -1;
};

}  // namespace bwgemm::fuzz
