// SPDX-License-Identifier: Apache-2.0
// Matrix fragments spread over the lanes of a warp: ldmatrix, stmatrix, mma.sync.
#include <cstring>

#include "vgpu/asynchronous/matrix_operand.h"
#include "vgpu/operations/memory_access.h"
#include "vgpu/operations/number.h"
#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {
namespace {

constexpr std::uint32_t transposed = 1;
constexpr std::uint32_t matrix_rows = 8, matrix_row_bytes = 16;

// Lane 8 m + r names row r of matrix m. Lane l holds elements 2 (l % 4) and the next of row l / 4;
// transposed, of column l / 4. Rows are read and written by several lanes: a collective access.
template <class Move>
void for_each_row(Warp& warp, const Instruction& instruction, bool stores, Move move) {
  const auto& list = warp.simulation.program().lists[instruction.list];
  // All addresses first: they may lie in a register that a load overwrites.
  std::uint32_t addresses[warp_lanes];
  for (int lane = 0; lane < warp_lanes; ++lane)
    addresses[lane] = shared_address(warp, instruction, lane);
  for (std::uint32_t matrix = 0; matrix < list.size(); ++matrix)
    for (std::uint32_t row = 0; row < matrix_rows; ++row) {
      const std::uint32_t address = addresses[matrix * matrix_rows + row];
      if (address >> rank_shift != warp.cta.rank)
        fail(warp, instruction, "shared-bounds", "a row in another CTA");
      const std::uint32_t offset = address & offset_mask;
      std::byte* memory = warp.simulation.shared(warp.cta, offset, matrix_row_bytes,
                                                 matrix_row_bytes, &instruction);
      const Access access{warp, Access::collective, &instruction, stores ? "store" : "load"};
      if (stores)
        warp.cta.shadow.write(access, offset, matrix_row_bytes);
      else
        warp.cta.shadow.read(access, offset, matrix_row_bytes);
      auto* registers = lanes<std::uint32_t>(warp, list[matrix]);
      for (std::uint32_t column = 0; column < matrix_rows; ++column) {
        const bool swap = instruction.modifiers & transposed;
        const std::uint32_t r = swap ? column : row, c = swap ? row : column;
        move(memory + column * 2,
             reinterpret_cast<std::byte*>(&registers[r * 4 + c / 2]) + c % 2 * 2);
      }
    }
}

Step store_matrix(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  if (warp.simulation.is_timed()) return Step::next;
  for_each_row(warp, instruction, true,
               [](std::byte* memory, const std::byte* half) { std::memcpy(memory, half, 2); });
  return Step::next;
}

Step load_matrix(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  if (warp.simulation.is_timed()) return Step::next;
  for_each_row(warp, instruction, false,
               [](const std::byte* memory, std::byte* half) { std::memcpy(half, memory, 2); });
  return Step::next;
}

constexpr std::uint32_t inputs_f16 = 1;
constexpr int mma_rows = 16, mma_columns = 8, mma_steps = 16;

// m16n8k16: lane l holds, of A, four pairs: rows l / 4 and + 8, k 2 (l % 4) and + 8; of B, two
// pairs: column l / 4, the same k; of C and D, pairs of columns 2 (l % 4) of rows l / 4 and + 8.
Step multiply_fragments(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  if (warp.simulation.is_timed()) return Step::next;
  const auto& lists = warp.simulation.program().lists;
  float a[mma_rows][mma_steps], b[mma_steps][most_columns_behind] = {};
  const bool f16 = instruction.modifiers & inputs_f16;
  auto element = [&](std::uint32_t pair, int half) {
    const auto bits = static_cast<std::uint16_t>(pair >> (16 * half));
    return f16 ? from_f16(bits) : from_bf16(bits);
  };
  for (int i = 0; i < 4; ++i) {
    const auto* const pairs = lanes<std::uint32_t>(warp, lists[instruction.list_b][i]);
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int half = 0; half < 2; ++half)
        a[lane / 4 + i % 2 * 8][lane % 4 * 2 + half + i / 2 * 8] = element(pairs[lane], half);
  }
  for (int i = 0; i < 2; ++i) {
    const auto* const pairs = lanes<std::uint32_t>(warp, lists[instruction.list_c][i]);
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int half = 0; half < 2; ++half)
        b[lane % 4 * 2 + half + i * 8][lane / 4] = element(pairs[lane], half);
  }
  const MmaElement type = f16 ? MmaElement::f16 : MmaElement::bf16;
  const Accumulation how = hopper_accumulation(type);
  const Operand* const c = lists[instruction.displacement].data();
  float sums[mma_rows][mma_columns] = {};
  const auto of_lane = [&](int lane, int i) -> float& {
    return sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
  };
  // In turn, the products come first and C last.
  for (int lane = 0; lane < warp_lanes; ++lane)
    for (int i = 0; i < 4 && !how.in_turn; ++i) of_lane(lane, i) = lanes<float>(warp, c[i])[lane];
  RowOfSums rows[mma_rows];
  for (int i = 0; i < mma_rows; ++i) rows[i] = {sums[i], a[i]};
  multiply_add(how, type, rows, {b[0], most_columns_behind}, mma_columns, mma_steps);
  for (int lane = 0; lane < warp_lanes; ++lane)
    for (int i = 0; i < 4; ++i) {
      const float sum = of_lane(lane, i);
      lanes<float>(warp, lists[instruction.list][i])[lane] =
          how.in_turn ? lanes<float>(warp, c[i])[lane] + sum : sum;
    }
  return Step::next;
}

