// SPDX-License-Identifier: Apache-2.0
#include "vgpu/asynchronous/matrix_operand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vgpu/operations/number.h"

namespace bwgemm::vgpu {
namespace {

std::uint32_t field(std::uint64_t descriptor, int bit) {
  return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4;
}

MatrixOperand common_fields(std::uint64_t descriptor, bool mn_major, MmaElement element) {
  MatrixOperand operand{};
  operand.start = field(descriptor, 0);
  operand.leading = field(descriptor, 16);
  operand.stride = field(descriptor, 32);
  operand.mn_major = mn_major;
  operand.element = element;
  return operand;
}

void set_swizzle(MatrixOperand& operand, Swizzle swizzle) {
  operand.swizzle = swizzle;
  if (operand.mn_major && operand.element == MmaElement::tf32)
    operand.error = "an MN-major operand of tf32 is not modelled";
}

std::uint32_t row_bytes(Swizzle swizzle) {
  return 16u << static_cast<int>(swizzle);
}

}  // namespace

MatrixOperand MatrixOperand::of_wgmma(std::uint64_t descriptor, bool mn_major, MmaElement element) {
  static constexpr Swizzle layouts[] = {Swizzle::none, Swizzle::bytes128, Swizzle::bytes64,
                                        Swizzle::bytes32};
  MatrixOperand operand = common_fields(descriptor, mn_major, element);
  set_swizzle(operand, layouts[descriptor >> 62]);
  if (mn_major && operand.swizzle == Swizzle::none)
    operand.error = "an MN-major operand of wgmma without swizzle is not modelled";
  constexpr std::uint64_t reserved = 0x3ff1c000c000c000ull, base_offset = 7ull << 49;
  if (descriptor & reserved) operand.error = "reserved bits of a wgmma descriptor are set";
  if (descriptor & base_offset) operand.error = "a base offset is not modelled";
  return operand;
}

MatrixOperand MatrixOperand::of_tcgen05(std::uint64_t descriptor, bool mn_major,
                                        MmaElement element) {
  MatrixOperand operand = common_fields(descriptor, mn_major, element);
  switch (descriptor >> 61) {
    case 0: set_swizzle(operand, Swizzle::none); break;
    case 2: set_swizzle(operand, Swizzle::bytes128); break;
    case 4: set_swizzle(operand, Swizzle::bytes64); break;
    case 6: set_swizzle(operand, Swizzle::bytes32); break;
    default: operand.error = "this swizzle code of a tcgen05 descriptor is not modelled";
  }
  constexpr std::uint64_t reserved = 0x1ffe0000c000c000ull;  // with base offset and LBO mode
  if ((descriptor >> 46 & 7) != 1) operand.error = "bits 46-48 of a tcgen05 descriptor are not 1";
  if (descriptor & reserved) operand.error = "reserved bits of a tcgen05 descriptor are set";
  return operand;
}

// Eight rows form a group; `stride` is the distance of groups. Without swizzle, `leading` is that
// of 16-byte columns; with it, a row of the group is one row of the swizzle pattern.
std::uint32_t MatrixOperand::k_major_chunk(std::uint32_t row, std::uint32_t part) const {
  if (swizzle == Swizzle::none) return start + row / 8 * stride + row % 8 * 16 + part * leading;
  return swizzled(start + row / 8 * stride + row % 8 * row_bytes(swizzle) + part * 16, swizzle);
}

// A row of the swizzle pattern holds neighbouring rows of one k; `leading` is the distance to the
// next such stretch of rows, `stride` that of eight steps of k. Without swizzle a stretch is one
// chunk, and the two are exchanged.
std::uint32_t MatrixOperand::mn_major_chunk(std::uint32_t row_group, std::uint32_t k) const {
  if (swizzle == Swizzle::none) return start + row_group * stride + k / 8 * leading + k % 8 * 16;
  const std::uint32_t pitch = row_bytes(swizzle), groups = pitch / 16;
  return swizzled(start + row_group / groups * leading + k / 8 * stride + k % 8 * pitch +
                      row_group % groups * 16,
                  swizzle);
}

namespace {

// Calls use(zero of the type that holds an element, its conversion to f32).
template <class Use>
void with_conversion(MmaElement element, Use use) {
  switch (element) {
    case MmaElement::f16: return use(std::uint16_t(), [](auto bits) { return from_f16(bits); });
    case MmaElement::bf16: return use(std::uint16_t(), [](auto bits) { return from_bf16(bits); });
    case MmaElement::tf32: return use(float(), truncated_to_tf32);
    case MmaElement::e4m3:
      return use(std::uint8_t(), [](auto bits) { return from_float8(bits, Float8::e4m3); });
    case MmaElement::e5m2:
      return use(std::uint8_t(), [](auto bits) { return from_float8(bits, Float8::e5m2); });
  }
}

}  // namespace

void to_floats(MmaElement element, const std::byte* from, std::uint32_t count, float* to) {
  with_conversion(element, [&](auto value, auto conversion) {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::memcpy(&value, from + i * sizeof value, sizeof value);
      to[i] = conversion(value);
    }
  });
}

