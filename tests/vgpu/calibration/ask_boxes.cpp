// SPDX-License-Identifier: Apache-2.0
// Questions 5 and 9: boxes that the tensor does not fill, and multicast.
#include <cstring>

#include "vgpu/calibration/question.h"

namespace bwgemm::calibration {
namespace {

constexpr std::uint32_t boxes_bytes = 16384, shared_bytes = boxes_bytes + 1024;
constexpr unsigned char background = 0xa5;

// Of a box at c0, c1 in batch c2; all tensors lie in one allocation, rows apart by the pitch.
struct Boxed {
  std::string name;
  Tensor tensor;
  int c0, c1, c2;
};

Tensor tensor_of(CUtensorMapDataType type, unsigned element_bytes, std::uint64_t inner) {
  Tensor tensor;
  tensor.type = type;
  tensor.element_bytes = element_bytes;
  tensor.inner = inner;
  tensor.outer = 20;
  tensor.batch = 2;
  tensor.pitch = 1024;
  tensor.batch_pitch = 32 * tensor.pitch;
  tensor.box_inner = 64;
  tensor.box_outer = 8;
  return tensor;
}
constexpr std::size_t memory_bytes = 2 * 32 * 1024;

// Bytes that are zero nowhere and differ from their neighbours.
std::vector<unsigned char> numbered(std::size_t bytes) {
  std::vector<unsigned char> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    values[i] = static_cast<unsigned char>(1 + (i * 37 + i / 1024 * 11) % 127);
  return values;
}

// Where byte `byte` of row `row` of a box lies in shared memory.
std::size_t place(const Tensor& tensor, unsigned row, unsigned byte) {
  const std::size_t at = row * std::size_t{tensor.box_inner} * tensor.element_bytes + byte;
  switch (tensor.swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_128B: return at ^ (at >> 7 & 7) << 4;
    case CU_TENSOR_MAP_SWIZZLE_64B: return at ^ (at >> 7 & 3) << 4;
    case CU_TENSOR_MAP_SWIZZLE_32B: return at ^ (at >> 7 & 1) << 4;
    default: return at;
  }
}

// What lies outside, all the same, or "mixed".
class Outside {
 public:
  void add(const unsigned char* element, unsigned bytes) {
    std::string text;
    for (unsigned i = bytes; i-- > 0;) {
      static constexpr char digits[] = "0123456789abcdef";
      text.push_back(digits[element[i] >> 4]);
      text.push_back(digits[element[i] & 15]);
    }
    if (text_.empty()) text_ = text;
    if (text_ != text) text_ = "mixed";
  }
  std::string text() const { return text_.empty() ? "nothing" : text_; }

