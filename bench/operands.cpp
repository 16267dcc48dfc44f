// SPDX-License-Identifier: Apache-2.0
#include "operands.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <stdexcept>

#include "verify.h"

namespace bwgemm::bench {

namespace {

constexpr std::size_t pool_elements = (1 << 24) - 3;  // odd, so that repeats do not align with rows
constexpr std::size_t most_sets = 1024;
constexpr std::size_t c_in_pool = 1000;  // byte of the pool at which C begins

// Round to nearest even; the pool has no NaN and no overflow.
std::uint16_t narrow(float value, bwgemmDataType_t type) {
  if (type == BWGEMM_R_16BF) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  const float magnitude = std::fabs(value);
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (magnitude < 0x1p-14f)
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(magnitude * 0x1p24f)));
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);                        // in [0.5, 1)
  const int scaled = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));  // 1024..2048
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + scaled));
}

std::size_t bytes_of(const BenchMatrix& matrix, std::int64_t batch) {
  return static_cast<std::size_t>(matrix.span(batch) * size_bytes(matrix.type));
}

// Where the next matrix may begin, if this one begins at `start`.
std::size_t behind(std::size_t start, const BenchMatrix& matrix, std::int64_t batch) {
  return (start + bytes_of(matrix, batch) + 1023) / 1024 * 1024;
}

// Copies the pool over and over; each operand starts elsewhere in it.
void fill(CUdeviceptr destination, std::size_t bytes, const void* pool, std::size_t pool_bytes,
          std::size_t start) {
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, pool_bytes - start);
    check(driver().cuMemcpyHtoD(destination, static_cast<const char*>(pool) + start, part),
          "cuMemcpyHtoD");
    destination += part;
    bytes -= part;
    start = 0;
  }
}

// Copies from pageable memory and memsets return before they are done, and the benchmark's stream
// does not wait for the legacy stream, which they are on.
void wait_for_legacy_stream() {
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
}

}  // namespace

Operands::Operands(const Gpu& gpu, const BenchProblem& problem)
    : problem_(problem),
      a_start_(static_cast<std::size_t>(problem.a.displace)),
      b_start_(behind(a_start_, problem.a, problem.batch) +
               static_cast<std::size_t>(problem.b.displace)),
      c_start_(behind(b_start_, problem.b, problem.batch) +
               static_cast<std::size_t>(problem.c.displace)),
      set_bytes_(behind(c_start_, problem.c, problem.batch)),
      c_bytes_(bytes_of(problem.c, problem.batch)),
      scalars_(2 * sizeof(float)) {
  const std::size_t rotation = 3 * gpu.l2_bytes();
  const std::size_t wanted = std::clamp<std::size_t>(rotation / set_bytes_ + 1, 2, most_sets);
  const std::size_t room = gpu.free_bytes() / 10 * 9 / set_bytes_;
  sets_ = static_cast<int>(std::min(wanted, room));
  if (sets_ == 0) throw std::runtime_error("the operands do not fit in device memory");
  memory_ = std::make_unique<DeviceBuffer>(static_cast<std::size_t>(sets_) * set_bytes_);

  std::mt19937_64 random(20240601);
  std::normal_distribution<float> normal;
  std::vector<float> quantiles(1 << 16);
  for (float& value : quantiles) value = normal(random);
  pool_.resize(pool_elements);
  pool_f32_.resize(problem.c.type == BWGEMM_R_32F ? pool_elements : 0);
  for (std::size_t i = 0; i < pool_elements; ++i) {
    const float value = quantiles[random() >> 48];
    pool_[i] = narrow(value, problem.a.type);
    if (!pool_f32_.empty()) pool_f32_[i] = value;
  }
  for (int set = 0; set < sets_; ++set) {
    const auto start = static_cast<std::size_t>(set) * 7919 * 2;
    const std::size_t pool_bytes = pool_elements * 2;
    fill(memory_->address(offset(set)), c_start_, pool_.data(), pool_bytes, start % pool_bytes);
    reset_c(set);
  }
  const float scalars[] = {problem.alpha, problem.beta};
  check(driver().cuMemcpyHtoD(scalars_.address(), scalars, sizeof scalars), "cuMemcpyHtoD");
  wait_for_legacy_stream();
}

Pointers Operands::pointers(int set) const {
  Pointers pointers{reinterpret_cast<void*>(a(set)), reinterpret_cast<void*>(b(set)),
                    reinterpret_cast<void*>(c(set)), &problem_.alpha, &problem_.beta};
  if (problem_.device_scalars) {
    pointers.alpha = scalars_.pointer();
    pointers.beta = scalars_.pointer(sizeof(float));
  }
  return pointers;
}

void Operands::reset_c(int set) const {
  if (pool_f32_.empty())
    fill(c(set), c_bytes_, pool_.data(), pool_elements * 2, c_in_pool);
  else
    fill(c(set), c_bytes_, pool_f32_.data(), pool_elements * 4, c_in_pool);
  wait_for_legacy_stream();
}

void Operands::poison_c(int set) const {
  check(driver().cuMemsetD8(c(set), 0xff, c_bytes_), "cuMemsetD8");
  wait_for_legacy_stream();
}

std::string Operands::verify(int set) const {
  const auto c_before = [this](std::int64_t index) -> double {
    const auto at = static_cast<std::size_t>(index);
    return pool_f32_.empty() ? widen(pool_[(at + c_in_pool / 2) % pool_elements], problem_.c.type)
                             : pool_f32_[(at + c_in_pool / 4) % pool_elements];
  };
  return bench::verify(problem_, a(set), b(set), c(set), c_before);
}

}  // namespace bwgemm::bench
