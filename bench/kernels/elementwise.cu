// SPDX-License-Identifier: Apache-2.0
// What a program does that wants an activation or a gate which its GEMM does not fuse: a kernel
// behind it, bound by memory. A thread keeps 64 bytes of loads under way, a multiprocessor 64 KB;
// tanh.approx is the one special function of an element, so that arithmetic stays below the loads.
#include "device/ptx/attributes.h"
#include "device/ptx/math.h"
#include "elementwise.h"

namespace bwgemm::bench {

BWGEMM_DEVICE float tanh_approx(float value) {
  float tangent;
  asm("tanh.approx.f32 %0, %1;" : "=f"(tangent) : "f"(value));
  return tangent;
}

// All are x * (1 + tanh(u)) / 2.
template <Curve curve>
BWGEMM_DEVICE float activated(float x) {
  float u;
  if constexpr (curve == Curve::silu) {
    u = 0.5f * x;
  } else if constexpr (curve == Curve::gelu_tanh) {
    u = x * fmaf(0.0356774081f, x * x, 0.797884561f);
  } else {  // within 2.6e-5 of x/2 * (1 + erf(x / sqrt(2)))
    const float square = fminf(x * x, 17.64f);
    u = x * fmaf(fmaf(-3.51619904e-4f, square, 3.70061462e-2f), square, 0.797507432f);
  }
  const float half = 0.5f * x;
  return fmaf(half, tanh_approx(u), half);
}

struct Bf16 {
  BWGEMM_DEVICE static float low(std::uint32_t pair) { return __uint_as_float(pair << 16); }
  BWGEMM_DEVICE static float high(std::uint32_t pair) {
    return __uint_as_float(pair & 0xffff0000u);
  }
  BWGEMM_DEVICE static std::uint32_t packed(float low, float high) {
    return ptx::cvt_rn_bf16x2_f32(high, low);
  }
};

struct F16 {
  BWGEMM_DEVICE static float low(std::uint32_t pair) {
    return ptx::cvt_f32_f16(static_cast<std::uint16_t>(pair));
  }
  BWGEMM_DEVICE static float high(std::uint32_t pair) {
    return ptx::cvt_f32_f16(static_cast<std::uint16_t>(pair >> 16));
  }
  BWGEMM_DEVICE static std::uint32_t packed(float low, float high) {
    return ptx::cvt_rn_f16x2_f32(high, low);
  }
};

// Elements as they are loaded and stored: words of two, or one in the low half of a word.
struct Vector {
  static constexpr int words = 4, elements = 8;
  std::uint32_t word[words];

  BWGEMM_DEVICE static Vector load(const std::uint16_t* from) {
    const uint4 loaded = __ldcs(reinterpret_cast<const uint4*>(from));
    return {{loaded.x, loaded.y, loaded.z, loaded.w}};
  }
  BWGEMM_DEVICE void store(std::uint16_t* to) const {
    __stcs(reinterpret_cast<uint4*>(to), make_uint4(word[0], word[1], word[2], word[3]));
  }
};

struct Single {
  static constexpr int words = 1, elements = 1;
  std::uint32_t word[words];

  BWGEMM_DEVICE static Single load(const std::uint16_t* from) { return {{*from}}; }
  BWGEMM_DEVICE void store(std::uint16_t* to) const { *to = static_cast<std::uint16_t>(word[0]); }
};

template <class Type, Curve curve>
BWGEMM_DEVICE std::uint32_t activated_pair(std::uint32_t x) {
  return Type::packed(activated<curve>(Type::low(x)), activated<curve>(Type::high(x)));
}

template <class Type, Curve curve>
BWGEMM_DEVICE std::uint32_t gated_pair(std::uint32_t x, std::uint32_t y) {
  return Type::packed(activated<curve>(Type::low(x)) * Type::low(y),
                      activated<curve>(Type::high(x)) * Type::high(y));
}

// Of two words of x0 y0 and x1 y1.
template <class Type, Curve curve>
BWGEMM_DEVICE std::uint32_t gated_words(std::uint32_t first, std::uint32_t second) {
  return Type::packed(activated<curve>(Type::low(first)) * Type::high(first),
                      activated<curve>(Type::low(second)) * Type::high(second));
}

// A piece's elements of the product.
template <class Piece, Pairing pairing>
struct Loaded {
  Piece x, y;

  BWGEMM_DEVICE void load(const std::uint16_t* from, std::int64_t to_second) {
    x = Piece::load(from);
    if constexpr (pairing != Pairing::none) y = Piece::load(from + to_second);
  }

