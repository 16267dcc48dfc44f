// SPDX-License-Identifier: Apache-2.0
// Multiprocessor: the columns of tensor memory, and the right to allocate them, which the CTAs on
// one multiprocessor share. Under an adversarial schedule a CTA of this grid may share it with one
// of another cluster, and with a neighbour: a CTA of some other kernel, which goes after a while.
#pragma once

#include <bitset>
#include <cstdint>

#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {

class Multiprocessor : public AsyncTask {
 public:
  explicit Multiprocessor(Simulation& simulation) : simulation_(simulation) {}

  void let_in_neighbour();

  bool is_free(std::uint32_t first, std::uint32_t count) const;
  void take(const Cta& cta, std::uint32_t first, std::uint32_t count);
  void give(std::uint32_t first, std::uint32_t count);
  // The right to allocate is one CTA's from its first allocation until it relinquishes it.
  bool may_allocate(const Cta& cta) const { return allocating_ == nullptr || allocating_ == &cta; }
  void relinquish(const Cta& cta);

  bool step() override;  // the neighbour goes
  bool belongs_to(const Cluster&) const override { return false; }
  Work work() const override { return {}; }

 private:
  Simulation& simulation_;
  std::bitset<TensorMemory::columns> taken_, neighbour_;
  const Cta* allocating_ = nullptr;
};

// The CTA exits: its columns and its right are free again.
void leave_multiprocessor(Cta& cta);

}  // namespace bwgemm::vgpu
