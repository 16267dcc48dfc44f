// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma and .commit: what is judged at their issue. Order around tensor memory has a view of
// its own, taken at fence::after_thread_sync.
#include <algorithm>

#include "vgpu/asynchronous/tcgen05.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

using Severity = Finding::Severity;

// In Instruction::modifiers: the kind, and these.
enum : std::uint32_t { kind_bits = 3, a_in_tensor_memory = 4, weight_stationary = 8 };

TensorPipe& pipe_of(Warp& warp, const Instruction& instruction) {
  Cluster& cluster = warp.cta.cluster;
  const bool pair = instruction.size == 2;
  const std::uint32_t first = pair ? warp.cta.rank & ~1u : warp.cta.rank;
  if (pair && first + 1 >= cluster.ctas.size())
    fail(warp, instruction, "cta-group", "cta_group::2 without a pair of CTAs");
  auto& pipe = cluster.pipes[first];
  if (!pipe)
    pipe = std::make_shared<TensorPipe>(warp.simulation, *cluster.ctas[first],
                                        pair ? cluster.ctas[first + 1].get() : nullptr);
  return *pipe;
}

// A multiplication's use of columns of one CTA: of D, or of A.
struct TensorUse {
  Warp& warp;
  const Instruction& instruction;
  int lane;
  const TensorPipe& pipe;
};

void require_allocated(const TensorUse& use, const Cta& cta, std::uint32_t first,
                       std::uint32_t count) {
  if (!cta.tensor.is_allocated(first, count))
    fail(use.warp, use.instruction, "tensor-bounds",
         "columns " + std::to_string(first) + " .. of CTA " + std::to_string(cta.index) +
             " are not allocated");
}

// Judges what was stored there by tcgen05.st, or multiplied by another pipe.
bool judge_written(const TensorUse& use, const TensorMemory::Cell& cell, const char* what) {
  const Knowledge& knowledge = use.warp.knowledge.of_lane(use.lane);
  if (!cell.written) {
    use.warp.simulation.findings().report(Severity::error, "uninitialised-tensor",
                                          std::string(what) + " of columns that were never written",
                                          &use.instruction);
    return false;
  }
  if (cell.writer == use.pipe.entity() || use.warp.stored(cell) ||
      knowledge.tensor.at(cell.writer) >= cell.written_at)
    return true;
  report_tensor_race(use.warp, use.instruction, use.lane, cell.writer, cell.written_at,
                     std::string(what) + " not ordered after");
  return false;
}

// The accumulator: allocated, initialised if it is added to, and not being loaded.
void claim_accumulator(const TensorUse& use, Cta& cta,
                       const TensorPipe::Multiplication& multiplication) {
  const std::uint32_t columns = multiplication.shape.tensor_columns();
  require_allocated(use, cta, multiplication.column, columns);
  const Clock& order = use.warp.knowledge.of_lane(use.lane).tensor;
  bool fine = use.warp.simulation.options().clocks;
  for (std::uint32_t quarter = 0; quarter < TensorMemory::quarters; ++quarter)
    for (std::uint32_t i = 0; i < columns; ++i) {
      TensorMemory::Cell& cell = cta.tensor.cell(quarter, multiplication.column + i);
      if (fine && multiplication.accumulate)
        fine = judge_written(use, cell, "tcgen05.mma's addition");
      if (fine && cell.reader != 0 && cell.reader != use.pipe.entity() &&
          order.at(cell.reader) < cell.read_at) {
        report_tensor_race(use.warp, use.instruction, use.lane, cell.reader, cell.read_at,
                           "tcgen05.mma over an accumulator not ordered after");
        fine = false;
      }
      cell = {true, use.pipe.entity(), 0, use.pipe.next_number(), 0};
    }
}

void read_a(const TensorUse& use, Cta& cta, std::uint32_t first) {
  constexpr std::uint32_t columns = 8;  // 32 bytes of k
  require_allocated(use, cta, first, columns);
  bool fine = use.warp.simulation.options().clocks;
  for (std::uint32_t quarter = 0; quarter < TensorMemory::quarters; ++quarter)
    for (std::uint32_t i = 0; i < columns; ++i) {
      TensorMemory::Cell& cell = cta.tensor.cell(quarter, first + i);
      if (fine) fine = judge_written(use, cell, "tcgen05.mma's read of A");
      cell.reader = use.pipe.entity();
      cell.read_at = use.pipe.next_number();
    }
}

TensorPipe::Multiplication multiplication_of(Warp& warp, const Instruction& instruction, int lane) {
  const std::uint32_t d = lanes<std::uint32_t>(warp, instruction.d)[lane];
  const bool ws = instruction.modifiers & weight_stationary;
  TensorPipe::Multiplication result{};
  result.shape = MmaShape::from(lanes<std::uint32_t>(warp, instruction.c)[lane],
                                static_cast<MmaShape::Kind>(instruction.modifiers & kind_bits),
                                instruction.size, ws);
  result.a_in_tensor_memory = instruction.modifiers & a_in_tensor_memory;
  result.a = result.a_in_tensor_memory ? lanes<std::uint32_t>(warp, instruction.a)[lane]
                                       : lanes<std::uint64_t>(warp, instruction.a)[lane];
  result.b = lanes<std::uint64_t>(warp, instruction.b)[lane];
  result.column = d & column_mask;
  result.first_lane = d >> lane_shift;
  result.accumulate = (predicate(warp, instruction.predicate) >> lane & 1) != 0;
  if (result.shape.error) fail(warp, instruction, "descriptor", result.shape.error);
  const bool may_shift = result.shape.rows == 64 && !ws && instruction.size == 1;
  if (result.first_lane != 0 && !(may_shift && result.first_lane == 16))
    fail(warp, instruction, "tensor-bounds", "an accumulator that begins at another lane");
  if (result.a_in_tensor_memory && (result.shape.cta_rows != TensorMemory::lanes ||
                                    result.a >> lane_shift != 0 || result.shape.a_mn_major))
    fail(warp, instruction, "descriptor", "A in tensor memory: only K-major, 128 rows per CTA");
  return result;
}