template <class Bits, class Convert>
void MatrixOperand::fetch_as(const Cta& cta, std::uint32_t rows, float* to, std::uint32_t row_pitch,
                             std::uint32_t k_pitch, Convert convert) const {
  constexpr std::uint32_t together = 16 / sizeof(Bits);
  Bits chunk[together];
  if (mn_major) {
    for (std::uint32_t group = 0; group * together < rows; ++group) {
      const std::uint32_t count = std::min(together, rows - group * together);
      for (std::uint32_t k = 0; k < depth(); ++k) {
        std::memcpy(chunk, &cta.shared[mn_major_chunk(group, k)], sizeof chunk);
        for (std::uint32_t i = 0; i < count; ++i)
          to[(group * together + i) * row_pitch + k * k_pitch] = convert(chunk[i]);
      }
    }
    return;
  }
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t part = 0; part < 2; ++part) {
      std::memcpy(chunk, &cta.shared[k_major_chunk(row, part)], sizeof chunk);
      for (std::uint32_t i = 0; i < together; ++i)
        to[row * row_pitch + (part * together + i) * k_pitch] = convert(chunk[i]);
    }
}

void MatrixOperand::fetch(const Cta& cta, std::uint32_t rows, float* to, std::uint32_t row_pitch,
                          std::uint32_t k_pitch) const {
  with_conversion(element, [&](auto zero, auto conversion) {
    fetch_as<decltype(zero)>(cta, rows, to, row_pitch, k_pitch, conversion);
  });
}

namespace {

constexpr std::uint32_t chunk_bytes = 16;

// Where TMA has put an operand, its lines are in one piece and alike. False: not all of these are;
// nothing is reported.
bool judge_lines(Cta& cta, const MatrixOperand& operand, std::uint32_t first, std::uint32_t rows,
                 const OperandReader& reader) {
  if (!cta.shadow.enabled()) return false;
  SharedShadow::Judged judged;
  bool are_fine = true;
  const bool are_lines = operand.for_each_line(first, rows, [&](std::uint32_t line) {
    const std::uint32_t offset = line * SharedShadow::line_bytes;
    are_fine = are_fine && offset >= shared_base &&
               offset + SharedShadow::line_bytes <= cta.shared.size() &&
               cta.shadow.is_whole(offset);
    if (!are_fine) return;
    if (!cta.shadow.is_judged(offset, judged))
      are_fine = cta.shadow.may_read_whole(reader.access, offset, reader.order, reader.async_order,
                                           reader.unwritten, judged);
    if (!are_fine) return;
    cta.shared.reach(offset, SharedShadow::line_bytes);
    cta.shadow.keep_until(offset, 1, reader.entity, reader.time);
  });
  return are_lines && are_fine;
}

}  // namespace

