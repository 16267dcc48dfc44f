// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/multiprocessor.h"

#include <algorithm>

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t shared_bytes_there = 233472, threads_there = 2048, registers_there = 65536;

using ColumnSet = std::bitset<TensorMemory::columns>;

ColumnSet range(std::uint32_t first, std::uint32_t count) {
  return ColumnSet().set() >> (TensorMemory::columns - count) << first;
}

}  // namespace

void Multiprocessor::let_in_neighbour() {
  static constexpr std::uint32_t counts[] = {32, 64, 128, 256, 512};
  const std::uint32_t count = counts[simulation_.random(std::size(counts))];
  neighbour_ = range(count * simulation_.random(TensorMemory::columns / count), count);
}

bool Multiprocessor::is_free(std::uint32_t first, std::uint32_t count) const {
  return ((taken_ | neighbour_) & range(first, count)).none();
}

void Multiprocessor::take(const Cta& cta, std::uint32_t first, std::uint32_t count) {
  allocating_ = &cta;
  taken_ |= range(first, count);
}

void Multiprocessor::give(std::uint32_t first, std::uint32_t count) {
  taken_ &= ~range(first, count);
  simulation_.tensor_memory_changed();
}

void Multiprocessor::relinquish(const Cta& cta) {
  if (allocating_ != &cta) return;
  allocating_ = nullptr;
  simulation_.tensor_memory_changed();
}

bool Multiprocessor::step() {
  neighbour_.reset();
  simulation_.tensor_memory_changed();
  return false;
}

void leave_multiprocessor(Cta& cta) {
  if (!cta.multiprocessor) return;
  for (const TensorMemory::Block& block : cta.tensor.blocks)
    cta.multiprocessor->give(block.first, block.count);
  cta.multiprocessor->relinquish(cta);
}

bool Simulation::fits_twice(const Cta& cta) const {
  return 2 * cta.shared.size() <= shared_bytes_there && 2 * threads_ <= threads_there &&
         2 * threads_ * program_.launch_registers <= registers_there;
}

void Simulation::place(Cluster& cluster) {
  if (cluster.ctas[0]->multiprocessor) return;
  const bool is_adversarial = options_.adversarial && !timeline_;
  const auto has_room = [&](const std::unique_ptr<Cluster>& other) {
    const auto& there = other->ctas[0]->multiprocessor;
    return other->live_ctas == cluster_size_ && there && there.use_count() == 1;
  };
  const auto other = std::find_if(clusters_.begin(), clusters_.end(), has_room);
  const bool shares =
      is_adversarial && other != clusters_.end() && fits_twice(*cluster.ctas[0]) && chance(0.5);
  for (const auto& cta : cluster.ctas) {
    cta->multiprocessor = shares ? (*other)->ctas[cta->rank]->multiprocessor
                                 : std::make_shared<Multiprocessor>(*this);
    if (shares || !is_adversarial || !chance(0.5)) continue;
    cta->multiprocessor->let_in_neighbour();
    schedule(cta->multiprocessor);
  }
}

}  // namespace bwgemm::vgpu
