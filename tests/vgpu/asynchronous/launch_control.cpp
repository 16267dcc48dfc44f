// SPDX-License-Identifier: Apache-2.0
// clusterlaunchcontrol: a running cluster takes over one that has not begun. The response is 16
// bytes that TMA writes: whether there was one, and its first CTA.
#include <cstring>
#include <utility>

#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

struct Response {
  static constexpr std::uint32_t magic_number = 0x636c6321;
  std::uint32_t magic, is_canceled, first_cta, unused;
};
constexpr std::uint32_t response_bytes = sizeof(Response);
static_assert(response_bytes == 16);

constexpr std::uint32_t to_all = 1;

class CancelRequest : public AsyncTask {
 public:
  CancelRequest(Warp& warp, int lane, const Instruction& instruction)
      : simulation_(warp.simulation), cluster_(warp.cta.cluster), instruction_(instruction) {
    const std::uint32_t to = shared_address(warp, instruction, lane);
    const std::uint32_t barrier = lanes<std::uint32_t>(warp, instruction.b)[lane];
    offset_ = to & offset_mask;
    barrier_ = barrier & offset_mask;
    for (const auto& cta : cluster_.ctas)
      if (instruction.modifiers & to_all || cta.get() == &warp.cta) targets_.push_back(cta.get());
    for (Cta* cta : targets_) {
      const MBarrier& target =
          find_mbarrier(simulation_, *cta, barrier_, "try_cancel", &instruction);
      cta->shadow.use_barrier({warp, lane, &instruction, "use of an mbarrier"}, barrier_, true);
      std::byte* memory =
          simulation_.shared(*cta, offset_, response_bytes, response_bytes, &instruction);
      if (cta != &warp.cta) cta->remote_accesses.raise(target.entity, target.phase + 1);
      cta->shadow.begin_async_write({warp, lane, &instruction, "try_cancel"}, offset_,
                                    response_bytes);
      if (simulation_.options().adversarial)
        std::memset(memory, static_cast<int>(Allocation::poison), response_bytes);
    }
  }

  // Each CTA gets the response in its own time.
  bool step() override {
    if (!std::exchange(is_decided_, true))
      if (const auto canceled = simulation_.cancel_cluster()) {
        response_.is_canceled = 1;
        response_.first_cta = static_cast<std::uint32_t>(*canceled * simulation_.cluster_size());
      }
    if (simulation_.options().adversarial)
      std::swap(targets_.back(),
                targets_[simulation_.random(static_cast<std::uint32_t>(targets_.size()))]);
    do {
      respond(*targets_.back());
      targets_.pop_back();
    } while (!targets_.empty() && !simulation_.options().adversarial);
    return !targets_.empty();
  }
  bool belongs_to(const Cluster& cluster) const override { return &cluster == &cluster_; }
  Work work() const override { return {}; }
  void check_exit(const Cta& cta) override {
    if (&cta.cluster == &cluster_)
      simulation_.findings().fatal(
          "launch-control", "CTA " + std::to_string(cta.index) + " exits before a response came",
          &instruction_);
  }

 private:
  void respond(Cta& cta) {
    MBarrier& barrier =
        find_mbarrier(simulation_, cta, barrier_, "try_cancel's response", &instruction_);
    std::memcpy(&cta.shared[offset_], &response_, response_bytes);
    cta.shadow.end_async_write(offset_, response_bytes, barrier.entity, barrier.phase + 1);
    complete_transactions(simulation_, barrier, response_bytes, &instruction_);
  }

  Simulation& simulation_;
  Cluster& cluster_;
  const Instruction& instruction_;
  std::vector<Cta*> targets_;  // that have no response yet
  std::uint32_t offset_, barrier_;
  Response response_{Response::magic_number, 0, 0, 0};
  bool is_decided_ = false;
};

Step try_cancel(Warp& warp, const Instruction& instruction, LaneMask mask) {
  for_each_lane(mask, [&](int lane) {
    if (warp.cta.cluster.saw_no_more_work)
      warp.simulation.findings().report(Finding::Severity::error, "launch-control",
                                        "try_cancel after one that was seen to fail", &instruction);
    warp.simulation.schedule(std::make_shared<CancelRequest>(warp, lane, instruction));
  });
  return Step::next;
}

Response response_of(Warp& warp, const Instruction& instruction, int lane) {
  Response response;
  std::memcpy(&response, lanes<std::byte>(warp, instruction.a) + lane * response_bytes,
              response_bytes);
  if (response.magic != Response::magic_number)
    fail(warp, instruction, "launch-control", "this is no response of try_cancel");
  return response;
}

Step is_canceled(Warp& warp, const Instruction& instruction, LaneMask mask) {
  LaneMask yes = 0;
  for_each_lane(mask, [&](int lane) {
    const bool is_canceled = response_of(warp, instruction, lane).is_canceled != 0;
    yes |= static_cast<LaneMask>(is_canceled) << lane;
    if (!is_canceled) warp.cta.cluster.saw_no_more_work = true;
  });
  set_predicate(warp, instruction.d, yes, mask);
  return Step::next;
}

Step first_cta(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const auto& list = warp.simulation.program().lists[instruction.list];
  const Dim3& grid = warp.simulation.request().grid;
  for_each_lane(mask, [&](int lane) {
    const Response response = response_of(warp, instruction, lane);
    if (!response.is_canceled)
      fail(warp, instruction, "launch-control", "asks for the CTA of a request that failed");
    const std::uint32_t x = response.first_cta % grid.x, rest = response.first_cta / grid.x;
    const std::uint32_t position[4] = {x, rest % grid.y, rest / grid.y, 0};
    for (std::size_t i = 0; i < list.size(); ++i)
      lanes<std::uint32_t>(warp, list[i])[lane] = position[instruction.size + i];
  });
  return Step::next;
}

}  // namespace

bool decode_launch_control(Decoder& decoder) {
  if (decoder.base() != "clusterlaunchcontrol") return false;
  Instruction& instruction = decoder.instruction;
  if (decoder.type() != Type::b128) decoder.fail("type .b128 expected");
  if (decoder.take("try_cancel")) {
    decoder.expect("async");
    decoder.take("shared::cta");
    decoder.expect("mbarrier::complete_tx::bytes");
    if (decoder.take("multicast::cluster::all")) instruction.modifiers = to_all;
    instruction.a = decoder.address(0, 4);
    instruction.b = decoder.plain_address(1, 4);
    instruction.execute = try_cancel;
    return true;
  }
  decoder.expect("query_cancel");
  instruction.a = decoder.source(1, response_bytes);
  if (decoder.take("is_canceled")) {
    decoder.expect("pred");
    instruction.d = decoder.predicate_destination(0);
    instruction.execute = is_canceled;
    return true;
  }
  if (decoder.type() != Type::b32) decoder.fail("type .b32 expected");
  const int part = decoder.one_of(
      {"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z", "get_first_ctaid"});
  if (part == 3) decoder.expect("v4");
  instruction.size = static_cast<std::uint32_t>(part == 3 ? 0 : part);
  instruction.list = decoder.destinations(0, 4);
  if (decoder.list(instruction.list).size() != (part == 3 ? 4u : 1u))
    decoder.fail("vector of another size");
  instruction.execute = first_cta;
  return true;
}

}  // namespace bwgemm::vgpu
