// SPDX-License-Identifier: Apache-2.0
// Question 4: which bytes of shared memory a wgmma descriptor names. One operand selects elements
// of the other, whose numbers tell where they lie.
#include <cmath>
#include <cstring>

#include "vgpu/asynchronous/matrix_operand.h"
#include "vgpu/calibration/question.h"

namespace bwgemm::calibration {
namespace {

constexpr std::uint32_t image_bytes = 96 * 1024, probed_bytes = 64 * 1024;
constexpr std::uint32_t selector = probed_bytes;  // where the selecting operand lies
constexpr int side = 64, depth = 16, digit = 1024;

struct Layout {
  bool is_a, mn_major;
  vgpu::Swizzle swizzle;
  std::uint32_t start, leading, stride, base_offset;

  std::uint64_t descriptor() const {
    static constexpr std::uint64_t codes[] = {0, 3, 2, 1};
    return (start >> 4) | std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 |
           std::uint64_t{base_offset} << 49 | codes[static_cast<int>(swizzle)] << 62;
  }
  std::string name() const {
    static constexpr const char* swizzles[] = {"none", "32", "64", "128"};
    std::string text("4.");
    text.append(is_a ? "a" : "b").append(mn_major ? "_mn" : "_k").append(".swizzle_");
    text.append(swizzles[static_cast<int>(swizzle)]).append(".start_").append(hexadecimal(start));
    text.append(".leading_").append(hexadecimal(leading)).append(".stride_");
    return text.append(hexadecimal(stride)).append(".base_").append(std::to_string(base_offset));
  }
};

// f16 of an integer up to 2048.
std::uint16_t half_of(std::uint32_t value) {
  if (value == 0) return 0;
  const int exponent = 31 - __builtin_clz(value);
  return static_cast<std::uint16_t>((exponent + 15) << 10 | ((value << 10 >> exponent) & 0x3ff));
}

// Row i of the selecting operand is one at k = i: K-major, 128-byte swizzle.
void put_selector(std::vector<std::uint16_t>& image) {
  std::memset(&image[selector / 2], 0, side * 128);
  for (std::uint32_t i = 0; i < depth; ++i)
    image[(selector + i * 128 + ((i / 8) ^ i % 8) * 16 + i % 8 * 2) / 2] = half_of(1);
}

// Element (row, k) of the probed operand, for both digits of what it holds.
std::vector<float> products(Device& device, const Layout& layout, bool high) {
  std::vector<std::uint16_t> image(image_bytes / 2);
  for (std::uint32_t i = 0; i < image.size(); ++i) image[i] = half_of(high ? i / digit : i % digit);
  put_selector(image);
  const Memory in(image), out(side * side * sizeof(float));
  const std::uint64_t select =
      Layout{false, false, vgpu::Swizzle::bytes128, selector, 0, 1024, 0}.descriptor();
  const std::uint64_t a = layout.is_a ? layout.descriptor() : select;
  const std::uint64_t b = layout.is_a ? select : layout.descriptor();
  const char* kernel = !layout.mn_major ? "operands_kk"
                       : layout.is_a    ? "operands_mk"
                                        : "operands_kn";
  const CUdeviceptr from = in.address(), to = out.address();
  device.run(device.function("operands", kernel), {1, 128, image_bytes},
             {&from, &image_bytes, &a, &b, &to});
  const auto d = out.read<float>();
  std::vector<float> elements(side * depth);
  for (int row = 0; row < side; ++row)
    for (int k = 0; k < depth; ++k)
      elements[row * depth + k] = layout.is_a ? d[row * side + k] : d[k * side + row];
  return elements;
}

// What the model thinks, base offset aside.
std::uint16_t modelled(const Layout& layout, std::uint32_t row, std::uint32_t k) {
  Layout plain = layout;
  plain.base_offset = 0;
  const auto operand =
      vgpu::MatrixOperand::of_wgmma(plain.descriptor(), layout.mn_major, vgpu::MmaElement::f16);
  const std::uint32_t byte = layout.mn_major ? operand.mn_major_chunk(row / 8, k) + row % 8 * 2
                                             : operand.k_major_chunk(row, k / 8) + k % 8 * 2;
  return static_cast<std::uint16_t>(byte / 2);
}

Answer probed(Device& device, const RawData& raw, const Layout& layout) {
  const auto low = products(device, layout, false), high = products(device, layout, true);
  std::vector<std::uint16_t> map(side * depth);
  int different = 0;
  for (int i = 0; i < side * depth; ++i) {
    map[i] = static_cast<std::uint16_t>(std::lround(high[i]) * digit + std::lround(low[i]));
    different += map[i] != modelled(layout, i / depth, i % depth);
  }
  raw.add(layout.name(), map);
  return {(different == 0 ? "as modelled " : "not as modelled ") +
              hexadecimal(hash_of(map) & 0xffffffff),
          std::to_string(different) + " elements differ"};
}

// Starts and distances of interest for one operand, major and swizzle.
void add_layouts(std::vector<Layout>& all, bool is_a, bool mn_major, vgpu::Swizzle swizzle) {
  const std::uint32_t row = 16u << static_cast<int>(swizzle), group = 8 * row;
  const bool is_plain = swizzle == vgpu::Swizzle::none;
  const auto add = [&](std::uint32_t start, std::uint32_t leading, std::uint32_t stride,
                       std::uint32_t base = 0) {
    all.push_back({is_a, mn_major, swizzle, start, leading, stride, base});
  };
  if (is_plain || mn_major) {
    for (const std::uint32_t start : {0u, 16u, 128u}) {
      add(start, 128, 512);
      add(start, 4096, 1024);
      add(start, 1024, 4096);
    }
    if (is_plain) return;
  }
  const std::uint32_t leading = mn_major ? 8192 : 0;
  for (std::uint32_t start = 0; start < row; start += 32) add(start, leading, group);
  if (!mn_major) add(16, 0, group);
  for (const std::uint32_t rows : {1u, 2u, 3u, 4u, 8u, 12u}) add(rows * row, leading, group);
  add(0, leading, 2 * group);
  add(512 + 1024, leading, 4096);
  add(0, mn_major ? 2048 : 512, group);
  for (const std::uint32_t base : {1u, 4u, 7u}) {
    add(0, leading, group, base);
    add(base * row, leading, group, base);
    add(base * 128, leading, group, base);
  }
}

}  // namespace

std::vector<Case> operand_cases() {
  std::vector<Layout> all;
  for (const bool is_a : {true, false})
    for (const bool mn_major : {false, true})
      for (const auto swizzle : {vgpu::Swizzle::none, vgpu::Swizzle::bytes32,
                                 vgpu::Swizzle::bytes64, vgpu::Swizzle::bytes128})
        add_layouts(all, is_a, mn_major, swizzle);
  std::vector<Case> cases;
  for (const Layout& layout : all) {
    bool is_known = false;  // some starts coincide
    for (const Case& other : cases) is_known |= other.name == layout.name();
    if (!is_known)
      cases.push_back({layout.name(), [layout](Device& device, const RawData& raw) {
                         return probed(device, raw, layout);
                       }});
  }
  return cases;
}

}  // namespace bwgemm::calibration
