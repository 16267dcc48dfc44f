// SPDX-License-Identifier: Apache-2.0
// Fences: between proxies, and of the memory model.
#include <algorithm>

#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

// In Instruction::modifiers of a proxy fence.
enum Spaces : std::uint32_t { shared_space = 1, global_space = 2, all_spaces = 3 };

// What the thread did and knows so far becomes ordered for the async proxy as well. Its next
// accesses are later than the fence, or a store behind the fence would count as before it.
void cross_to_async(Warp& warp, Knowledge& knowledge, std::uint32_t spaces) {
  View& view = knowledge.view;
  view.generic.raise(warp.entity, warp.time);
  if (spaces & shared_space) view.async.join(view.generic);
  if (spaces & global_space) view.async_global.join(view.generic);
}

void remember_fence(Knowledge& knowledge, Scope scope) {
  for (int narrower = 0; narrower <= static_cast<int>(scope); ++narrower)
    knowledge.view.join(knowledge.observed[narrower]);
  knowledge.fenced = knowledge.view;
  knowledge.fence_scope = static_cast<int>(scope);
}

Step proxy_fence(Warp& warp, const Instruction& instruction, LaneMask mask) {
  warp.knowledge.for_lanes(mask, warp.live, [&](Knowledge& knowledge) {
    cross_to_async(warp, knowledge, instruction.modifiers);
  });
  if (mask & (mask - 1)) warp.fenced_together = true;
  ++warp.time;
  return Step::next;
}

Step barrier_init_fence(Warp& warp, const Instruction&, LaneMask mask) {
  warp.knowledge.for_lanes(mask, warp.live, [&](Knowledge& knowledge) {
    cross_to_async(warp, knowledge, all_spaces);
    remember_fence(knowledge, Scope::cluster);
  });
  ++warp.time;
  return Step::next;
}

Step memory_fence(Warp& warp, const Instruction& instruction, LaneMask mask) {
  const View released = warp.release(mask);
  warp.knowledge.for_lanes(mask, warp.live, [&](Knowledge& knowledge) {
    knowledge.view.join(released);
    remember_fence(knowledge, static_cast<Scope>(instruction.modifiers));
  });
  return Step::next;
}

// .sync_restrict narrows what is ordered; here more is.
bool decode_restriction(Decoder& decoder) {
  return decoder.take("sync_restrict::shared::cta") ||
         decoder.take("sync_restrict::shared::cluster");
}

// Tensor maps that a kernel changes are memory like other; so their fences are of the memory model.
void decode_proxy_fence(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  instruction.execute = proxy_fence;
  const int proxy = decoder.one_of({"async", "async::generic", "tensormap::generic", "alias"});
  instruction.modifiers = all_spaces;
  if (proxy == 0 && decoder.take("global"))
    instruction.modifiers = global_space;
  else if (proxy == 0 && (decoder.take("shared::cta") || decoder.take("shared::cluster")))
    instruction.modifiers = shared_space;
  if (proxy == 0 || proxy == 3) return;
  const bool acquires = decoder.one_of({"release", "acquire"}) == 1;
  if (proxy == 1) {
    if (!decode_restriction(decoder)) decoder.fail(".sync_restrict expected");
    decoder.expect("cluster");
    return;
  }
  instruction.execute = memory_fence;
  instruction.modifiers = static_cast<std::uint32_t>(decode_scope(decoder));
  if (acquires) {
    instruction.a = decoder.plain_address(0, 8);
    if (decoder.immediate(1) != 128) decoder.fail("the size of a tensor map expected");
  }
}

}  // namespace

bool decode_fence(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  if (decoder.base() == "membar") {
    const bool is_cta = decoder.one_of({"cta", "gl", "sys"}) == 0;
    instruction.modifiers = static_cast<std::uint32_t>(is_cta ? Scope::cta : Scope::gpu);
    instruction.execute = memory_fence;
    return true;
  }
  if (decoder.base() != "fence") return false;
  if (decoder.take("proxy")) {
    decode_proxy_fence(decoder);
  } else if (decoder.take("mbarrier_init")) {
    decoder.expect("release");
    decoder.expect("cluster");
    instruction.execute = barrier_init_fence;
  } else {
    decoder.one_of({"acq_rel", "sc", "acquire", "release"});
    decode_restriction(decoder);
    instruction.modifiers = static_cast<std::uint32_t>(decode_scope(decoder));
    instruction.execute = memory_fence;
  }
  return true;
}

}  // namespace bwgemm::vgpu