void decode_matrix_move(Decoder& decoder, bool stores) {
  Instruction& instruction = decoder.instruction;
  for (const char* modifier : {"sync", "aligned", "m8n8"}) decoder.expect(modifier);
  const int count = decoder.one_of({"x1", "x2", "x4"});
  if (decoder.take("trans")) instruction.modifiers = transposed;
  decoder.one_of({"shared", "shared::cta"});
  if (decoder.type() != Type::b16) decoder.fail("type not supported");
  instruction.a = decoder.address(stores ? 0 : 1, 4);
  instruction.list = stores ? decoder.sources(1, 4) : decoder.destinations(0, 4);
  if (decoder.list(instruction.list).size() != 1u << count) decoder.fail("vector of another size");
  instruction.execute = stores ? store_matrix : load_matrix;
}

void decode_multiply_fragments(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const Type c = decoder.type(), b = decoder.type(), a = decoder.type(), d = decoder.type();
  for (const char* modifier : {"sync", "aligned", "m16n8k16", "row", "col"})
    decoder.expect(modifier);
  if (c != Type::f32 || d != Type::f32 || a != b || (a != Type::bf16 && a != Type::f16))
    decoder.fail("types not supported");
  instruction.list = decoder.destinations(0, 4);
  instruction.list_b = decoder.sources(1, 4);
  instruction.list_c = decoder.sources(2, 4);
  instruction.displacement = decoder.sources(3, 4);
  if (decoder.list(instruction.list).size() != 4 || decoder.list(instruction.list_b).size() != 4 ||
      decoder.list(instruction.list_c).size() != 2 ||
      decoder.list(static_cast<std::int32_t>(instruction.displacement)).size() != 4)
    decoder.fail("vector of another size");
  instruction.modifiers = a == Type::f16 ? inputs_f16 : 0;
  instruction.execute = multiply_fragments;
}

}  // namespace

bool decode_fragment(Decoder& decoder) {
  const std::string& base = decoder.base();
  if (base == "stmatrix")
    decode_matrix_move(decoder, true);
  else if (base == "ldmatrix")
    decode_matrix_move(decoder, false);
  else if (base == "mma")
    decode_multiply_fragments(decoder);
  else
    return false;
  return true;
}

}  // namespace bwgemm::vgpu
