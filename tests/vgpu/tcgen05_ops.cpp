// SPDX-License-Identifier: Apache-2.0
// The tcgen05 instructions of a thread or warp: allocation, multiply, commit, load, fences. Order
// around tensor memory has a view of its own, taken at fence::after_thread_sync.
#include <cstring>

#include "vgpu/decoder.h"
#include "vgpu/memory_access.h"
#include "vgpu/tcgen05.h"

namespace bwgemm::vgpu {
namespace {

using Severity = Finding::Severity;
constexpr std::uint32_t fewest_columns = 32, lane_shift = 16;

void require_whole_warp(Warp& warp, const Instruction& instruction, LaneMask mask) {
  if (mask != all_lanes)
    warp.simulation.findings().fatal(
        "divergent", "lanes " + hexadecimal(mask) + " execute a warp's instruction", &instruction);
}

// ---- allocation
// ----------------------------------------------------------------------------------

Step allocate(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  Cta& cta = warp.cta;
  TensorMemory& tensor = cta.tensor;
  Findings& findings = warp.simulation.findings();
  const std::uint32_t count = lanes<std::uint32_t>(warp, instruction.b)[0];
  if (count < fewest_columns || count > TensorMemory::columns || (count & (count - 1)) != 0)
    findings.fatal("tensor-allocation", std::to_string(count) + " columns", &instruction);
  if (tensor.relinquished)
    findings.fatal("tensor-allocation", "after relinquish_alloc_permit", &instruction);
  tensor.prepare();
  std::uint32_t first = 0;
  auto is_free = [&] {
    for (std::uint32_t i = 0; i < count; ++i)
      if (tensor.allocated[first + i]) return false;
    return true;
  };
  while (first + count <= TensorMemory::columns && !is_free()) first += count;
  if (first + count > TensorMemory::columns)
    findings.fatal("tensor-allocation", "no columns are left: it would wait for ever",
                   &instruction);
  for (std::uint32_t i = 0; i < count; ++i) tensor.allocated[first + i] = true;
  const std::uint32_t offset = shared_address(warp, instruction, 0) & offset_mask;
  std::byte* to = warp.simulation.shared(cta, offset, 4, 4, &instruction);
  cta.shadow.write({warp, 0, &instruction, "tcgen05.alloc's store"}, offset, 4);
  std::memcpy(to, &first, sizeof first);
  return Step::next;
}

// Loads of the CTA's, or the pair's, other warps must be over.
void judge_deallocation(Warp& warp, const Instruction& instruction, std::uint32_t first,
                        std::uint32_t count) {
  for (const auto& cta : warp.cta.cluster.ctas) {
    if ((cta->rank ^ warp.cta.rank) >= instruction.size || cta->tensor.cells.empty()) continue;
    for (std::uint32_t quarter = 0; quarter < TensorMemory::quarters; ++quarter)
      for (std::uint32_t i = 0; i < count; ++i) {
        const TensorMemory::Cell& cell = cta->tensor.cell(quarter, first + i);
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

Step deallocate(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  const std::uint32_t first = lanes<std::uint32_t>(warp, instruction.a)[0] & 0xffff;
  const std::uint32_t count = lanes<std::uint32_t>(warp, instruction.b)[0];
  if (!warp.cta.tensor.is_allocated(first, count))
    warp.simulation.findings().fatal("tensor-allocation", "these columns are not allocated",
                                     &instruction);
  for (std::uint32_t i = 0; i < count; ++i) warp.cta.tensor.allocated[first + i] = false;
  if (warp.simulation.options().clocks) judge_deallocation(warp, instruction, first, count);
  return Step::next;
}

Step relinquish(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  warp.cta.tensor.relinquished = true;
  return Step::next;
}

// ---- multiplication and commit
// -------------------------------------------------------------------

TensorPipe& pipe_of(Warp& warp, const Instruction& instruction) {
  Cluster& cluster = warp.cta.cluster;
  const bool pair = instruction.size == 2;
  const std::uint32_t first = pair ? warp.cta.rank & ~1u : warp.cta.rank;
  if (pair && first + 1 >= cluster.ctas.size())
    warp.simulation.findings().fatal("cta-group", "cta_group::2 without a pair of CTAs",
                                     &instruction);
  auto& pipe = cluster.pipes[first];
  if (!pipe)
    pipe = std::make_shared<TensorPipe>(warp.simulation, *cluster.ctas[first],
                                        pair ? cluster.ctas[first + 1].get() : nullptr);
  return *pipe;
}

// What a missing order around tensor memory is: without the fences it is strict, if all else is
// there.
void report_tensor_race(Warp& warp, const Instruction& instruction, int lane, Entity before,
                        Time at, const std::string& text) {
  const bool only_fence = warp.knowledge.of_lane(lane).view.generic.at(before) >= at;
  warp.simulation.findings().report(
      only_fence ? Severity::strict : Severity::error, only_fence ? "tensor-fence" : "tensor-race",
      text + " " + warp.simulation.entity_name(warp, before) +
          (only_fence ? ", for want of tcgen05.fence::after_thread_sync" : ""),
      &instruction);
}

// The accumulator of one CTA: allocated, initialised if it is added to, and not being loaded.
void claim_accumulator(Warp& warp, const Instruction& instruction, int lane, Cta& cta,
                       const TensorPipe::Multiplication& multiplication, const TensorPipe& pipe) {
  Simulation& simulation = warp.simulation;
  const std::uint32_t columns = multiplication.shape.columns;
  if (!cta.tensor.is_allocated(multiplication.column, columns))
    simulation.findings().fatal("tensor-bounds",
                                "columns " + std::to_string(multiplication.column) + " .. of CTA " +
                                    std::to_string(cta.index) + " are not allocated",
                                &instruction);
  const Clock& order = warp.knowledge.of_lane(lane).tensor;
  bool fine = simulation.options().clocks;
  for (std::uint32_t quarter = 0; quarter < TensorMemory::quarters; ++quarter)
    for (std::uint32_t i = 0; i < columns; ++i) {
      TensorMemory::Cell& cell = cta.tensor.cell(quarter, multiplication.column + i);
      if (fine && multiplication.accumulate && !cell.written) {
        simulation.findings().report(Severity::error, "uninitialised-tensor",
                                     "adds to columns that were never written", &instruction);
        fine = false;
      }
      if (fine && cell.reader != 0 && order.at(cell.reader) < cell.read_at) {
        report_tensor_race(warp, instruction, lane, cell.reader, cell.read_at,
                           "tcgen05.mma over an accumulator not ordered after");
        fine = false;
      }
      cell = {true, pipe.entity(), 0, pipe.next_number(), 0};
    }
}

Step multiply(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  TensorPipe& pipe = pipe_of(warp, instruction);
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t d = lanes<std::uint32_t>(warp, instruction.d)[lane];
    TensorPipe::Multiplication multiplication{
        MmaShape::from(lanes<std::uint32_t>(warp, instruction.c)[lane], instruction.size),
        lanes<std::uint64_t>(warp, instruction.a)[lane],
        lanes<std::uint64_t>(warp, instruction.b)[lane], d & 0xffff,
        (predicate(warp, instruction.predicate) >> lane & 1) != 0};
    const MmaShape& shape = multiplication.shape;
    if (shape.error) simulation.findings().fatal("descriptor", shape.error, &instruction);
    if (d >> lane_shift)
      simulation.findings().fatal("tensor-bounds", "an accumulator that begins at another lane",
                                  &instruction);
    const auto a = MatrixOperand::of_tcgen05(multiplication.a, shape.a_mn_major, shape.f16);
    const auto b = MatrixOperand::of_tcgen05(multiplication.b, shape.b_mn_major, shape.f16);
    const Knowledge& knowledge = warp.knowledge.of_lane(lane);
    // By the letter, what was waited for counts only behind fence::after_thread_sync.
    const Clock& order = simulation.options().strict ? knowledge.tensor : knowledge.view.generic;
    for (std::uint32_t half = 0; half < instruction.size; ++half) {
      Cta& cta = pipe.cta(half);
      if (cta.exited)
        simulation.findings().fatal("exited-peer", "tcgen05.mma with a CTA that has exited",
                                    &instruction);
      claim_accumulator(warp, instruction, lane, cta, multiplication, pipe);
      const OperandReader reader{{warp, lane, &instruction, "tcgen05.mma's read"},
                                 order,
                                 knowledge.view.async,
                                 pipe.entity(),
                                 pipe.next_number()};
      judge_operand(cta, a, 0, TensorMemory::lanes, reader);
      judge_operand(cta, b, 0, shape.columns / instruction.size, reader);
    }
    pipe.push(multiplication, instruction);
  });
  simulation.schedule(warp.cta.cluster.pipes[pipe.cta(0).rank]);
  return Step::next;
}

constexpr std::uint32_t multicast = 1;

// Hands over the completion of the thread's multiplications and what they came after, but none of
// the thread's other accesses.
Step commit(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  Cluster& cluster = warp.cta.cluster;
  TensorPipe& pipe = pipe_of(warp, instruction);
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    const std::uint32_t offset = address & offset_mask;
    const std::uint32_t destinations =
        instruction.modifiers & multicast
            ? lanes<std::uint16_t>(warp, instruction.b)[lane]
            : 1u << simulation.cta_at(warp.cta, address, &instruction).rank;
    if (destinations >> cluster.ctas.size() != 0)
      simulation.findings().fatal("multicast", "a commit to a CTA that is not in the cluster",
                                  &instruction);
    for_each_lane(destinations, [&](int rank) {
      find_mbarrier(simulation, *cluster.ctas[rank], offset, "tcgen05.commit", &instruction);
      cluster.ctas[rank]->shadow.use_barrier(
          {warp, lane, &instruction, "tcgen05.commit to an mbarrier"}, offset, true);
    });
    const Knowledge& knowledge = warp.knowledge.of_lane(lane);
    pipe.push(
        TensorPipe::Commit{
            offset, destinations, {knowledge.tensor, knowledge.view.async}, &warp.cta},
        instruction);
  });
  simulation.schedule(cluster.pipes[pipe.cta(0).rank]);
  return Step::next;
}

// ---- loads and fences
// ----------------------------------------------------------------------------

Step load(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  Simulation& simulation = warp.simulation;
  TensorMemory& tensor = warp.cta.tensor;
  const auto& list = simulation.program().lists[instruction.list];
  const auto address = static_cast<std::uint32_t>(address_of(warp, instruction, instruction.a, 0));
  const std::uint32_t column = address & 0xffff, quarter = warp.index % TensorMemory::quarters;
  const auto columns = static_cast<std::uint32_t>(list.size());
  if (!tensor.is_allocated(column, columns))
    simulation.findings().fatal("tensor-bounds", "a load of columns that are not allocated",
                                &instruction);
  // Hardware reads the warp's own quarter whatever the address says.
  if (address >> lane_shift != quarter * warp_lanes)
    simulation.findings().report(Severity::strict, "tensor-lane",
                                 "lane " + std::to_string(address >> lane_shift) +
                                     " is not where the quarter of " + warp.name() + " begins",
                                 &instruction);
  const Clock& order = warp.knowledge.of_lane(0).tensor;
  bool fine = simulation.options().clocks;
  TensorLoad load{instruction.list, std::vector<std::uint32_t>(columns * warp_lanes)};
  for (std::uint32_t i = 0; i < columns; ++i) {
    TensorMemory::Cell& cell = tensor.cell(quarter, column + i);
    if (fine && !cell.written) {
      simulation.findings().report(Severity::error, "uninitialised-tensor",
                                   "a load of columns that were never written", &instruction);
      fine = false;
    } else if (fine && order.at(cell.writer) < cell.written_at) {
      report_tensor_race(warp, instruction, 0, cell.writer, cell.written_at,
                         "tcgen05.ld not ordered after");
      fine = false;
    }
    cell.reader = warp.tensor_entity;
    cell.read_at = warp.tensor_time;
    auto* registers = lanes<std::uint32_t>(warp, list[i]);
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
      std::memcpy(&load.values[i * warp_lanes + lane],
                  tensor.row(quarter * warp_lanes + lane) + column + i, 4);
    std::memset(registers, 0xff, warp_lanes * 4);
  }
  warp.tensor_loads.push_back(std::move(load));
  return Step::next;
}

Step wait_for_loads(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  for (const TensorLoad& load : warp.tensor_loads) {
    const auto& list = warp.simulation.program().lists[load.list];
    for (std::size_t i = 0; i < list.size(); ++i)
      std::memcpy(lanes<std::uint32_t>(warp, list[i]), &load.values[i * warp_lanes],
                  warp_lanes * 4);
  }
  warp.tensor_loads.clear();
  return Step::next;
}

Step fence_after(Warp& warp, const Instruction&, LaneMask mask) {
  warp.knowledge.for_lanes(mask, warp.live,
                           [](Knowledge& knowledge) { knowledge.tensor = knowledge.view.generic; });
  return Step::next;
}

// Loads that were not waited for are not over.
Step fence_before(Warp& warp, const Instruction&, LaneMask mask) {
  if (!warp.tensor_loads.empty()) return Step::next;
  warp.knowledge.for_lanes(mask, warp.live, [&](Knowledge& knowledge) {
    knowledge.view.generic.raise(warp.tensor_entity, warp.tensor_time);
  });
  ++warp.tensor_time;
  return Step::next;
}

// ---- decoding
// ------------------------------------------------------------------------------------

void expect_all(Decoder& decoder, std::initializer_list<const char*> modifiers) {
  for (const char* modifier : modifiers) decoder.expect(modifier);
}

void decode_allocation(Decoder& decoder, int action) {
  Instruction& instruction = decoder.instruction;
  expect_all(decoder, {"sync", "aligned"});
  if (action == 2) {
    instruction.execute = relinquish;
    return;
  }
  if (action == 0) decoder.take("shared::cta");
  if (decoder.type() != Type::b32) decoder.fail("type not supported");
  instruction.a = action == 0 ? decoder.address(0, 4) : decoder.source(0, 4);
  instruction.b = decoder.source(1, 4);
  instruction.execute = action == 0 ? allocate : deallocate;
}

void decode_multiply(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("kind::f16");
  instruction.d = decoder.plain_address(0, 4);
  instruction.a = decoder.source(1, 8);
  instruction.b = decoder.source(2, 8);
  instruction.c = decoder.source(3, 4);
  instruction.predicate = decoder.predicate_source(4);
  instruction.execute = multiply;
}

void decode_commit(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("mbarrier::arrive::one");
  decoder.take("shared::cluster");
  const bool to_many = decoder.take("multicast::cluster");
  if (decoder.type() != Type::b64) decoder.fail("type not supported");
  instruction.modifiers = to_many ? multicast : 0;
  instruction.a = decoder.address(0, 4);
  if (to_many) instruction.b = decoder.source(1, 2);
  instruction.execute = commit;
}

void decode_load(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  expect_all(decoder, {"sync", "aligned", "32x32b"});
  const int count = decoder.one_of({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  if (decoder.type() != Type::b32) decoder.fail("type not supported");
  instruction.list = decoder.destinations(0, 4);
  instruction.a = decoder.address(1, 4);
  if (decoder.list(instruction.list).size() != 1u << count) decoder.fail("vector of another size");
  instruction.execute = load;
}

}  // namespace

bool decode_tcgen05(Decoder& decoder) {
  if (decoder.base() != "tcgen05") return false;
  Instruction& instruction = decoder.instruction;
  const int action =
      decoder.one_of({"alloc", "dealloc", "relinquish_alloc_permit", "mma", "commit", "ld",
                      "wait::ld", "fence::after_thread_sync", "fence::before_thread_sync"});
  if (action <= 4)
    instruction.size =
        static_cast<std::uint32_t>(decoder.one_of({"cta_group::1", "cta_group::2"})) + 1;
  switch (action) {
    case 0:
    case 1:
    case 2: decode_allocation(decoder, action); break;
    case 3: decode_multiply(decoder); break;
    case 4: decode_commit(decoder); break;
    case 5: decode_load(decoder); break;
    case 6:
      expect_all(decoder, {"sync", "aligned"});
      instruction.execute = wait_for_loads;
      break;
    case 7: instruction.execute = fence_after; break;
    case 8: instruction.execute = fence_before; break;
  }
  return true;
}

}  // namespace bwgemm::vgpu
