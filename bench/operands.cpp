// SPDX-License-Identifier: Apache-2.0
#include "operands.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

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

// Where `next` begins, if the matrix before it begins at `start`.
std::size_t behind(std::size_t start, const BenchMatrix& matrix, std::int64_t batch,
                   const BenchMatrix& next = {}) {
  return (start + bytes_of(matrix, batch) + 1023) / 1024 * 1024 +
         static_cast<std::size_t>(next.displace);
}

// Copies the pool over and over; each operand starts elsewhere in it.
void fill(CUdeviceptr destination, std::size_t bytes, const DeviceBuffer& pool, std::size_t start) {
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, pool.bytes() - start);
    check(driver().cuMemcpyDtoD(destination, pool.address(start), part), "cuMemcpyDtoD");
    destination += part;
    bytes -= part;
    start = 0;
  }
}

// Copies and memsets return before they are done, and the benchmark's stream does not wait for the
// legacy stream, which they are on.
void wait_for_legacy_stream() {
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
}

template <class Element>
std::unique_ptr<DeviceBuffer> on_device(const std::vector<Element>& values) {
  auto copy = std::make_unique<DeviceBuffer>(values.size() * sizeof(Element));
  check(driver().cuMemcpyHtoD(copy->address(), values.data(), copy->bytes()), "cuMemcpyHtoD");
  return copy;
}

}  // namespace

// Normal numbers as an input type and as f32, the same in every run.
struct OperandSets::Pool {
  explicit Pool(bwgemmDataType_t type) : values(pool_elements), values_f32(pool_elements) {
    std::mt19937_64 random(20240601);
    std::normal_distribution<float> normal;
    std::vector<float> quantiles(1 << 16);
    for (float& value : quantiles) value = normal(random);
    for (std::size_t i = 0; i < pool_elements; ++i) {
      const float value = quantiles[random() >> 48];
      values[i] = narrow(value, type);
      values_f32[i] = value;
    }
    device_values = on_device(values);
    device_values_f32 = on_device(values_f32);
  }

  // A list of problems shares one. Never freed: the driver may end before static objects do.
  static const Pool& of(bwgemmDataType_t type) {
    static auto& pools = *new std::map<bwgemmDataType_t, Pool>;
    return pools.try_emplace(type, type).first->second;
  }

  std::vector<std::uint16_t> values;
  std::vector<float> values_f32;
  std::unique_ptr<DeviceBuffer> device_values, device_values_f32;
};

OperandSets::OperandSets(const Gpu& gpu, const BenchProblem& problem)
    : problem_(problem),
      a_start_(static_cast<std::size_t>(problem.a.displace)),
      b_start_(behind(a_start_, problem.a, problem.batch, problem.b)),
      c_start_(behind(b_start_, problem.b, problem.batch, problem.c)),
      residual_start_(behind(c_start_, problem.c, problem.batch, problem.residual())),
      bias_start_(behind(residual_start_, problem.residual(), problem.batch, problem.bias())),
      aux_start_(behind(bias_start_, problem.bias(), problem.batch, problem.aux())),
      set_bytes_(behind(aux_start_, problem.aux(), problem.batch)),
      c_bytes_(bytes_of(problem.c, problem.batch)),
      scalars_(2 * sizeof(float)),
      pool_(Pool::of(problem.a.type)) {
  const std::size_t rotation = 3 * gpu.l2_bytes();
  const std::size_t wanted = std::clamp<std::size_t>(rotation / set_bytes_ + 1, 2, most_sets);
  const std::size_t room = gpu.free_bytes() / 10 * 9 / set_bytes_;
  sets_ = static_cast<int>(std::min(wanted, room));
  if (sets_ == 0) throw std::runtime_error("the operands do not fit in device memory");
  memory_ = std::make_unique<DeviceBuffer>(static_cast<std::size_t>(sets_) * set_bytes_);

  for (int set = 0; set < sets_; ++set) {
    const DeviceBuffer& pool = *pool_.device_values;
    fill(memory_->address(offset(set)), c_start_, pool,
         static_cast<std::size_t>(set) * 7919 * 2 % pool.bytes());
    // What the epilogue reads has the type of C.
    const std::size_t extras = behind(c_start_, problem.c, problem.batch);
    fill(memory_->address(offset(set) + extras), set_bytes_ - extras, c_pool(),
         (static_cast<std::size_t>(set) * 4093 + 1024) * 8 % c_pool().bytes());
    reset_c(set);
  }
  const float scalars[] = {problem.alpha, problem.beta};
  check(driver().cuMemcpyHtoD(scalars_.address(), scalars, sizeof scalars), "cuMemcpyHtoD");
  wait_for_legacy_stream();
}

Pointers OperandSets::pointers(int set) const {
  Pointers pointers{.a = pointer(set, a_start_),
                    .b = pointer(set, b_start_),
                    .c = pointer(set, c_start_),
                    .alpha = &problem_.alpha,
                    .beta = &problem_.beta};
  if (problem_.epilogue.residual) pointers.residual = pointer(set, residual_start_);
  if (problem_.epilogue.bias) pointers.bias = pointer(set, bias_start_);
  if (problem_.epilogue.derivative) pointers.aux = pointer(set, aux_start_);
  if (problem_.device_scalars) {
    pointers.alpha = scalars_.pointer();
    pointers.beta = scalars_.pointer(sizeof(float));
  }
  return pointers;
}

void OperandSets::reset_c(int set) const {
  fill(c(set), c_bytes_, c_pool(), c_in_pool);
  wait_for_legacy_stream();
}

void OperandSets::poison_c(int set) const {
  check(driver().cuMemsetD8(c(set), 0xff, c_bytes_), "cuMemsetD8");
  wait_for_legacy_stream();
}

const DeviceBuffer& OperandSets::c_pool() const {
  return output_is_f32() ? *pool_.device_values_f32 : *pool_.device_values;
}

std::string OperandSets::verify(int set, Precision precision) const {
  const auto c_before = [this](std::int64_t index) -> double {
    const auto at = static_cast<std::size_t>(index);
    return output_is_f32()
               ? pool_.values_f32[(at + c_in_pool / 4) % pool_elements]
               : widen(pool_.values[(at + c_in_pool / 2) % pool_elements], problem_.c.type);
  };
  return bench::verify(problem_, pointers(set), c_before, precision);
}

}  // namespace bwgemm::bench
