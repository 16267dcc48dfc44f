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

void to_floats(MmaElement element, const std::byte* from, std::uint32_t count, float* to) {
  const auto convert = [&](auto zero, auto conversion) {
    for (std::uint32_t i = 0; i < count; ++i) {
      std::memcpy(&zero, from + i * sizeof zero, sizeof zero);
      to[i] = conversion(zero);
    }
  };
  switch (element) {
    case MmaElement::f16: return convert(std::uint16_t(), [](auto bits) { return from_f16(bits); });
    case MmaElement::bf16:
      return convert(std::uint16_t(), [](auto bits) { return from_bf16(bits); });
    case MmaElement::tf32: return convert(float(), truncated_to_tf32);
    case MmaElement::e4m3:
      return convert(std::uint8_t(), [](auto bits) { return from_float8(bits, Float8::e4m3); });
    case MmaElement::e5m2:
      return convert(std::uint8_t(), [](auto bits) { return from_float8(bits, Float8::e5m2); });
  }
}

void MatrixOperand::fetch(const Cta& cta, std::uint32_t rows, float* to, std::uint32_t row_pitch,
                          std::uint32_t k_pitch) const {
  const std::uint32_t together = chunk_elements();
  float chunk[16];
  if (mn_major) {
    for (std::uint32_t group = 0; group * together < rows; ++group)
      for (std::uint32_t k = 0; k < depth(); ++k) {
        to_floats(element, &cta.shared[mn_major_chunk(group, k)], together, chunk);
        for (std::uint32_t i = 0; i < together && group * together + i < rows; ++i)
          to[(group * together + i) * row_pitch + k * k_pitch] = chunk[i];
      }
    return;
  }
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t part = 0; part < 2; ++part) {
      to_floats(element, &cta.shared[k_major_chunk(row, part)], together, chunk);
      for (std::uint32_t i = 0; i < together; ++i)
        to[row * row_pitch + (part * together + i) * k_pitch] = chunk[i];
    }
}

void judge_operand(Cta& cta, const MatrixOperand& operand, std::uint32_t first, std::uint32_t rows,
                   const OperandReader& reader) {
  constexpr std::uint32_t chunk_bytes = 16;
  Simulation& simulation = reader.access.warp.simulation;
  if (operand.error)
    simulation.findings().fatal("descriptor", operand.error, reader.access.instruction);
  bool fine = true;
  std::uint32_t judged = ~0u;  // a line that was, as a whole
  operand.for_each_chunk(first, rows, [&](std::uint32_t address) {
    const std::uint32_t line = address / SharedShadow::line_bytes;
    if (line == judged) return;
    simulation.shared(cta, address, chunk_bytes, 1, reader.access.instruction);
    if (!cta.shadow.enabled()) return;
    if (cta.shadow.is_whole(address)) judged = line;
    if (fine)
      fine = cta.shadow.async_read(reader.access, address, chunk_bytes, reader.order,
                                   reader.async_order, reader.unwritten);
    cta.shadow.keep_until(address, chunk_bytes, reader.entity, reader.time);
  });
}

namespace {

// Four steps of k at a time: fewer passes over the row of sums.
__attribute__((target_clones("avx512f", "avx2", "default"))) void multiply_add_in_turn(
    float* d, std::uint32_t pitch, const float* a, const float* b, std::uint32_t rows,
    std::uint32_t columns, std::uint32_t depth) {
  for (std::uint32_t i = 0; i < rows; ++i, d += pitch, a += depth)
    for (std::uint32_t k = 0; k < depth; k += 4) {
      const float a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      const float *b0 = b + k * most_mma_columns, *b1 = b0 + most_mma_columns,
                  *b2 = b1 + most_mma_columns, *b3 = b2 + most_mma_columns;
      float* __restrict__ sums = d;
      for (std::uint32_t j = 0; j < columns; ++j)
        sums[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
    }
}

// The largest magnitude if all are integers; infinity else.
__attribute__((target_clones("avx512f", "avx2", "default"))) float largest_integer(
    const float* values, std::uint32_t rows, std::uint32_t pitch, std::uint32_t columns) {
  constexpr float least_unexact = 0x1p24f;
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < rows; ++i, values += pitch) {
    std::uint32_t are_others = 0;
    for (std::uint32_t j = 0; j < columns; ++j) {
      const std::uint32_t magnitude = bits_of(values[j]) & 0x7fffffff;
      const float value = float_from_bits(std::min(magnitude, bits_of(least_unexact)));
      are_others |= value != static_cast<float>(static_cast<int>(value));
      largest = std::max(largest, magnitude);
    }
    if (are_others) return HUGE_VALF;
  }
  return float_from_bits(largest);
}

}  // namespace

void multiply_add(const Accumulation& how, MmaElement element, float* d, std::uint32_t pitch,
                  const float* a, const float* b, std::uint32_t rows, std::uint32_t columns,
                  std::uint32_t depth) {
  if (!how.in_turn) {
    // Integers of which no sum needs more than 24 bits: every way gives the exact result.
    const auto are_such = [&] {
      const float of_a = largest_integer(a, rows, depth, depth);
      if (of_a >= 0x1p24f) return false;
      const float of_b = largest_integer(b, depth, most_mma_columns, columns);
      if (of_b >= 0x1p24f) return false;
      const float of_d = largest_integer(d, rows, pitch, columns);
      return of_a * of_b * static_cast<float>(depth) + of_d < 0x1p24f;
    };
    if (!are_such())
      return accumulate_all(how, element, {d, pitch}, {a, depth}, {b, most_mma_columns}, rows,
                            columns, depth);
  }
  multiply_add_in_turn(d, pitch, a, b, rows, columns, depth);
}

}  // namespace bwgemm::vgpu