void judge_operand(Cta& cta, const MatrixOperand& operand, std::uint32_t first, std::uint32_t rows,
                   const OperandReader& reader) {
  Simulation& simulation = reader.access.warp.simulation;
  if (operand.error)
    simulation.findings().fatal("descriptor", operand.error, reader.access.instruction);
  if (judge_lines(cta, operand, first, rows, reader)) return;
  bool fine = true;
  std::uint32_t judged_line = ~0u;  // as a whole
  SharedShadow::Judged judged;
  operand.for_each_chunk(first, rows, [&](std::uint32_t address) {
    const std::uint32_t line = address / SharedShadow::line_bytes;
    if (line == judged_line) return;
    simulation.shared(cta, address, chunk_bytes, 1, reader.access.instruction);
    if (!cta.shadow.enabled()) return;
    if (cta.shadow.is_whole(address)) judged_line = line;
    if (fine)
      fine = cta.shadow.async_read(reader.access, address, chunk_bytes, reader.order,
                                   reader.async_order, reader.unwritten, judged);
    cta.shadow.keep_until(address, chunk_bytes, reader.entity, reader.time);
  });
}

namespace {

// Four steps of k at a time: fewer passes over the row of sums.
__attribute__((target_clones("avx512f", "avx2", "default"))) void multiply_add_in_turn(
    std::span<const RowOfSums> rows, Rows<const float> b, std::uint32_t columns,
    std::uint32_t depth) {
  for (const auto& [d, a] : rows)
    for (std::uint32_t k = 0; k < depth; k += 4) {
      const float a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      const float *b0 = b[k], *b1 = b[k + 1], *b2 = b[k + 2], *b3 = b[k + 3];
      float* __restrict__ sums = d;
      for (std::uint32_t j = 0; j < columns; ++j)
        sums[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
}

// A block of D: some rows, and as many columns as two vectors hold.
constexpr std::size_t block_rows = 4, vector_floats = 16;
constexpr std::uint32_t block_columns = 2 * vector_floats;
static_assert(most_columns_behind >= block_columns);
typedef float Floats __attribute__((vector_size(vector_floats * sizeof(float))));
typedef std::int32_t Flags __attribute__((vector_size(vector_floats * sizeof(float))));

// Numbers whose squares add up to at most the square of this are small enough to find out whether
// they are integers: 1.5 * 2^23 added to one leaves no bits below one.
constexpr float most = 0x1p21f, no_fraction = 0x1.8p23f;

// Squares of numbers, and whether any has something behind the point or is none. Only sums,
// products and bits of vectors: other operations are taken apart where not all clones have them.
struct Squares {
  Flags fractions{};
  Floats squares{};

  [[gnu::always_inline]] void add(const Floats& values) {
    fractions |= reinterpret_cast<Flags>(values + no_fraction - no_fraction - values);
    squares += values * values;
  }
  // Their sum, if all are integers; infinity else.
  [[gnu::always_inline]] float total() const {
    std::int32_t fraction = 0;
    float total = 0;
    for (std::size_t i = 0; i < vector_floats; ++i) fraction |= fractions[i], total += squares[i];
    return fraction == 0 && total <= most * most ? total : HUGE_VALF;
  }
};

// Vectors go by reference: how they would be passed otherwise is not the same for all clones.
[[gnu::always_inline]] inline void load(Floats& to, const float* from, std::uint32_t count) {
  if (count >= vector_floats) {
    std::memcpy(&to, from, sizeof to);
  } else {
    to = Floats{};
    std::memcpy(&to, from, count * sizeof(float));
  }
}

[[gnu::always_inline]] inline void store(float* to, const Floats& from, std::uint32_t count) {
  if (count >= vector_floats)
    std::memcpy(to, &from, sizeof from);
  else
    std::memcpy(to, &from, count * sizeof(float));
}

// d += a b for a block, if d has nothing but integers whose squares add up to at most that of the
// limit. False: it is as before.
__attribute__((target_clones("avx512f", "avx2", "default"))) bool add_integers(
    const RowOfSums* rows, Rows<const float> b, std::uint32_t columns, std::uint32_t depth,
    float limit) {
  const std::uint32_t behind = columns > vector_floats ? columns - vector_floats : 0;
  Floats sums[block_rows][2];
  Squares squares;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < block_rows; ++i) {
    load(sums[i][0], rows[i].d, columns);
    load(sums[i][1], rows[i].d + vector_floats, behind);
    squares.add(sums[i][0]);
    squares.add(sums[i][1]);
  }
  if (!(squares.total() <= limit * limit)) return false;
  const float* a[block_rows];
#pragma GCC unroll 4
  for (std::size_t i = 0; i < block_rows; ++i) a[i] = rows[i].a;
  for (std::uint32_t k = 0; k < depth; ++k) {
    Floats b0, b1;
    load(b0, b[k], vector_floats);
    load(b1, b[k] + vector_floats, vector_floats);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < block_rows; ++i) {
      sums[i][0] += a[i][k] * b0;
      sums[i][1] += a[i][k] * b1;
    }
  }
#pragma GCC unroll 4
  for (std::size_t i = 0; i < block_rows; ++i) {
    store(rows[i].d, sums[i][0], columns);
    store(rows[i].d + vector_floats, sums[i][1], behind);
  }
  return true;
}

// At least the length of each column of a block of B, if all are integers; infinity else.
__attribute__((target_clones("avx512f", "avx2", "default"))) float length_of_columns(
    Rows<const float> b, std::uint32_t columns, std::uint32_t depth) {
  Squares squares;
  for (std::uint32_t k = 0; k < depth; ++k)
    for (std::uint32_t first = 0; first < columns; first += vector_floats) {
      Floats values;
      load(values, b[k] + first, columns - first);
      squares.add(values);
    }
  return std::sqrt(squares.total());
}

// Of some rows of A.
__attribute__((target_clones("avx512f", "avx2", "default"))) float length_of_rows(
    const RowOfSums* rows, std::size_t count, std::uint32_t depth) {
  Squares squares;
  for (std::size_t i = 0; i < count; ++i)
    for (std::uint32_t k = 0; k < depth; k += vector_floats) {
      Floats values;
      load(values, rows[i].a + k, depth - k);
      squares.add(values);
    }
  return std::sqrt(squares.total());
}

}  // namespace

