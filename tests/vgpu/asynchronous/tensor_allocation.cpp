// SPDX-License-Identifier: Apache-2.0
// tcgen05.alloc, .dealloc and .relinquish_alloc_permit. Of a pair the even CTA alone allocates, in
// both multiprocessors: it writes the address to both CTAs' slots, and the odd CTA's alloc waits
// for that. Where no columns are free an alloc waits.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "vgpu/asynchronous/tcgen05.h"
#include "vgpu/machine/multiprocessor.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

using Severity = Finding::Severity;
using Block = TensorMemory::Block;
constexpr std::uint32_t fewest_columns = 32;

bool is_pair(const Instruction& instruction) {
  return instruction.size == 2;
}

Cta& peer_of(const Warp& warp, const Instruction& instruction) {
  const auto& ctas = warp.cta.cluster.ctas;
  const std::uint32_t rank = warp.cta.rank ^ 1;
  if (rank >= ctas.size())
    fail(warp, instruction, "cta-group", "cta_group::2 without a pair of CTAs");
  return *ctas[rank];
}

// ---- presence of the peer -----------------------------------------------------------------------

// Something that a thread of the CTA did itself is known, or a barrier of all CTAs.
bool is_known_to_run(const Warp& warp, const Cta& cta) {
  using Kind = Cluster::EntityKind;
  const Clock& known = warp.knowledge.of_lane(0).view.generic;
  if (known.at(Cluster::barriers) > 0) return true;
  const auto& entities = warp.cta.cluster.entities;
  for (std::size_t i = 1; i < entities.size(); ++i) {
    const auto& [kind, rank, number] = entities[i];
    const bool is_of_threads = kind == Kind::warp || kind == Kind::tensor_loads ||
                               kind == Kind::bulk || kind == Kind::copies || kind == Kind::arrivals;
    if (is_of_threads && rank == cta.rank && known.at(static_cast<Entity>(i)) > 0) return true;
  }
  return false;
}

// The even CTA writes to the odd one's memory; that one hears from the even one in its own.
void check_presence(Warp& warp, const Instruction& instruction, const Cta& peer) {
  if (!warp.simulation.options().clocks || is_known_to_run(warp, peer)) return;
  warp.simulation.findings().report(
      warp.cta.rank % 2 == 0 ? Severity::error : Severity::strict, "tensor-pair",
      "tcgen05.alloc of a pair not ordered after the beginning of CTA " +
          std::to_string(peer.index),
      &instruction);
}

// ---- alloc --------------------------------------------------------------------------------------

struct Demand {
  std::uint32_t count, slot;
};

Demand checked_demand(Warp& warp, const Instruction& instruction) {
  const std::uint32_t count = lanes<std::uint32_t>(warp, instruction.b)[0];
  if (count < fewest_columns || count > TensorMemory::columns || (count & (count - 1)) != 0)
    fail(warp, instruction, "tensor-allocation", std::to_string(count) + " columns");
  if (warp.cta.tensor.relinquished)
    fail(warp, instruction, "tensor-allocation", "after relinquish_alloc_permit");
  return {count, shared_address(warp, instruction, 0) & offset_mask};
}

Step wait_for_columns(Warp& warp, const char* what, std::uint32_t count) {
  warp.simulation.sleep_on_tensor_memory(warp.current, what, count);
  return Step::retry;
}

// The first aligned columns that are free in all these CTAs' multiprocessors; behind the last: none
// are, or somebody else is allocating.
std::uint32_t free_columns(std::span<Cta* const> ctas, std::uint32_t count) {
  const auto all_of = [&](auto holds) { return std::all_of(ctas.begin(), ctas.end(), holds); };
  if (!all_of([](const Cta* cta) { return cta->multiprocessor->may_allocate(*cta); }))
    return TensorMemory::columns;
  std::uint32_t first = 0;
  while (first < TensorMemory::columns &&
         !all_of([&](const Cta* cta) { return cta->multiprocessor->is_free(first, count); }))
    first += count;
  return first;
}

void end_allocation(const Warp& warp, Block& block) {
  block.is_over = true;
  block.by = warp.entity;
  block.at = warp.time;
  block.phase = warp.in_cluster_barrier ? warp.cluster_phase + 1 : warp.cta.cluster.phase;
}

void write_slot(Warp& warp, const Instruction& instruction, Cta& cta, std::uint32_t slot,
                std::uint32_t first) {
  if (&cta != &warp.cta) cta.remote_accesses.raise(warp.entity, warp.time);
  std::byte* to = warp.simulation.shared(cta, slot, 4, 4, &instruction);
  cta.shadow.write({warp, 0, &instruction, "tcgen05.alloc's store"}, slot, 4);
  std::memcpy(to, &first, sizeof first);
}

Step allocate_in(std::span<Cta* const> ctas, Warp& warp, const Instruction& instruction,
                 const Demand& demand) {
  const std::uint32_t first = free_columns(ctas, demand.count);
  if (first >= TensorMemory::columns)
    return wait_for_columns(warp, "free columns of tensor memory", demand.count);
  for (Cta* cta : ctas) {
    cta->multiprocessor->take(*cta, first, demand.count);
    cta->tensor.prepare();
    cta->tensor.blocks.push_back({first, demand.count});
    write_slot(warp, instruction, *cta, demand.slot, first);
  }
  end_allocation(warp, warp.cta.tensor.blocks.back());
  if (ctas.size() == 1) return Step::next;
  TensorMemory::Offer offer{first, demand.count, demand.slot, {}};
  offer.written.generic.raise(warp.entity, warp.time++);
  ctas[1]->tensor.offers.push_back(std::move(offer));
  warp.simulation.tensor_memory_changed();
  return Step::next;
}