Step multiply_into_tensor_memory(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  TensorPipe& pipe = pipe_of(warp, instruction);
  for_each_lane(mask, [&](int lane) {
    const auto multiplication = multiplication_of(warp, instruction, lane);
    const Knowledge& knowledge = warp.knowledge.of_lane(lane);
    // By the letter, what was waited for counts only behind fence::after_thread_sync.
    const Clock& order = simulation.options().strict ? knowledge.tensor : knowledge.view.generic;
    const TensorUse use{warp, instruction, lane, pipe};
    for (std::uint32_t half = 0; half < instruction.size && !simulation.is_timed(); ++half) {
      Cta& cta = pipe.cta(half);
      if (cta.exited)
        fail(warp, instruction, "exited-peer", "tcgen05.mma with a CTA that has exited");
      claim_accumulator(use, cta, multiplication);
      const OperandReader reader{{warp, lane, &instruction, "tcgen05.mma's read"},
                                 order,
                                 knowledge.view.async,
                                 pipe.entity(),
                                 pipe.next_number()};
      if (multiplication.a_in_tensor_memory)
        read_a(use, cta, multiplication.a & column_mask);
      else
        judge_operand(cta, multiplication.operand_a(), 0, multiplication.shape.cta_rows, reader);
      judge_operand(cta, multiplication.operand_b(), 0,
                    multiplication.shape.columns / instruction.size, reader);
    }
    pipe.push(multiplication, warp, instruction);
  });
  simulation.schedule(warp.cta.cluster.pipes[pipe.cta(0).rank]);
  return Step::next;
}

constexpr std::uint32_t to_several_ctas = 1;

// Hands over the completion of the thread's multiplications and what they came after, but none of
// the thread's other accesses.
Step commit_to_barriers(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  Cluster& cluster = warp.cta.cluster;
  TensorPipe& pipe = pipe_of(warp, instruction);
  for_each_lane(mask, [&](int lane) {
    const std::uint32_t address = shared_address(warp, instruction, lane);
    const std::uint32_t offset = address & offset_mask;
    const std::uint32_t destinations =
        instruction.modifiers & to_several_ctas
            ? lanes<std::uint16_t>(warp, instruction.b)[lane]
            : 1u << simulation.cta_at(warp.cta, address, &instruction).rank;
    if (destinations >> cluster.ctas.size() != 0)
      fail(warp, instruction, "multicast", "a commit to a CTA that is not in the cluster");
    for_each_lane(destinations, [&](int rank) {
      find_mbarrier(simulation, *cluster.ctas[rank], offset, "tcgen05.commit", &instruction);
      cluster.ctas[rank]->shadow.use_barrier(
          {warp, lane, &instruction, "tcgen05.commit to an mbarrier"}, offset, true);
    });
    const Knowledge& knowledge = warp.knowledge.of_lane(lane);
    pipe.push(
        TensorPipe::Commit{
            offset, destinations, {knowledge.tensor, knowledge.view.async}, &warp.cta},
        warp, instruction);
  });
  simulation.schedule(cluster.pipes[pipe.cta(0).rank]);
  return Step::next;
}

}  // namespace

void report_tensor_race(Warp& warp, const Instruction& instruction, int lane, Entity before,
                        Time at, const std::string& text) {
  const bool only_fence = warp.knowledge.of_lane(lane).view.generic.at(before) >= at;
  warp.simulation.findings().report(
      only_fence ? Severity::strict : Severity::error, only_fence ? "tensor-fence" : "tensor-race",
      text + " " + warp.simulation.entity_name(warp, before) +
          (only_fence ? ", for want of tcgen05.fence::after_thread_sync" : ""),
      &instruction);
}

// How operands are kept for the next multiplication (.collector) changes no result.
void decode_tensor_multiply(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const bool ws = decoder.take("ws");
  instruction.modifiers =
      static_cast<std::uint32_t>(decoder.one_of({"kind::f16", "kind::tf32", "kind::f8f6f4"}));
  if (ws) {
    if (instruction.size != 1) decoder.fail(".ws in one CTA only");
    instruction.modifiers |= weight_stationary;
  }
  for (const char* use : {"fill", "use", "lastuse", "discard"})
    for (const char* buffer : {"a", "b0", "b1", "b2", "b3"})
      if (ws == (*buffer == 'b'))
        decoder.take(std::string("collector::").append(buffer).append("::").append(use));
  if (decoder.text(1).starts_with('[')) instruction.modifiers |= a_in_tensor_memory;
  instruction.d = decoder.plain_address(0, 4);
  instruction.a = instruction.modifiers & a_in_tensor_memory ? decoder.plain_address(1, 4)
                                                             : decoder.source(1, 8);
  instruction.b = decoder.source(2, 8);
  instruction.c = decoder.source(3, 4);
  instruction.predicate = decoder.predicate_source(4);
  instruction.execute = multiply_into_tensor_memory;
}

void decode_tensor_commit(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  decoder.expect("mbarrier::arrive::one");
  decoder.take("shared::cluster");
  const bool to_many = decoder.take("multicast::cluster");
  if (decoder.type() != Type::b64) decoder.fail("type not supported");
  instruction.modifiers = to_many ? to_several_ctas : 0;
  instruction.a = decoder.address(0, 4);
  if (to_many) instruction.b = decoder.source(1, 2);
  instruction.execute = commit_to_barriers;
}

}  // namespace bwgemm::vgpu
