// SPDX-License-Identifier: Apache-2.0
// Questions 1, 2, 7 and 8: waits of a warpgroup, shared addresses, elections and fragments.
#include <cstring>

#include "vgpu/calibration/question.h"

namespace bwgemm::calibration {
namespace {

using Words = std::vector<std::uint32_t>;

Answer overwritten(Device& device, const RawData&) {
  const bool is_slow = Device::is_virtual();
  const CUfunction kernel = device.function("operands", "wait_group");
  const Memory wrong(sizeof(std::uint32_t));
  const CUdeviceptr out = wrong.address();
  const unsigned grid = is_slow ? 4 : 1320;
  int launches = 0;
  for (const int delay : {0, 1, 5, 20, 100}) {
    for (int repeat = 0; repeat < (is_slow ? 1 : 4); ++repeat, ++launches)
      device.run(kernel, {grid, 128, 41984}, {&delay, &out});
  }
  const std::uint32_t count = wrong.read<std::uint32_t>()[0];
  return {count == 0 ? "yes" : "no", std::to_string(count) + " wrong sums in " +
                                         std::to_string(launches) + " launches of " +
                                         std::to_string(grid) + " CTAs"};
}

Answer addresses_in_cluster(Device& device, unsigned size) {
  const CUfunction kernel = device.function("addresses", "addresses");
  if (size > 8)
    check(CU(cuFuncSetAttribute)(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  const Memory words(8 * size * sizeof(std::uint32_t));
  const CUdeviceptr out = words.address();
  device.run(kernel, {size, 32, 4096, size}, {&out});
  const Words found = words.read<std::uint32_t>();
  bool is_regular = true;
  std::string detail;
  const std::uint32_t base = found[3];
  for (unsigned rank = 0; rank < size; ++rank) {
    const std::uint32_t* cta = &found[8 * rank];
    is_regular &= cta[0] == rank && cta[1] == size && cta[2] == (base | rank << 24) &&
                  cta[3] == base && cta[4] == (base | (size - 1) << 24) && cta[5] == rank &&
                  cta[6] == 0 && cta[7] == size - 1;
    for (int i = 2; i < 8; ++i) detail.append(hexadecimal(cta[i])).append(i < 7 ? " " : "; ");
  }
  return {(is_regular ? "rank in bits 24 up - base " : "irregular - base ") + hexadecimal(base),
          detail};
}

Answer reserved_bytes(Device& device, const RawData&) {
  const Memory words(5 * sizeof(std::uint32_t));
  const CUdeviceptr out = words.address();
  device.run(device.function("reserved", "reserved"), {1, 32, 4096}, {&out});
  const Words found = words.read<std::uint32_t>();
  return {"begin " + hexadecimal(found[0]) + " end " + hexadecimal(found[1]) + " cap " +
              hexadecimal(found[2]),
          "total " + hexadecimal(found[3]) + " dynamic " + hexadecimal(found[4])};
}

Answer elections(Device& device, const RawData&) {
  const Words masks{0xffffffff, 0xfffffffe, 0x80000000, 0x0000ff00, 0x80000001, 0x12345678, 0x0f0};
  const Memory in(masks);
  Words initial;
  for (std::size_t i = 0; i < masks.size(); ++i) initial.insert(initial.end(), {99, 0});
  const Memory lanes(initial);
  const CUdeviceptr from = in.address(), out = lanes.address();
  const int count = static_cast<int>(masks.size());
  device.run(device.function("addresses", "elections"), {1, 128, 4096}, {&from, &count, &out});
  const Words found = lanes.read<std::uint32_t>();
  bool lowest = true;
  std::string detail;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(__builtin_ctz(masks[i]));
    lowest &= found[2 * i] == first && found[2 * i + 1] == first;
    detail.append(hexadecimal(masks[i])).append(": ").append(std::to_string(found[2 * i]));
    detail.append("..").append(std::to_string(found[2 * i + 1])).append("; ");
  }
  return {lowest ? "the lowest lane" : "not always the lowest lane", detail};
}

// What a lane's register i holds in both halves.
std::uint16_t mark(unsigned lane, unsigned i, unsigned half) {
  return static_cast<std::uint16_t>(lane * 8 + i * 2 + half);
}

// Element (row, column) of matrix i belongs to half column % 2 of lane row * 4 + column / 2; with
// .trans rows and columns are exchanged.
std::uint16_t expected_store(unsigned row, unsigned column, unsigned i, bool trans) {
  if (trans) std::swap(row, column);
  return mark(row * 4 + column / 2, i, column % 2);
}

// Row r of matrix i was written by lane 8 i + r.
std::uint16_t expected_load(unsigned lane, unsigned i, unsigned half, bool trans) {
  unsigned row = lane / 4, column = lane % 4 * 2 + half;
  if (trans) std::swap(row, column);
  return mark(8 * i + row, column / 2, column % 2);
}

constexpr unsigned forms = 6, form_halves = 256;

Answer matrix_stored(Device& device, const RawData& raw) {
  const Memory halves(forms * form_halves * 2);
  const CUdeviceptr out = halves.address();
  device.run(device.function("fragments", "stores"), {1, 32, 4096}, {&out});
  const auto found = halves.read<std::uint16_t>();
  raw.add("stmatrix", found);
  unsigned wrong = 0;
  for (unsigned form = 0; form < forms; ++form)
    for (unsigned at = 0; at < form_halves; ++at) {
      const unsigned matrix = at / 64, row = at / 8 % 8, column = at % 8;
      const bool is_written = matrix < 1u << form / 2;
      wrong += found[form * form_halves + at] !=
               (is_written ? expected_store(row, column, matrix, form % 2) : 0xffff);
    }
  return {wrong == 0 ? "as documented" : "different", std::to_string(wrong) + " halves differ"};
}

Answer matrix_loaded(Device& device, const RawData& raw) {
  const Memory halves(forms * form_halves * 2);
  const CUdeviceptr out = halves.address();
  device.run(device.function("fragments", "loads"), {1, 32, 4096}, {&out});
  const auto found = halves.read<std::uint16_t>();
  raw.add("ldmatrix", found);
  unsigned wrong = 0;
  for (unsigned form = 0; form < forms; ++form)
    for (unsigned at = 0; at < form_halves; ++at) {
      const unsigned lane = at / 8, i = at / 2 % 4, half = at % 2;
      const bool is_loaded = i < 1u << form / 2;
      wrong += found[form * form_halves + at] !=
               (is_loaded ? expected_load(lane, i, half, form % 2) : 0);
    }
  return {wrong == 0 ? "as documented" : "different", std::to_string(wrong) + " halves differ"};
}

}  // namespace

std::vector<Case> wait_cases() {
  return {{"1.wait_of_one_warp_covers_all", overwritten}};
}

std::vector<Case> address_cases() {
  std::vector<Case> cases;
  for (const unsigned size : {1u, 2u, 4u, 8u, 16u})
    cases.push_back(
        {"2.addresses.cluster" + std::to_string(size),
         [size](Device& device, const RawData&) { return addresses_in_cluster(device, size); }});
  cases.push_back({"2.reserved", reserved_bytes});
  return cases;
}

std::vector<Case> election_cases() {
  return {{"7.elect", elections}};
}

std::vector<Case> fragment_cases() {
  return {{"8.stmatrix", matrix_stored}, {"8.ldmatrix", matrix_loaded}};
}

}  // namespace bwgemm::calibration