  template <class Type, Curve curve>
  BWGEMM_DEVICE Piece result() const {
    Piece result;
    if constexpr (pairing == Pairing::interleaved && Piece::words > 1) {
#pragma unroll
      for (int i = 0; i < Piece::words / 2; ++i) {
        result.word[i] = gated_words<Type, curve>(x.word[2 * i], x.word[2 * i + 1]);
        result.word[i + Piece::words / 2] =
            gated_words<Type, curve>(y.word[2 * i], y.word[2 * i + 1]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < Piece::words; ++i)
        if constexpr (pairing == Pairing::none)
          result.word[i] = activated_pair<Type, curve>(x.word[i]);
        else
          result.word[i] = gated_pair<Type, curve>(x.word[i], y.word[i]);
    }
    return result;
  }
};

// Where a piece begins.
struct Place {
  std::int64_t product, result;
};

template <class Piece, Pairing pairing>
BWGEMM_DEVICE Place place_of(const ElementwiseParams& params, std::uint32_t piece) {
  std::uint32_t line = 0, in_line = piece, batch = 0;
  if (params.pieces_per_line != params.pieces) {
    line = piece / params.pieces_per_line;
    in_line = piece - line * params.pieces_per_line;
  }
  if (params.lines != 1) {
    batch = line / params.lines;
    line -= batch * params.lines;
  }
  const std::int64_t element = std::int64_t{in_line} * Piece::elements;
  const auto begin = [&](const Lines& lines) {
    return std::int64_t{batch} * lines.stride + std::int64_t{line} * lines.ld;
  };
  return {begin(params.product_lines) + (pairing == Pairing::interleaved ? 2 * element : element),
          begin(params.result_lines) + element};
}

template <class Type, Curve curve, Pairing pairing, class Piece>
BWGEMM_DEVICE void apply(const ElementwiseParams& params) {
  constexpr int unrolled = pairing == Pairing::none ? 4 : 2;
  const auto* product = static_cast<const std::uint16_t*>(params.product);
  auto* result = static_cast<std::uint16_t*>(params.result);
  const std::int64_t to_second =
      pairing == Pairing::interleaved ? Piece::elements : params.to_second;
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x; first < params.pieces;
       first += unrolled * threads) {
    Loaded<Piece, pairing> loaded[unrolled];
    std::int64_t to[unrolled];
#pragma unroll
    for (int i = 0; i < unrolled; ++i) {
      const std::uint32_t piece = first + i * threads;
      if (piece >= params.pieces) continue;
      const Place place = place_of<Piece, pairing>(params, piece);
      loaded[i].load(product + place.product, to_second);
      to[i] = place.result;
    }
#pragma unroll
    for (int i = 0; i < unrolled; ++i)
      if (first + i * threads < params.pieces)
        loaded[i].template result<Type, curve>().store(result + to[i]);
  }
}

template <class Type, Curve curve, Pairing pairing>
BWGEMM_DEVICE void apply_pieces(const ElementwiseParams& params) {
  if (params.is_vector)
    apply<Type, curve, pairing, Vector>(params);
  else
    apply<Type, curve, pairing, Single>(params);
}

template <class Type, Curve gated, Curve alone>
BWGEMM_DEVICE void apply_curve(const ElementwiseParams& params) {
  if (params.pairing == Pairing::interleaved)
    apply_pieces<Type, gated, Pairing::interleaved>(params);
  else if (params.pairing == Pairing::stacked)
    apply_pieces<Type, gated, Pairing::stacked>(params);
  else
    apply_pieces<Type, alone, Pairing::none>(params);
}

// gelu_tanh comes with gates only, gelu_erf without: cuBLASLt fuses the other.
template <class Type>
BWGEMM_DEVICE void apply_any(const ElementwiseParams& params) {
  if (params.curve == Curve::silu)
    apply_curve<Type, Curve::silu, Curve::silu>(params);
  else
    apply_curve<Type, Curve::gelu_tanh, Curve::gelu_erf>(params);
}

}  // namespace bwgemm::bench

using namespace bwgemm::bench;

extern "C" __global__ void __launch_bounds__(elementwise_threads, elementwise_ctas_per_sm)
    elementwise_bf16(const __grid_constant__ ElementwiseParams params) {
  apply_any<Bf16>(params);
}
extern "C" __global__ void __launch_bounds__(elementwise_threads, elementwise_ctas_per_sm)
    elementwise_f16(const __grid_constant__ ElementwiseParams params) {
  apply_any<F16>(params);
}
