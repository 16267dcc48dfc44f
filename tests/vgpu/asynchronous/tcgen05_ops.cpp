// SPDX-License-Identifier: Apache-2.0
// The tcgen05 instructions of whole warps: loads, stores and their waits; and fences.
#include <cstring>

#include "vgpu/asynchronous/tcgen05.h"
#include "vgpu/operations/memory_access.h"

namespace bwgemm::vgpu {
namespace {

using Severity = Finding::Severity;

// ---- loads and stores ---------------------------------------------------------------------------

enum Shape : std::uint32_t { lanes32_bits32, bits64, bits128, bits256, bits32_twice };
constexpr std::uint32_t shape_bits = 7, packed = 8;  // in Instruction::modifiers

struct Place {
  std::uint32_t lane, column;
};
// Where register r of thread t lies, from the instruction's address on; `offset` is that of the
// second half of 16x32bx2.
Place place_of(std::uint32_t shape, std::uint32_t t, std::uint32_t r, std::uint32_t offset) {
  switch (shape) {
    case bits64: return {(t & 1) * 8 + t / 4, (t >> 1 & 1) + 2 * r};
    case bits128: return {t / 4 + 8 * (r & 1), t % 4 + 4 * (r / 2)};
    case bits256: return {t / 4 + 8 * (r >> 1 & 1), 2 * (t % 4) + (r & 1) + 8 * (r / 4)};
    case bits32_twice: return {t % 16, r + t / 16 * offset};
    default: return {t, r};
  }
}

// The columns that an instruction touches, checked; `first` and `end` enclose them.
struct TensorAccess {
  std::uint32_t column, lane, quarter, end;

