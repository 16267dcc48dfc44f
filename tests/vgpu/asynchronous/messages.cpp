// SPDX-License-Identifier: Apache-2.0
// st.async and red.async: a few bytes that travel to a CTA of the cluster and complete transactions
// of an mbarrier there.
#include "vgpu/operations/atomic.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t message_reduces = 1;
constexpr int message_atomic_shift = 4;

class Message : public AsyncTask {
 public:
  Message(Warp& warp, int lane, const Instruction& instruction)
      : simulation_(warp.simulation), instruction_(instruction) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    const std::uint32_t barrier = lanes<std::uint32_t>(warp, instruction.b)[lane];
    const auto& values = simulation_.program().lists[instruction.list];
    value_.resize(instruction.size * values.size());
    gather(warp, values, instruction.size, lane, value_.data());
    to_ = &simulation_.cta_at(warp.cta, address, &instruction);
    offset_ = address & offset_mask;
    barrier_ = barrier & offset_mask;
    if (&simulation_.cta_at(warp.cta, barrier, &instruction) != to_)
      fail(warp, instruction, "tma-barrier", "the mbarrier is not where the bytes go");
    const MBarrier& target = find_mbarrier(simulation_, *to_, barrier_, "st.async", &instruction);
    to_->shadow.use_barrier({warp, lane, &instruction, "use of an mbarrier"}, barrier_, false);
    std::byte* memory = simulation_.shared(*to_, offset_, size(), size(), &instruction);
    const Access access{warp, lane, &instruction, reduces_with() ? "red.async" : "st.async"};
    if (&warp.cta != to_) to_->remote_accesses.raise(target.entity, target.phase + 1);
    if (reduces_with()) {
      to_->shadow.reduce_async(access, offset_, size(), target.entity, target.phase + 1);
      return;
    }
    to_->shadow.begin_async_write(access, offset_, size());
    if (simulation_.options().adversarial)
      std::memset(memory, static_cast<int>(Allocation::poison), size());
  }

  bool step() override {
    MBarrier& barrier = find_mbarrier(simulation_, *to_, barrier_, "a message", &instruction_);
    std::byte* memory = &to_->shared[offset_];
    if (reduces_with()) {
      Atomic::from_bits(instruction_.modifiers >> message_atomic_shift)
          .apply(memory, value_.data(), value_.size());
    } else {
      std::memcpy(memory, value_.data(), value_.size());
      to_->shadow.end_async_write(offset_, size(), barrier.entity, barrier.phase + 1);
    }
    complete_transactions(simulation_, barrier, size(), &instruction_);
    return false;
  }
  bool belongs_to(const Cluster& cluster) const override { return &to_->cluster == &cluster; }
  Work work() const override { return {}; }
  void check_exit(const Cta& cta) override {
    if (&cta == to_)
      simulation_.findings().fatal(
          "exited-peer", "CTA " + std::to_string(cta.index) + " exits with a message on its way",
          &instruction_);
  }

 private:
  bool reduces_with() const { return instruction_.modifiers & message_reduces; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(value_.size()); }

  Simulation& simulation_;
  const Instruction& instruction_;
  Cta* to_;
  std::uint32_t offset_, barrier_;
  std::vector<std::byte> value_;
};

Step send(Warp& warp, const Instruction& instruction, LaneMask mask) {
  for_each_lane(mask, [&](int lane) {
    warp.simulation.schedule(std::make_shared<Message>(warp, lane, instruction));
  });
  return Step::next;
}

}  // namespace

// st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes[.vec].type [to], value, [barrier]
bool decode_message(Decoder& decoder) {
  const bool is_sum = decoder.base() == "red";
  if ((!is_sum && decoder.base() != "st") || !decoder.take("async")) return false;
  Instruction& instruction = decoder.instruction;
  if (is_sum) {
    decoder.expect("relaxed");
    decoder.expect("cluster");
  } else {
    decoder.take("weak");
  }
  decoder.expect("shared::cluster");
  decoder.expect("mbarrier::complete_tx::bytes");
  const std::uint32_t width = is_sum ? 1 : decode_vector_width(decoder);
  if (is_sum) {
    const Atomic atomic = Atomic::decode(decoder);
    instruction.size = size_bytes(atomic.type);
    instruction.modifiers = message_reduces | atomic.bits() << message_atomic_shift;
  } else {
    instruction.size = size_bytes(decoder.type());
  }
  if (instruction.size < 4 || instruction.size > 8) decoder.fail("type not supported");
  instruction.a = decoder.address(0, 4);
  instruction.list = decoder.sources(1, instruction.size);
  instruction.b = decoder.plain_address(2, 4);
  if (decoder.list(instruction.list).size() != width) decoder.fail("vector of another size");
  narrow_granule(decoder.program().shared_granule, instruction.size);
  instruction.execute = send;
  return true;
}

}  // namespace bwgemm::vgpu
