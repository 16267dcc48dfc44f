// SPDX-License-Identifier: Apache-2.0
#include "ceiling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <thread>

#include "code.h"
#include "device/params.h"
#include "row.h"

namespace bwgemm::bench {

namespace {

// Submits work of so many repetitions.
using Submit = std::function<void(int repetitions)>;

constexpr double pause_seconds = 0.5, load_ms = 600, sample_ms = 200, launch_ms = 2;

struct Probe {
  std::string name, unit;
  double per_repetition;  // units * us
  Submit submit;
};

// Milliseconds of one launch under load, with a reading in its course.
double under_load(const Gpu& gpu, const Sensors& sensors, const std::function<void()>& submit,
                  Sensors::Reading& reading) {
  return gpu.milliseconds([&] {
    submit();
    reading = sensors.read();
  });
}

Ceiling measured(const Gpu& gpu, const Sensors& sensors, const Probe& probe) {
  Ceiling ceiling{
      .name = probe.name, .unit = probe.unit, .burst_reading = {}, .sustained_reading = {}};
  constexpr int few = 20;
  gpu.milliseconds([&] { probe.submit(few); });
  const double once_ms = gpu.milliseconds([&] { probe.submit(few); }) / few;
  const int repetitions = std::max(few, static_cast<int>(launch_ms / once_ms));
  const auto rate = [&](double ms) { return probe.per_repetition * repetitions / (ms * 1e3); };
  const auto submit = [&] { probe.submit(repetitions); };

  std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds));
  ceiling.burst = rate(under_load(gpu, sensors, submit, ceiling.burst_reading));
  const auto load = [&](double limit_ms) {  // several launches are queued, so that none waits
    double ms = 0;
    int launches = 0;
    for (; ms < limit_ms; launches += 10)
      ms += gpu.milliseconds([&] {
        for (int i = 0; i < 10; ++i) submit();
      });
    return ms / launches;
  };
  load(load_ms);
  ceiling.sustained = rate(load(sample_ms));
  under_load(
      gpu, sensors,
      [&] {
        for (int i = 0; i < 10; ++i) submit();
      },
      ceiling.sustained_reading);
  std::printf("%-14s burst %8.1f %s (%u MHz %.0f W), sustained %8.1f %s (%u MHz %.0f W)\n",
              ceiling.name.c_str(), ceiling.burst, ceiling.unit.c_str(),
              ceiling.burst_reading.sm_mhz, ceiling.burst_reading.watts, ceiling.sustained,
              ceiling.unit.c_str(), ceiling.sustained_reading.sm_mhz,
              ceiling.sustained_reading.watts);
  std::fflush(stdout);
  return ceiling;
}

// Normal numbers as bf16.
std::vector<std::uint16_t> normal_numbers(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> numbers(count);
  for (std::uint16_t& number : numbers)
    number = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
  return numbers;
}

void fill(const DeviceBuffer& buffer, const std::vector<std::uint16_t>& numbers) {
  for (std::size_t at = 0; at < buffer.bytes(); at += numbers.size() * 2)
    check(driver().cuMemcpyHtoD(buffer.address(at), numbers.data(),
                                std::min(numbers.size() * 2, buffer.bytes() - at)),
          "cuMemcpyHtoD");
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
}

void add_tensor(const Gpu& gpu, const Sensors& sensors, const Code& code,
                std::vector<Ceiling>& all) {
  struct Shape {
    const char* name;
    int warpgroups, columns;
  };
  constexpr std::array shapes = {Shape{"tensor_2x256", 2, 256}, Shape{"tensor_2x192", 2, 192},
                                 Shape{"tensor_2x128", 2, 128}, Shape{"tensor_2x64", 2, 64},
                                 Shape{"tensor_3x192", 3, 192}, Shape{"tensor_1x256", 1, 256}};
  constexpr int slots = 4, row_bytes = 128, k = 64;
  const DeviceBuffer pool(std::size_t{slots} * (192 + 256) * row_bytes);
  fill(pool, normal_numbers(pool.bytes() / 2));
  for (const Shape& shape : shapes) {
    const int rows = 64 * shape.warpgroups;
    const LaunchShape launch_shape{static_cast<unsigned>(gpu.sm_count()),
                                   static_cast<unsigned>(128 * shape.warpgroups),
                                   slots * (rows + shape.columns) * row_bytes};
    const CUfunction function = code.function(shape.name, launch_shape.shared_bytes);
    const double tflop = 2.0 * rows * shape.columns * k * gpu.sm_count() * 1e-6;  // per us
    all.push_back(measured(gpu, sensors, {shape.name, "TFLOP/s", tflop, [&](int repetitions) {
                                            void *from = pool.pointer(), *sink = from;
                                            void* parameters[] = {&from, &sink, &repetitions};
                                            launch(gpu, function, launch_shape, parameters);
                                          }}));
  }
}

struct DeliveryParams {  // as kernels/tensor.cu has it
  TensorMap a_map, b_map;
  std::int32_t tiles_n, k_blocks, rounds;
};

