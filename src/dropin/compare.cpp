// SPDX-License-Identifier: Apache-2.0
#include "dropin/compare.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "dropin/epilogue.h"
#include "dropin/serve.h"

namespace bwgemm::dropin {
namespace {

constexpr std::size_t most_places = 64;
constexpr int most_chunks = 32;

template <class Value>
Value loaded(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Half a unit in the last place of 1, the same of the least number above 0, and the greatest.
struct Rounding {
  double relative, absolute, greatest;
};

Rounding rounding_of(int type) {
  if (type == CUDA_R_16F) return {0x1p-11, 0x1p-25, 65504};
  if (type == CUDA_R_16BF) return {0x1p-8, 0x1p-134, 0x1.fep127};
  return {0x1p-24, 0x1p-150, FLT_MAX};
}

// By how many roundings two numbers differ.
double distance(double one, double other, const Rounding& rounding) {
  if (one == other || (std::isnan(one) && std::isnan(other))) return 0;
  if (!std::isfinite(one) || !std::isfinite(other)) return HUGE_VAL;
  const double larger = std::max(std::fabs(one), std::fabs(other));
  return std::fabs(one - other) / (rounding.relative * larger + rounding.absolute);
}

// An element in front of the activation, exactly as far as float64 goes. `added`: the size of what
// is added to the product.
struct Exact {
  double value, sum_of_sizes, added;
};

// An activation at a point: its value, and what it makes of bounds.
struct Activated {
  double value, steepness, our_error, their_error;
};

double gelu(double x) {
  return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

double gelu_derivative(double x) {
  const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x), t = std::tanh(inner);
  return (1 + t) / 2 + x / 2 * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
}

Activated activated(const Call& call, double x, const HostMatrix* aux, const Place& at) {
  const EpilogueForm& form = *form_of(call.epilogue.kind);
  const double size = std::fabs(x);
  if (form.aux_mode == BWGEMM_AUX_DERIVATIVE) {
    const double point = aux->at(at.row, at.column, at.batch), slope = gelu_derivative(point);
    const double bend = std::min(8.0, 1 + std::fabs(point * point * point));
    return {x * slope, std::fabs(slope), 0x1p-17 * size, 0x1p-9 * size * bend};
  }
  if (form.activation == BWGEMM_ACTIVATION_RELU) return {std::max(x, 0.0), 1, 0, 0};
  if (form.activation == BWGEMM_ACTIVATION_NONE) return {x, 1, 0, 0};
  return {gelu(x), 1.13, 0x1p-16 * std::fabs(gelu(x)) + 0x1p-119, 0x1p-10 * size + 0x1p-119};
}

Exact computed(const Call& call, const Inputs& in, const Place& at) {
  Exact exact{0, 0, 0};
  double sum = 0;
  if (in.alpha != 0)
    for (std::int64_t l = 0; l < call.k; ++l) {
      const double a =
          call.transa != CUBLAS_OP_N ? in.a.at(l, at.row, at.batch) : in.a.at(at.row, l, at.batch);
      const double b = call.transb != CUBLAS_OP_N ? in.b.at(at.column, l, at.batch)
                                                  : in.b.at(l, at.column, at.batch);
      sum += a * b;
      exact.sum_of_sizes += std::fabs(a * b);
    }
  double added = 0;
  if (in.beta != 0) added = in.beta * in.before.at(at.row, at.column, at.batch);
  exact.added = std::fabs(added);
  if (in.bias != nullptr) {
    const double bias = in.bias->at(at.row, 0, at.batch);
    added += bias;
    exact.added += std::fabs(bias);
  }
  exact.value = (in.alpha != 0 ? in.alpha * sum : 0) + added;
  return exact;
}

bool leaves_range(const Exact& exact, double alpha, const Rounding& rounding) {
  const double largest = std::max(1.0, std::fabs(alpha)) * exact.sum_of_sizes * 1.5 + exact.added;
  return !(largest < rounding.greatest);  // NaN too
}

// In front of the activation.
double linear_bound(const Call& call, const Exact& exact, double alpha) {
  const double u = 0x1p-23, size = std::fabs(alpha) * exact.sum_of_sizes;
  const double terms = static_cast<double>(call.k) + 16;
  const double sum = terms * (u * size + std::fabs(alpha) * 0x1p-126);
  return sum + u * (size + exact.added) + 0x1p-149;
}

// By how much more cuBLAS's may differ in front of the activation.
double narrow_bound(const Call& call, const Exact& exact, double alpha, const Rounding& rounding) {
  const double narrow = call.has_half_scalars() ? static_cast<double>(call.k) * 0x1p-11
                                                : most_chunks * rounding.relative;
  return narrow * std::fabs(alpha) * exact.sum_of_sizes;
}

// The bound for a value that is `off` from the exact one and then rounded to the type.
double with_rounding(double value, double off, const Rounding& rounding) {
  return off + rounding.relative * (std::fabs(value) + off) + rounding.absolute;
}

std::string sentence(const Call& call, const char* whose, const Place& at, double exact,
                     double bound) {
  char text[256];
  std::snprintf(
      text, sizeof text,
      "%s result leaves its bound: %s(%lld,%lld) of batch %lld is %.9g by bwgemm, %.9g by "
      "cuBLAS, %.9g exactly; the bound is %.3g",
      whose, call.d ? "D" : "C", static_cast<long long>(at.row), static_cast<long long>(at.column),
      static_cast<long long>(at.batch), at.ours, at.theirs, exact, bound);
  return text;
}

}  // namespace

std::int64_t size_of(int type) {
  return type == CUDA_R_32F ? 4 : 2;
}

double unit_of(int type) {
  return rounding_of(type).relative;
}

double number(const std::byte* at, int type) {
  if (type == CUDA_R_32F) return loaded<float>(at);
  const auto bits = loaded<std::uint16_t>(at);
  if (type == CUDA_R_16F) return from_half(bits);
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  return loaded<float>(reinterpret_cast<const std::byte*>(&wide));
}

double HostMatrix::at(std::int64_t row, std::int64_t column, std::int64_t batch) const {
  const std::int64_t start = starts[starts.size() == 1 ? 0 : static_cast<std::size_t>(batch)];
  const std::int64_t element = is_row_major ? row * ld + column : column * ld + row;
  return number(bytes.data() + start + element * size_of(type), type);
}

std::vector<Place> suspicious(const Call& call, const HostMatrix& ours, const HostMatrix& theirs) {
  const Rounding rounding = rounding_of(call.output().type);
  std::vector<std::pair<double, Place>> found;
  const auto further = [](const auto& one, const auto& other) { return one.first > other.first; };
  for (std::int64_t batch = 0; batch < call.batch; ++batch)
    for (std::int64_t column = 0; column < call.n; ++column)
      for (std::int64_t row = 0; row < call.m; ++row) {
        const double one = ours.at(row, column, batch), other = theirs.at(row, column, batch);
        const double apart = distance(one, other, rounding);
        // Neighbours are two roundings apart.
        if (apart <= 2.01 || (found.size() == most_places && apart <= found.front().first))
          continue;
        if (found.size() == most_places) {
          std::pop_heap(found.begin(), found.end(), further);
          found.pop_back();
        }
        found.push_back({apart, {row, column, batch, one, other}});
        std::push_heap(found.begin(), found.end(), further);
      }
  std::sort_heap(found.begin(), found.end(), further);
  std::vector<Place> places;
  for (const auto& [apart, place] : found) places.push_back(place);
  return places;
}

std::string judge(const Call& call, const Inputs& inputs, const Place& place) {
  const Rounding rounding = rounding_of(call.output().type);
  const Exact exact = computed(call, inputs, place);
  if (std::isnan(exact.value)) {
    const bool both = std::isnan(place.ours) && std::isnan(place.theirs);
    return both ? ""
                : sentence(call, std::isnan(place.ours) ? "cuBLAS's" : "bwgemm's", place,
                           exact.value, 0);
  }
  if (leaves_range(exact, inputs.alpha, rounding)) return "";
  const Activated at = activated(call, exact.value, inputs.aux, place);
  const double off = at.steepness * linear_bound(call, exact, inputs.alpha);
  const double our = with_rounding(at.value, off + at.our_error, rounding);
  if (!(std::fabs(place.ours - at.value) <= our))
    return sentence(call, "bwgemm's", place, at.value, our);
  const double narrow = at.steepness * narrow_bound(call, exact, inputs.alpha, rounding);
  const double their = with_rounding(at.value, off + narrow + at.their_error, rounding);
  if (!(std::fabs(place.theirs - at.value) <= their))
    return sentence(call, "cuBLAS's", place, at.value, their);
  return "";
}

}  // namespace bwgemm::dropin