  TensorAccess(Warp& warp, const Instruction& instruction) {
    const auto address =
        static_cast<std::uint32_t>(address_of(warp, instruction, instruction.a, 0));
    const std::uint32_t shape = instruction.modifiers & shape_bits;
    quarter = warp.index % TensorMemory::quarters;
    column = address & column_mask;
    // Hardware reads the warp's own quarter whatever the address says.
    const std::uint32_t inside = (address >> lane_shift) - quarter * warp_lanes;
    if (inside != 0 && !(inside == 16 && shape != lanes32_bits32))
      warp.simulation.findings().report(Severity::strict, "tensor-lane",
                                        "lane " + std::to_string(address >> lane_shift) +
                                            " is not where the quarter of " + warp.name() +
                                            " begins",
                                        &instruction);
    lane = quarter * warp_lanes + (shape == lanes32_bits32 ? 0 : address >> lane_shift & 16);
    const auto registers =
        static_cast<std::uint32_t>(warp.simulation.program().lists[instruction.list].size());
    const Place last = place_of(shape, warp_lanes - 1, registers - 1, instruction.size);
    const std::uint32_t width = instruction.modifiers & packed ? 2 : 1;
    end = column + (last.column + 1) * width;
    if (!warp.cta.tensor.is_allocated(column, end - column))
      fail(warp, instruction, "tensor-bounds", "an access to columns that are not allocated");
  }
};

// Calls move(register's bits, bits in tensor memory) for every element; packed, each register has
// the low halves of two columns.
template <class Move>
void for_each_element(Warp& warp, const Instruction& instruction, const TensorAccess& access,
                      std::uint32_t* registers, Move move) {
  const bool halves = instruction.modifiers & packed;
  const std::size_t count = warp.simulation.program().lists[instruction.list].size();
  if ((instruction.modifiers & shape_bits) == lanes32_bits32 && !halves) {  // the usual ones
    for (std::uint32_t t = 0; t < warp_lanes; ++t) {
      float* row = warp.cta.tensor.row(access.lane + t) + access.column;
      for (std::uint32_t r = 0; r < count; ++r)
        move(reinterpret_cast<std::byte*>(&registers[r * warp_lanes + t]),
             reinterpret_cast<std::byte*>(row + r), 4);
    }
    return;
  }
  for (std::uint32_t r = 0; r < count; ++r)
    for (std::uint32_t t = 0; t < warp_lanes; ++t) {
      const Place at = place_of(instruction.modifiers & shape_bits, t, r, instruction.size);
      float* row = warp.cta.tensor.row(access.lane + at.lane) + access.column;
      auto* bytes = reinterpret_cast<std::byte*>(&registers[r * warp_lanes + t]);
      if (halves)
        for (std::uint32_t i = 0; i < 2; ++i)
          move(bytes + 2 * i, reinterpret_cast<std::byte*>(row + at.column * 2 + i), 2);
      else
        move(bytes, reinterpret_cast<std::byte*>(row + at.column), 4);
    }
}

Step load_tensor(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  Simulation& simulation = warp.simulation;
  if (simulation.is_timed()) return Step::next;
  const TensorAccess access(warp, instruction);
  const Clock& order = warp.knowledge.of_lane(0).tensor;
  bool fine = simulation.options().clocks;
  for (std::uint32_t column = access.column; column < access.end; ++column) {
    TensorMemory::Cell& cell = warp.cta.tensor.cell(access.quarter, column);
    if (fine && !cell.written) {
      simulation.findings().report(Severity::error, "uninitialised-tensor",
                                   "a load of columns that were never written", &instruction);
      fine = false;
    } else if (fine && !warp.stored(cell) && order.at(cell.writer) < cell.written_at) {
      report_tensor_race(warp, instruction, 0, cell.writer, cell.written_at,
                         "tcgen05.ld not ordered after");
      fine = false;
    }
    cell.reader = warp.tensor_entity;
    cell.read_at = warp.tensor_time;
  }
  const auto& list = simulation.program().lists[instruction.list];
  TensorLoad load{instruction.list, std::vector<std::uint32_t>(list.size() * warp_lanes)};
  for_each_element(warp, instruction, access, load.values.data(),
                   [](std::byte* value, const std::byte* memory, std::size_t bytes) {
                     std::memcpy(value, memory, bytes);
                   });
  for (const Operand& operand : list)
    std::memset(lanes<std::uint32_t>(warp, operand), 0xff, warp_lanes * 4);
  warp.tensor_loads.push_back(std::move(load));
  return Step::next;
}

// Done at once, but known to nobody before tcgen05.wait::st.
Step store_tensor(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  if (warp.simulation.is_timed()) return Step::next;
  const TensorAccess access(warp, instruction);
  const Clock& order = warp.knowledge.of_lane(0).tensor;
  bool fine = warp.simulation.options().clocks;
  for (std::uint32_t column = access.column; column < access.end; ++column) {
    TensorMemory::Cell& cell = warp.cta.tensor.cell(access.quarter, column);
    const auto judge = [&](Entity by, Time at) {
      if (!fine || by == 0 || by == warp.tensor_entity || order.at(by) >= at) return;
      report_tensor_race(warp, instruction, 0, by, at, "tcgen05.st not ordered after");
      fine = false;
    };
    if (cell.written) judge(cell.writer, cell.written_at);
    judge(cell.reader, cell.read_at);
    cell = {true, warp.tensor_entity, 0, warp.tensor_time, 0};
  }
  const auto& list = warp.simulation.program().lists[instruction.list];
  std::vector<std::uint32_t> values(list.size() * warp_lanes);
  for (std::size_t i = 0; i < list.size(); ++i)
    std::memcpy(&values[i * warp_lanes], lanes<std::uint32_t>(warp, list[i]), warp_lanes * 4);
  for_each_element(warp, instruction, access, values.data(),
                   [](const std::byte* value, std::byte* memory, std::size_t bytes) {
                     std::memset(memory, 0, 4);
                     std::memcpy(memory, value, bytes);
                   });
  warp.tensor_stores_pending = true;
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

Step wait_for_stores(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  warp.tensor_stored_until = warp.tensor_time++;
  warp.tensor_stores_pending = false;
  return Step::next;
}

Step fence_after(Warp& warp, const Instruction&, LaneMask mask) {
  warp.knowledge.for_lanes(mask, warp.live,
                           [](Knowledge& knowledge) { knowledge.tensor = knowledge.view.generic; });
  return Step::next;
}

// Loads and stores that were not waited for are not over.
Step fence_before(Warp& warp, const Instruction&, LaneMask mask) {
  if (!warp.tensor_loads.empty() || warp.tensor_stores_pending) return Step::next;
  warp.knowledge.for_lanes(mask, warp.live, [&](Knowledge& knowledge) {
    knowledge.view.generic.raise(warp.tensor_entity, warp.tensor_time);
  });
  if (mask & (mask - 1)) warp.fenced_together = true;
  ++warp.tensor_time;
  return Step::next;
}

// ---- decoding -----------------------------------------------------------------------------------

// .SHAPE.xN[.pack::16b|.unpack::16b].b32
void decode_tensor_access(Decoder& decoder, bool stores) {
  Instruction& instruction = decoder.instruction;
  const int shape = decoder.one_of({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  static constexpr std::size_t registers[] = {1, 1, 2, 4, 1};
  const int count = decoder.one_of({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  instruction.modifiers = static_cast<std::uint32_t>(shape);
  if (decoder.take(stores ? "unpack::16b" : "pack::16b")) instruction.modifiers |= packed;
  if (decoder.type() != Type::b32) decoder.fail("type not supported");
  const std::size_t list = stores ? decoder.operands() - 1 : 0;
  instruction.list = stores ? decoder.sources(list, 4) : decoder.destinations(list, 4);
  instruction.a = decoder.address(stores ? 0 : 1, 4);
  if (shape == bits32_twice)
    instruction.size = static_cast<std::uint32_t>(decoder.immediate(stores ? 1 : 2));
  const std::size_t size = decoder.list(instruction.list).size();
  if (size != registers[shape] << count || size > 128) decoder.fail("vector of another size");
  instruction.execute = stores ? store_tensor : load_tensor;
}

}  // namespace

bool decode_tcgen05(Decoder& decoder) {
  if (decoder.base() != "tcgen05") return false;
  Instruction& instruction = decoder.instruction;
  enum { alloc, dealloc, permit, ld, st, wait_ld, wait_st, mma, commit, after, before };
  const int action = decoder.one_of({"alloc", "dealloc", "relinquish_alloc_permit", "ld", "st",
                                     "wait::ld", "wait::st", "mma", "commit",
                                     "fence::after_thread_sync", "fence::before_thread_sync"});
  if (action <= wait_st)
    for (const char* modifier : {"sync", "aligned"}) decoder.expect(modifier);
  if (action <= permit || action == mma || action == commit)
    instruction.size =
        static_cast<std::uint32_t>(decoder.one_of({"cta_group::1", "cta_group::2"})) + 1;
  switch (action) {
    case ld:
    case st: decode_tensor_access(decoder, action == st); break;
    case wait_ld: instruction.execute = wait_for_loads; break;
    case wait_st: instruction.execute = wait_for_stores; break;
    case mma: decode_tensor_multiply(decoder); break;
    case commit: decode_tensor_commit(decoder); break;
    case after: instruction.execute = fence_after; break;
    case before: instruction.execute = fence_before; break;
    default: decode_tensor_allocation(decoder, static_cast<TensorAllocation>(action));
  }
  return true;
}

}  // namespace bwgemm::vgpu