// The odd CTA's part.
Step join_allocation(Warp& warp, const Instruction& instruction, const Demand& demand) {
  TensorMemory& tensor = warp.cta.tensor;
  if (tensor.offers.empty())
    return wait_for_columns(warp, "the alloc of the pair's even CTA, of columns", demand.count);
  const TensorMemory::Offer offer = std::move(tensor.offers.front());
  tensor.offers.pop_front();
  if (offer.count != demand.count)
    fail(warp, instruction, "tensor-pair",
         std::to_string(demand.count) + " columns, of which the pair's even CTA allocates " +
             std::to_string(offer.count));
  if (offer.slot != demand.slot)
    fail(warp, instruction, "tensor-pair",
         "the address to shared " + hexadecimal(demand.slot) +
             ", which the pair's even CTA writes to " + hexadecimal(offer.slot));
  warp.knowledge.acquire(warp.live, warp.live, offer.written);
  end_allocation(warp, *TensorMemory::block_at(tensor.blocks, offer.first));
  return Step::next;
}

Step allocate(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  const Demand demand = checked_demand(warp, instruction);
  warp.simulation.place(warp.cta.cluster);
  if (!is_pair(instruction)) return allocate_in(std::array{&warp.cta}, warp, instruction, demand);
  Cta& peer = peer_of(warp, instruction);
  check_presence(warp, instruction, peer);
  if (warp.cta.rank % 2 != 0) return join_allocation(warp, instruction, demand);
  if (peer.exited)
    fail(warp, instruction, "tensor-pair", "tcgen05.alloc of a pair whose other CTA has exited");
  return allocate_in(std::array{&warp.cta, &peer}, warp, instruction, demand);
}

// ---- dealloc ------------------------------------------------------------------------------------

// Loads of the CTA's, or the pair's, other warps must be over.
void judge_loads(Warp& warp, const Instruction& instruction, const Block& block) {
  for (const auto& cta : warp.cta.cluster.ctas) {
    if ((cta->rank ^ warp.cta.rank) >= instruction.size || cta->tensor.cells.empty()) continue;
    for (std::uint32_t quarter = 0; quarter < TensorMemory::quarters; ++quarter)
      for (std::uint32_t i = 0; i < block.count; ++i) {
        const TensorMemory::Cell& cell = cta->tensor.cell(quarter, block.first + i);
        if (cell.reader == 0 || cell.reader == warp.tensor_entity ||
            warp.knows(0, cell.reader, cell.read_at))
          continue;
        warp.simulation.findings().report(
            Severity::error, "tensor-race",
            "tcgen05.dealloc not ordered after " + warp.simulation.entity_name(warp, cell.reader),
            &instruction);
        return;
      }
  }
}

// The peer's alloc of these columns must be over.
void judge_peers_alloc(Warp& warp, const Instruction& instruction, const Block& block) {
  Cta& peer = peer_of(warp, instruction);
  const Block* theirs = TensorMemory::block_at(peer.tensor.blocks, block.first);
  if (!theirs) theirs = TensorMemory::block_at(peer.tensor.freed, block.first);
  if (!theirs) return;  // allocated without the peer
  const bool is_ordered = theirs->is_over && (warp.knows(0, theirs->by, theirs->at) ||
                                              warp.knows(0, Cluster::barriers, theirs->phase + 1));
  if (!is_ordered)
    warp.simulation.findings().report(
        Severity::error, "tensor-pair",
        "tcgen05.dealloc not ordered after the alloc of CTA " + std::to_string(peer.index),
        &instruction);
}

Step deallocate(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  TensorMemory& tensor = warp.cta.tensor;
  const std::uint32_t first = lanes<std::uint32_t>(warp, instruction.a)[0] & column_mask;
  const std::uint32_t count = lanes<std::uint32_t>(warp, instruction.b)[0];
  const Block* found = TensorMemory::block_at(tensor.blocks, first);
  if (!found || !found->is_over || found->count != count)
    fail(warp, instruction, "tensor-allocation", "these columns were not allocated together");
  const Block block = *found;
  tensor.free(block);
  warp.cta.multiprocessor->give(first, count);
  if (!warp.simulation.options().clocks) return Step::next;
  judge_loads(warp, instruction, block);
  if (is_pair(instruction)) judge_peers_alloc(warp, instruction, block);
  return Step::next;
}

Step relinquish(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  warp.cta.tensor.relinquished = true;
  if (warp.cta.multiprocessor) warp.cta.multiprocessor->relinquish(warp.cta);
  return Step::next;
}

}  // namespace

void decode_tensor_allocation(Decoder& decoder, TensorAllocation action) {
  Instruction& instruction = decoder.instruction;
  if (action == TensorAllocation::relinquish) {
    instruction.execute = relinquish;
    return;
  }
  const bool allocates = action == TensorAllocation::alloc;
  if (allocates) decoder.take("shared::cta");
  if (decoder.type() != Type::b32) decoder.fail("type not supported");
  instruction.a = allocates ? decoder.address(0, 4) : decoder.source(0, 4);
  instruction.b = decoder.source(1, 4);
  instruction.execute = allocates ? allocate : deallocate;
}

}  // namespace bwgemm::vgpu