// Integers of which no sum needs more than 24 bits: every way gives the exact result. (No sum of
// products is above the product of the lengths.) What is no such number is mostly poison at the
// edge of a tile, hence the blocks.
void multiply_add(const Accumulation& how, MmaElement element, std::span<const RowOfSums> rows,
                  Rows<const float> b, std::uint32_t columns, std::uint32_t depth) {
  if (how.in_turn) return multiply_add_in_turn(rows, b, columns, depth);
  std::vector<float> of_a;
  for (std::size_t i = 0; i < rows.size(); i += block_rows)
    of_a.push_back(i + block_rows <= rows.size() ? length_of_rows(&rows[i], block_rows, depth)
                                                 : HUGE_VALF);
  std::vector<RowOfSums> others;
  for (std::uint32_t first = 0; first < columns; first += block_columns) {
    const std::uint32_t width = std::min(columns - first, block_columns);
    const Rows<const float> of_columns{b.first + first, b.pitch};
    const float of_b = length_of_columns(of_columns, width, depth);
    others.clear();
    for (std::size_t i = 0; i < rows.size(); i += block_rows) {
      RowOfSums block[block_rows];
      const std::size_t count = std::min(block_rows, rows.size() - i);
      for (std::size_t j = 0; j < count; ++j) block[j] = {rows[i + j].d + first, rows[i + j].a};
      const bool is_exact = of_a[i / block_rows] * of_b <= most &&
                            add_integers(block, of_columns, width, depth, most);
      if (!is_exact) others.insert(others.end(), block, block + count);
    }
    if (!others.empty()) accumulate_all(how, element, others, of_columns, width, depth);
  }
}

}  // namespace bwgemm::vgpu