 private:
  std::string text_;
};

Answer loaded(Device& device, const RawData& raw, const Boxed& boxed) {
  Tensor tensor = boxed.tensor;
  const auto values = numbered(memory_bytes);
  const Memory source(values), image(boxes_bytes), done(4);
  tensor.address = source.address();
  const CUtensorMap map = tensor.map();
  const std::uint32_t row_bytes = tensor.box_inner * tensor.element_bytes;
  const std::uint32_t bytes = row_bytes * tensor.box_outer;
  const CUdeviceptr out = image.address(), flag = done.address();
  device.run(device.function("boxes", "load_box"), {1, 128, shared_bytes},
             {&map, &boxed.c0, &boxed.c1, &boxed.c2, &bytes, &out, &flag});
  const auto found = image.read<unsigned char>();
  raw.add(boxed.name, found.data(), bytes + 256);
  Outside outside;
  unsigned wrong = 0, beyond = 0;
  for (unsigned row = 0; row < tensor.box_outer; ++row)
    for (unsigned i = 0; i < tensor.box_inner; ++i) {
      const std::int64_t inner = std::int64_t{boxed.c0} + i, outer = std::int64_t{boxed.c1} + row;
      const bool is_inside = inner >= 0 && inner < static_cast<std::int64_t>(tensor.inner) &&
                             outer >= 0 && outer < static_cast<std::int64_t>(tensor.outer) &&
                             boxed.c2 >= 0 && boxed.c2 < static_cast<int>(tensor.batch);
      const unsigned char* element = &found[place(tensor, row, i * tensor.element_bytes)];
      if (!is_inside)
        outside.add(element, tensor.element_bytes);
      else
        wrong += std::memcmp(element,
                             &values[boxed.c2 * tensor.batch_pitch + outer * tensor.pitch +
                                     inner * tensor.element_bytes],
                             tensor.element_bytes) != 0;
    }
  for (std::uint32_t i = bytes; i < boxes_bytes; ++i) beyond += found[i] != background;
  const bool completed = done.read<std::uint32_t>()[0] != 0;
  return {std::string(completed ? "whole box counted" : "whole box not counted") + " - inside " +
              (wrong == 0 ? "copied" : "wrong") + " - outside " + outside.text(),
          std::to_string(wrong) + " wrong inside, " + std::to_string(beyond) + " bytes beyond"};
}

// How one byte of memory came to its value.
char fate(unsigned char before, unsigned char after, unsigned char stored) {
  if (after == stored) return 's';
  if (after == before) return '.';
  return after == 0 ? '0' : '?';
}

// For one row that the tensor cuts: each byte from two units before the cut to three behind it.
Answer stored(Device& device, const RawData& raw, const Boxed& boxed, int adds) {
  Tensor tensor = boxed.tensor;
  const Memory target(memory_bytes, adds != 0 ? 0x11 : background);
  tensor.address = target.address();
  const CUtensorMap map = tensor.map();
  auto values = numbered(boxes_bytes);
  if (adds != 0) std::fill(values.begin(), values.end(), static_cast<unsigned char>(0x01));
  const Memory image(values);
  const CUdeviceptr from = image.address();
  device.run(device.function("boxes", "store_box"), {1, 128, shared_bytes},
             {&map, &boxed.c0, &boxed.c1, &boxed.c2, &adds, &from});
  const auto found = target.read<unsigned char>();
  raw.add(boxed.name, found);
  const unsigned before = adds != 0 ? 0x11 : background;
  unsigned rows = 0, touched = 0;
  for (unsigned row = 0; row < 64; ++row) {
    unsigned changed = 0;
    for (unsigned i = 0; i < 1024; ++i) changed += found[row * 1024 + i] != before;
    rows += changed > 0;
    touched += changed;
  }
  const std::int64_t cut = static_cast<std::int64_t>(tensor.inner) * tensor.element_bytes;
  const std::int64_t row = std::max(boxed.c1, 0), first = cut / 16 * 16 - 16;
  std::string fates;
  for (std::int64_t byte = first; byte < first + 64; ++byte) {
    const std::int64_t in_box = byte - std::int64_t{boxed.c0} * tensor.element_bytes;
    const bool is_in_box = in_box >= 0 && in_box < tensor.box_inner * tensor.element_bytes;
    const auto box_row = static_cast<unsigned>(row - boxed.c1);
    const unsigned char source =
        is_in_box ? values[place(tensor, box_row, static_cast<unsigned>(in_box))] : 0;
    const unsigned char after =
        found[boxed.c2 * tensor.batch_pitch + row * 1024 + static_cast<std::size_t>(byte)];
    fates.push_back(adds != 0 ? after == before          ? '.'
                                : after == before + 0x01 ? 's'
                                                         : '?'
                              : fate(static_cast<unsigned char>(before), after, source));
    if ((byte + 1) % 16 == 0 && byte + 1 < first + 64) fates.push_back(' ');
  }
  return {std::to_string(rows) + " rows " + std::to_string(touched) + " bytes - around the end " +
          fates};
}

Answer received(Device& device, unsigned issuer, unsigned mask, unsigned named,
                unsigned expecting) {
  constexpr unsigned size = 4;
  const Memory source(numbered(memory_bytes)), words(size * 16);
  Tensor tensor = tensor_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 64);
  tensor.address = source.address();
  const CUtensorMap map = tensor.map();
  const CUdeviceptr out = words.address();
  device.run(device.function("boxes", "multicast_box"), {size, 32, shared_bytes, size},
             {&map, &issuer, &mask, &named, &expecting, &out});
  const auto found = words.read<std::uint32_t>();
  const auto values = numbered(memory_bytes);
  std::uint32_t first, last;
  std::memcpy(&first, &values[0], 4);
  std::memcpy(&last, &values[7 * 1024 + 124], 4);
  std::string text;
  for (unsigned rank = 0; rank < size; ++rank) {
    const std::uint32_t* cta = &found[4 * rank];
    const bool has_box = cta[1] == first && cta[2] == last;
    const bool has_none = cta[1] == 0xa5a5a5a5 && cta[2] == 0xa5a5a5a5;
    text.append(rank > 0 ? " " : "").append(cta[0] != 0 ? "completed" : "waits");
    text.append(has_box ? "+box" : has_none ? "" : "+other");
    if (cta[3] != 0xa5a5a5a5) text.append("+more");
  }
  return {text};
}

}  // namespace