TensorMap map_of(const DeviceBuffer& buffer, std::uint64_t k, std::uint64_t rows,
                 std::uint32_t box_rows) {
  const std::array<cuuint64_t, 3> dims = {k, rows, 1};
  const std::array<cuuint64_t, 2> strides = {k * 2, k * 2 * rows};
  const std::array<cuuint32_t, 3> box = {64, box_rows, 1}, steps = {1, 1, 1};
  CUtensorMap map{};
  check(driver().cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, buffer.pointer(),
                                        dims.data(), strides.data(), box.data(), steps.data(),
                                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return std::bit_cast<TensorMap>(map);
}

void add_delivery(const Gpu& gpu, const Sensors& sensors, const Code& code,
                  std::vector<Ceiling>& all) {
  constexpr int tiles_n = 12, k = 4096, a_rows = 128, b_rows = 256, stage_bytes = (128 + 256) * 128;
  const int tiles_m = (gpu.sm_count() + tiles_n - 1) / tiles_n;
  const DeviceBuffer a(std::size_t{2} * k * a_rows * static_cast<std::size_t>(tiles_m));
  const DeviceBuffer b(std::size_t{2} * k * b_rows * tiles_n);
  const std::vector<std::uint16_t> numbers = normal_numbers(1 << 20);
  fill(a, numbers);
  fill(b, numbers);
  DeliveryParams params{map_of(a, k, static_cast<std::uint64_t>(tiles_m) * a_rows, a_rows),
                        map_of(b, k, std::uint64_t{tiles_n} * b_rows, b_rows), tiles_n, k / 64, 0};
  const LaunchShape shape{static_cast<unsigned>(gpu.sm_count()), 32, 4 * stage_bytes + 64};
  const CUfunction function = code.function("delivery", shape.shared_bytes);
  constexpr int k_blocks = k / 64;
  const double tbytes = 1.0 * stage_bytes * k_blocks * gpu.sm_count() * 1e-6;  // per us
  all.push_back(measured(gpu, sensors, {"delivery", "TB/s", tbytes, [&](int repetitions) {
                                          params.rounds = repetitions;
                                          void* parameters[] = {&params};
                                          launch(gpu, function, shape, parameters);
                                        }}));
}

void add_memory(const Gpu& gpu, const Sensors& sensors, std::vector<Ceiling>& all) {
  const Code code = Code::memory(gpu);
  constexpr std::size_t bytes = std::size_t{1} << 30;
  const DeviceBuffer from(bytes), to(bytes);
  fill(from, normal_numbers(1 << 20));
  const LaunchShape shape{static_cast<unsigned>(gpu.sm_count()) * 4, 512};
  all.push_back(measured(gpu, sensors, {"copy_driver", "TB/s", 2e-6 * bytes, [&](int repetitions) {
                                          for (int i = 0; i < repetitions; ++i)
                                            check(driver().cuMemcpyDtoDAsync(to.address(),
                                                                             from.address(), bytes,
                                                                             gpu.stream()),
                                                  "cuMemcpyDtoDAsync");
                                        }}));
  for (const bool copies : {true, false}) {
    const char* name = copies ? "copy" : "read";
    const CUfunction function = code.function(name, 0);
    const double tbytes = (copies ? 2.0 : 1.0) * static_cast<double>(bytes) * 1e-6;
    all.push_back(measured(gpu, sensors, {name, "TB/s", tbytes, [&](int repetitions) {
                                            void *source = from.pointer(), *target = to.pointer();
                                            std::int64_t count = bytes / 16;
                                            void* parameters[] = {&source, &target, &count};
                                            for (int i = 0; i < repetitions; ++i)
                                              launch(gpu, function, shape, parameters);
                                          }}));
  }
}

}  // namespace

std::vector<Ceiling> measure_ceilings(const Gpu& gpu, const Sensors& sensors) {
  std::vector<Ceiling> all;
  if (gpu.compute_capability_major() == 9) {
    const Code code = Code::tensor(gpu);
    add_tensor(gpu, sensors, code, all);
    add_delivery(gpu, sensors, code, all);
  }
  add_memory(gpu, sensors, all);
  return all;
}

std::string ceiling_csv(const std::vector<Ceiling>& ceilings) {
  std::string text;
  for (const Ceiling& c : ceilings) {
    const std::vector<Cell> cells = {
        {"name", c.name},
        {"unit", c.unit},
        {"burst", fixed(c.burst, 3)},
        {"sustained", fixed(c.sustained, 3)},
        {"burst_sm_mhz", std::to_string(c.burst_reading.sm_mhz)},
        {"burst_watts", fixed(c.burst_reading.watts, 0)},
        {"sustained_sm_mhz", std::to_string(c.sustained_reading.sm_mhz)},
        {"sustained_watts", fixed(c.sustained_reading.watts, 0)},
    };
    if (text.empty()) text = csv_header(cells) + "\n";
    text += csv_row(cells) + "\n";
  }
  return text;
}

}  // namespace bwgemm::bench
