// SPDX-License-Identifier: Apache-2.0
// Questions 6 and 10: transactions in an unusual order, and what the driver says to mistakes.
#include <cstring>

#include "vgpu/calibration/question.h"

namespace bwgemm::calibration {
namespace {

Tensor square(CUdeviceptr address) {
  Tensor tensor;
  tensor.address = address;
  tensor.inner = 64;
  tensor.outer = 64;
  tensor.pitch = 128;
  tensor.batch_pitch = 64 * 128;
  tensor.box_inner = 64;
  tensor.box_outer = 8;
  return tensor;
}

Answer steps(const Memory& words, int count) {
  const auto found = words.read<std::uint32_t>();
  std::string text;
  for (int i = 0; i < count; ++i)
    text.append(i > 0 ? " then " : "").append(found[i] != 0 ? "complete" : "waiting");
  return {text};
}

Answer load_first(Device& device, const RawData&) {
  const Memory source(8192, 0x3c), words(16);
  const CUtensorMap map = square(source.address()).map();
  const CUdeviceptr out = words.address();
  device.run(device.function("transactions", "load_first"), {1, 32, 4096}, {&map, &out});
  Answer answer = steps(words, 2);
  if (words.read<std::uint32_t>()[2] != 0x3c3c3c3c) answer.text.append(" with wrong data");
  return answer;
}

Answer without_load(Device& device, const char* kernel, int count) {
  const Memory words(16);
  const CUdeviceptr out = words.address();
  device.run(device.function("transactions", kernel), {1, 32, 4096}, {&out});
  return steps(words, count);
}

// ---- tensor maps
// ---------------------------------------------------------------------------------

struct BadMap {
  const char* name;
  std::function<void(Tensor&)> change;
};

std::vector<BadMap> bad_maps() {
  return {
      {"none", [](Tensor&) {}},
      {"address_at_8", [](Tensor& t) { t.address += 8; }},
      {"address_at_16", [](Tensor& t) { t.address += 16; }},
      {"null_address", [](Tensor& t) { t.address = 0; }},
      {"pitch_at_8", [](Tensor& t) { t.pitch = 136; }},
      {"pitch_0", [](Tensor& t) { t.pitch = 0; }},
      {"batch_pitch_0", [](Tensor& t) { t.batch_pitch = 0; }},
      {"pitch_below_row", [](Tensor& t) { t.pitch = 64; }},
      {"pitch_2_40", [](Tensor& t) { t.pitch = 1ull << 40; }},
      {"extent_0", [](Tensor& t) { t.inner = 0; }},
      {"extent_2_32", [](Tensor& t) { t.outer = 1ull << 32; }},
      {"extent_2_32_plus_1", [](Tensor& t) { t.outer = (1ull << 32) + 1; }},
      {"box_0", [](Tensor& t) { t.box_outer = 0; }},
      {"box_256", [](Tensor& t) { t.box_outer = 256; }},
      {"box_257", [](Tensor& t) { t.box_outer = 257; }},
      {"box_8_bytes_inner", [](Tensor& t) { t.box_inner = 4; }},
      {"box_24_bytes_inner", [](Tensor& t) { t.box_inner = 12; }},
      {"box_wider_than_tensor", [](Tensor& t) { t.box_inner = 128; }},
      {"swizzle_128_of_256_bytes",
       [](Tensor& t) {
         t.box_inner = 128;
         t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
       }},
      {"swizzle_64_of_128_bytes", [](Tensor& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }},
      {"swizzle_128_of_32_bytes",
       [](Tensor& t) {
         t.box_inner = 16;
         t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
       }},
      {"nan_fill_of_integers",
       [](Tensor& t) {
         t.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
         t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
       }},
  };
}

Answer encoded(const BadMap& bad) {
  const Memory source(8192);
  Tensor tensor = square(source.address());
  bad.change(tensor);
  CUtensorMap map{};
  return {name_of(tensor.encode(&map))};
}

Answer misplaced_map(Device&, const RawData&) {
  const Memory source(8192);
  alignas(64) unsigned char place[sizeof(CUtensorMap) + 64];
  return {name_of(square(source.address()).encode(reinterpret_cast<CUtensorMap*>(place + 32)))};
}

// ---- launches
// ------------------------------------------------------------------------------------

Answer launched(Device& device, const char* kernel, const Shape& shape) {
  const CUdeviceptr nothing = 0;
  const void* const arguments[] = {&nothing};
  const CUresult result = Device::launch(device.function("faults", kernel), shape, arguments);
  const CUresult waited = CU(cuCtxSynchronize)();
  if (waited != CUDA_SUCCESS) check(waited);
  return {name_of(result)};
}

// Throws what the kernel ends with: the context is lost.
Answer executed(Device& device, const char* kernel, CUdeviceptr argument) {
  device.run(device.function("faults", kernel), {1, 1, 4096}, {&argument});
  return {"CUDA_SUCCESS"};
}

Answer loaded_through(Device& device, bool is_map, int offset, int c0) {
  const Memory source(8192);
  CUtensorMap map{};
  if (is_map) map = square(source.address()).map();
  device.run(device.function("faults", "load_through"), {1, 1, 16384}, {&map, &offset, &c0});
  return {"CUDA_SUCCESS"};
}

}  // namespace

std::vector<Case> transaction_cases() {
  return {
      {"6.load_before_expect", load_first},
      {"6.complete_before_expect",
       [](Device& device, const RawData&) { return without_load(device, "complete_first", 3); }},
      {"6.arrival_between",
       [](Device& device, const RawData&) { return without_load(device, "arrive_between", 2); }}};
}

std::vector<Case> fault_cases() {
  std::vector<Case> cases;
  for (const BadMap& bad : bad_maps())
    cases.push_back({std::string("10.map.") + bad.name,
                     [bad](Device&, const RawData&) { return encoded(bad); }});
  cases.push_back({"10.map.misplaced", misplaced_map});
  const auto add_launch = [&](const char* name, const char* kernel, const Shape& shape) {
    cases.push_back(
        {std::string("10.launch.") + name, [kernel, shape](Device& device, const RawData&) {
           return launched(device, kernel, shape);
         }});
  };
  add_launch("fine", "nothing", {1, 32, 0});
  add_launch("no_blocks", "nothing", {0, 32, 0});
  add_launch("no_threads", "nothing", {1, 0, 0});
  add_launch("1025_threads", "nothing", {1, 1025, 0});
  add_launch("beyond_launch_bounds", "bounded_nothing", {1, 257, 0});
  add_launch("49153_shared_bytes", "nothing", {1, 32, 49153});
  add_launch("300000_shared_bytes", "nothing", {1, 32, 300000});
  add_launch("cluster_not_a_divisor", "nothing", {3, 32, 0, 2});
  add_launch("cluster_9", "nothing", {9, 32, 0, 9});
  add_launch("cluster_16_not_allowed", "nothing", {16, 32, 0, 16});
  add_launch("cluster_17", "nothing", {17, 32, 0, 17});
  struct Fault {
    const char *name, *kernel;
    CUdeviceptr argument;
  };
  for (const Fault& fault :
       {Fault{"null", "store_to", 0}, Fault{"odd_address", "store_to", 1},
        Fault{"trap", "trap_now", 0}, Fault{"shared_beyond", "store_shared", 0x40000},
        Fault{"shared_odd", "store_shared", 0x402}, Fault{"shared_reserved", "store_shared", 0x3f0},
        Fault{"shared_of_no_rank", "store_shared", 0x5000400},
        Fault{"arrive_too_often", "arrive_too_often", 0}})
    cases.push_back(
        {std::string("10.kernel.") + fault.name, [fault](Device& device, const RawData&) {
           return executed(device, fault.kernel, fault.argument);
         }});
  struct Load {
    const char* name;
    bool is_map;
    int offset, c0;
  };
  for (const Load& load :
       {Load{"fine", true, 0, 0}, Load{"no_map", false, 0, 0}, Load{"shared_at_64", true, 64, 0},
        Load{"shared_at_16", true, 16, 0}, Load{"inner_at_1", true, 0, 1}})
    cases.push_back({std::string("10.load.") + load.name, [load](Device& device, const RawData&) {
                       return loaded_through(device, load.is_map, load.offset, load.c0);
                     }});
  return cases;
}

}  // namespace bwgemm::calibration
