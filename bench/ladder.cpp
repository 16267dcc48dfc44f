// SPDX-License-Identifier: Apache-2.0
#include "ladder.h"

#include <array>
#include <bit>
#include <cstdio>
#include <random>
#include <sstream>
#include <stdexcept>

namespace bwgemm::bench {

namespace {

TensorMap map_of(const ladder::MapShape& shape, CUdeviceptr operand) {
  const std::array<cuuint64_t, 3> extent = {shape.extent[0], shape.extent[1], shape.extent[2]};
  const std::array<cuuint64_t, 2> stride = {shape.stride[0], shape.stride[1]};
  const std::array<cuuint32_t, 3> box = {shape.box[0], shape.box[1], shape.box[2]};
  const std::array<cuuint32_t, 3> steps = {1, 1, 1};
  CUtensorMap map{};
  check(driver().cuTensorMapEncodeTiled(
            &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, shape.dims, reinterpret_cast<void*>(operand),
            extent.data(), stride.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
            shape.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return std::bit_cast<TensorMap>(map);
}

ladder::Params params_of(const ladder::Shape& shape, const LadderProblem& p) {
  ladder::Params params{};
  params.a_map = map_of(ladder::map_shape(shape, p.m, ladder::cta_m, p.k), p.a);
  params.b_map = map_of(ladder::map_shape(shape, p.n, ladder::cta_b_rows(shape), p.k), p.b);
  params.d = reinterpret_cast<void*>(p.d);
  params.tiles_m = static_cast<std::int32_t>(p.m / shape.tile_m);
  params.tiles_n = static_cast<std::int32_t>(p.n / shape.tile_n);
  params.k_blocks = static_cast<std::int32_t>((p.k + shape.tile_k - 1) / shape.tile_k);
  return params;
}

// Round to nearest even, of a number that is none of the special ones.
std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::vector<std::int8_t> whole_numbers(std::mt19937& random, std::int64_t count) {
  std::vector<std::int8_t> numbers(static_cast<std::size_t>(count));
  for (std::int8_t& number : numbers)
    number = static_cast<std::int8_t>(static_cast<int>(random() % 7) - 3);
  return numbers;
}

void upload(const DeviceBuffer& to, const std::vector<std::int8_t>& numbers) {
  std::vector<std::uint16_t> bits;
  bits.reserve(numbers.size());
  for (const std::int8_t number : numbers) bits.push_back(bf16_of(number));
  check(driver().cuMemcpyHtoD(to.address(), bits.data(), bits.size() * 2), "cuMemcpyHtoD");
}

std::size_t bytes_of(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * 2;
}

constexpr std::size_t untouched = 512;    // elements behind D
constexpr std::uint16_t poison = 0xffff;  // a NaN

}  // namespace

Ladder::Ladder(const Gpu& gpu, int sm_count)
    : gpu_(gpu), sm_count_(sm_count), code_(Code::ladder(gpu)) {}

void Ladder::launch(const ladder::Step& step, const LadderProblem& problem) const {
  const ladder::Shape& shape = step.shape;
  if (const char* why = ladder::invalid_because(shape, problem.m, problem.n, problem.k))
    throw std::runtime_error(std::string("ladder ") + step.name + ": " + why);
  const LaunchShape launch_shape{ladder::grid_ctas(shape, problem.m, problem.n, sm_count_),
                                 static_cast<unsigned>(shape.threads), ladder::layout(shape).bytes};
  const CUfunction function =
      code_.function((std::string("ladder_") + step.name).c_str(), launch_shape.shared_bytes);
  ladder::Params params = params_of(shape, problem);
  void* parameters[] = {&params};
  bench::launch(gpu_, function, launch_shape, parameters);
}

WholeNumberProduct::WholeNumberProduct(std::int64_t m, std::int64_t n, std::int64_t k,
                                       unsigned seed)
    : m_(m),
      n_(n),
      k_(k),
      a_(bytes_of(m, k)),
      b_(bytes_of(n, k)),
      d_(bytes_of(m, n) + untouched * 2) {
  std::mt19937 random(seed);
  const std::vector<std::int8_t> a = whole_numbers(random, m * k), b = whole_numbers(random, n * k);
  upload(a_, a);
  upload(b_, b);
  expected_.reserve(d_.bytes() / 2);
  for (const std::int8_t* row = a.data(); row != a.data() + m * k; row += k)
    for (const std::int8_t* column = b.data(); column != b.data() + n * k; column += k) {
      std::int32_t sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += row[i] * column[i];
      expected_.push_back(bf16_of(static_cast<float>(sum)));
    }
  expected_.resize(d_.bytes() / 2, poison);
}

std::string WholeNumberProduct::check(const Gpu& gpu, const Ladder& ladder,
                                      const ladder::Step& step) const {
  bench::check(driver().cuMemsetD8(d_.address(), poison & 0xff, d_.bytes()), "cuMemsetD8");
  bench::check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
  ladder.launch(step, {m_, n_, k_, a_.address(), b_.address(), d_.address()});
  bench::check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  std::vector<std::uint16_t> result(expected_.size());
  bench::check(driver().cuMemcpyDtoH(result.data(), d_.address(), d_.bytes()), "cuMemcpyDtoH");
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < result.size(); ++i)
    if (result[i] != expected_[i] && wrong++ == 0) first = i;
  if (wrong == 0) return "ok";
  std::ostringstream text;
  text << wrong << " elements wrong, the first at row " << static_cast<std::int64_t>(first) / n_
       << " column " << static_cast<std::int64_t>(first) % n_ << std::hex << ": " << result[first]
       << " for " << expected_[first];
  return text.str();
}

std::string ladder_text() {
  std::string text = "step  tile m n k       CTAs stages accumulators  adds\n";
  for (const ladder::Step& step : ladder::steps) {
    const ladder::Shape& shape = step.shape;
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(), "%-5s %3d x %3d x %-6d %4d %6d %12d  %s\n", step.name,
                  shape.tile_m, shape.tile_n, shape.tile_k, shape.ctas, shape.stages,
                  shape.accumulators, step.technique);
    text += line.data();
  }
  return text;
}

}  // namespace bwgemm::bench