std::vector<Case> box_cases() {
  std::vector<Boxed> loads, stores;
  const Tensor bf16 = tensor_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 100);
  Tensor swizzled = bf16;
  swizzled.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  Tensor nan = bf16;
  nan.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  for (const auto& [name, tensor] :
       {std::pair{"bf16", bf16}, std::pair{"bf16_swizzle_128", swizzled}}) {
    const std::string prefix = std::string("5.load.") + name;
    loads.push_back({prefix + ".inside", tensor, 0, 0, 0});
    loads.push_back({prefix + ".inner_end", tensor, 64, 8, 1});
    loads.push_back({prefix + ".outer_end", tensor, 0, 16, 0});
    loads.push_back({prefix + ".both_ends", tensor, 64, 16, 1});
    loads.push_back({prefix + ".negative_inner", tensor, -8, 0, 0});
    loads.push_back({prefix + ".negative_outer", tensor, 0, -3, 1});
    loads.push_back({prefix + ".before_all", tensor, -64, -8, 0});
    loads.push_back({prefix + ".behind_all", tensor, 128, 24, 0});
    loads.push_back({prefix + ".batch_behind", tensor, 0, 0, 2});
    loads.push_back({prefix + ".batch_before", tensor, 0, 0, -1});
    loads.push_back({prefix + ".far_away", tensor, 1 << 30, -(1 << 30), 0});
    loads.push_back({prefix + ".inner_at_8_bytes", tensor, 4, 0, 0});
    loads.push_back({prefix + ".inner_at_1", tensor, 1, 0, 0});
    loads.push_back({prefix + ".inner_at_minus_3", tensor, -3, 0, 0});
  }
  loads.push_back({"5.load.bf16_nan.both_ends", nan, 64, 16, 1});
  nan.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  loads.push_back({"5.load.f16_nan.both_ends", nan, 64, 16, 1});
  Tensor f32 = tensor_of(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 65), f32_nan = f32;
  f32_nan.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  loads.push_back({"5.load.f32.both_ends", f32, 32, 16, 1});
  loads.push_back({"5.load.f32_nan.both_ends", f32_nan, 32, 16, 1});
  const Tensor u8 = tensor_of(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 67);
  loads.push_back({"5.load.u8.both_ends", u8, 16, 16, 1});

  for (const std::uint64_t inner : {65u, 67u, 71u, 72u, 100u}) {
    Tensor tensor = tensor_of(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, inner);
    stores.push_back({"5.store.bf16.extent_" + std::to_string(inner), tensor, 48, 0, 0});
    tensor.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    stores.push_back(
        {"5.store.bf16_swizzle_128.extent_" + std::to_string(inner), tensor, 48, 0, 1});
  }
  stores.push_back({"5.store.bf16.negative", bf16, -8, -3, 0});
  stores.push_back({"5.store.bf16.outer_end", bf16, 48, 16, 0});
  stores.push_back({"5.store.bf16.behind_all", bf16, 128, 24, 0});
  stores.push_back({"5.store.f32.extent_65", f32, 32, 16, 0});
  stores.push_back({"5.store.u8.extent_67", u8, 16, 0, 0});

  std::vector<Case> cases;
  for (const Boxed& boxed : loads)
    cases.push_back({boxed.name, [boxed](Device& device, const RawData& raw) {
                       return loaded(device, raw, boxed);
                     }});
  for (const Boxed& boxed : stores)
    cases.push_back({boxed.name, [boxed](Device& device, const RawData& raw) {
                       return stored(device, raw, boxed, 0);
                     }});
  Tensor words = tensor_of(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 65);
  const Boxed added{"5.add.u32.extent_65", words, 32, 16, 0};
  cases.push_back({added.name, [added](Device& device, const RawData& raw) {
                     return stored(device, raw, added, 1);
                   }});
  return cases;
}

std::vector<Case> multicast_cases() {
  struct Way {
    const char* name;
    unsigned issuer, mask, named, expecting;
  };
  static constexpr Way ways[] = {
      {"9.all_from_0", 0, 0xf, 0, 0xf},           {"9.all_from_2", 2, 0xf, 2, 0xf},
      {"9.others_only", 0, 0xe, 0, 0xe},          {"9.one_other", 1, 0x8, 1, 0x8},
      {"9.addresses_of_another", 0, 0x6, 3, 0x6}, {"9.no_multicast_to_another", 0, 0, 2, 0x4}};
  std::vector<Case> cases;
  for (const Way& way : ways)
    cases.push_back({way.name, [way](Device& device, const RawData&) {
                       return received(device, way.issuer, way.mask, way.named, way.expecting);
                     }});
  return cases;
}

}  // namespace bwgemm::calibration
