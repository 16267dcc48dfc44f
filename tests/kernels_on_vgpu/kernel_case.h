// SPDX-License-Identifier: Apache-2.0
// KernelCase: one problem for one compiled kernel, run on the virtual GPU without the library above
// it. Operands are small integers, so that every order of summation gives the same bits; around all
// elements, and where D is not to be written, bytes are compared too.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "device/residues.h"
#include "families/facts.h"
#include "families/variants.h"
#include "rules/rasters.h"
#include "support/element.h"
#include "vgpu/machine.h"
#include "vgpu/tensor_map.h"

namespace bwgemm::vgpu {

// The PTX of a row as the build wrote it: <name>[.<target>].ptx in BWGEMM_VGPU_PTX. Empty: none.
inline std::string kernel_ptx_file(const std::string& name) {
  const char* folder = std::getenv("BWGEMM_VGPU_PTX");
  if (!folder || !std::filesystem::is_directory(folder)) return {};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (file.starts_with(name + ".") && file.ends_with(".ptx")) return entry.path();
  }
  return {};
}

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// As the kernel sees it: where A and B are swapped, D lies in column order.
struct KernelProblem {
  std::int64_t m, n, k, batch = 1;
  float alpha = 1, beta = 0;
  bool f32_output = false, device_scalars = false, in_place = false;
  Dtype input = Dtype::bf16;      // where the config leaves these to the launch
  std::optional<Dtype> output16;  // of D and C unless that is f32; that of the inputs unless set
  Major a = Major::k, b = Major::k;
  int tile_n = 256, splits = 1, clusters = 2;
  bool reduces_in_cluster = false;  // of a row without clusters; `clusters` are then tiles
  // Elements between lines. TMA needs a multiple of 8; where threads move elements nothing is
  // mapped, and kernels that would map what they can need any other number.
  int pad = 8;
};

class KernelCase {
 public:
  KernelCase(const KernelConfig& config, const KernelProblem& problem)
      : config_(config), problem_(problem) {
    if (config.a != Major::any) problem_.a = config.a;
    if (config.b != Major::any) problem_.b = config.b;
    output_ = problem_.f32_output ? Dtype::f32 : problem_.output16.value_or(problem_.input);
    shape_ = kernel_shape(config, problem_.tile_n, output_, problem_.b);
  }

  struct Outcome {
    std::vector<Finding> findings;
    std::size_t wrong_bytes;  // of D's allocation, what lies around D included, and of counters
    bool clean() const { return findings.empty() && wrong_bytes == 0; }
  };

  // Runs one schedule.
  Outcome run(const std::shared_ptr<const Module>& module, std::uint64_t seed,
              RunOptions options = {}) {
    GlobalMemory memory;
    std::mt19937 random(static_cast<unsigned>(seed));
    const KernelProblem& p = problem_;
    const Matrix a = operand(memory, p.a, p.m, random), b = operand(memory, p.b, p.n, random);
    const Matrix d = output(memory);
    const Matrix c = p.in_place ? d : output(memory);
    if (p.beta != 0) fill(memory, c, random, 9);
    std::vector<std::byte> expected = reference(memory, a, b, c, d);
    LaunchRequest request;
    request.module = module;
    request.kernel = kernel_name(config_).c_str();
    request.block = {static_cast<std::uint32_t>(shape_.threads)};
    request.cluster_size =
        static_cast<std::uint32_t>(p.reduces_in_cluster ? p.splits : config_.cluster.size());
    request.grid = {static_cast<std::uint32_t>(p.clusters) * request.cluster_size};
    request.dynamic_shared_bytes = static_cast<std::uint32_t>(shape_.smem_bytes);
    request.seed = seed;
    const MappedParams params = parameters(memory, a, b, c, d);
    request.parameters.resize(params_bytes(config_));
    std::memcpy(request.parameters.data(), &params, request.parameters.size());
    options.concurrent_ctas = static_cast<std::uint32_t>(request.grid.count());
    Outcome outcome{vgpu::run(request, memory, options), 0};
    const auto* actual = static_cast<const std::byte*>(memory.host(d.base, d.bytes));
    if (config_.family == Family::cooperative && config_.store != Store::elements &&
        !stores_from_registers())
      for_each_line_end(d, [&](std::size_t end, std::size_t bytes) {
        std::copy_n(&actual[end], bytes, &expected[end]);  // of what was not loaded: anything
      });
    for (std::size_t i = 0; i < expected.size(); ++i)
      outcome.wrong_bytes += actual[i] != expected[i];
    if (p.splits > 1) {  // counters are zero again
      const std::size_t bytes = arrivals(params) * sizeof(std::uint32_t);
      const auto* counters = static_cast<const std::byte*>(
          memory.host(reinterpret_cast<std::uint64_t>(params.arrivals), bytes));
      for (std::size_t i = 0; i < bytes; ++i) outcome.wrong_bytes += counters[i] != std::byte{};
    }
    return outcome;
  }

 private:
  struct Matrix {
    std::uint64_t base, data;  // of the allocation; of the first element
    std::size_t bytes;
    Dtype type;
    std::int64_t inner, outer, ld;
    std::uint64_t element(std::int64_t i, std::int64_t o, std::int64_t batch) const {
      return data + static_cast<std::uint64_t>((batch * outer + o) * ld + i) * size_bytes(type);
    }
  };
  static constexpr std::size_t guard = 8192;

  Matrix matrix(GlobalMemory& memory, Dtype type, std::int64_t inner, std::int64_t outer) const {
    const std::int64_t ld = (inner + 7) / 8 * 8 + problem_.pad;
    const std::size_t bytes =
        2 * guard + static_cast<std::size_t>(ld * outer * problem_.batch) * size_bytes(type);
    const std::uint64_t base = memory.allocate(bytes);
    return {base, base + guard, bytes, type, inner, outer, ld};
  }

  Matrix operand(GlobalMemory& memory, Major major, std::int64_t mn, std::mt19937& random) const {
    const bool k_major = major == Major::k;
    const Matrix result =
        matrix(memory, problem_.input, k_major ? problem_.k : mn, k_major ? mn : problem_.k);
    fill(memory, result, random, 4);
    return result;
  }

  Matrix output(GlobalMemory& memory) const {
    return is_columns() ? matrix(memory, output_, problem_.m, problem_.n)
                        : matrix(memory, output_, problem_.n, problem_.m);
  }
  bool is_columns() const { return config_.swaps_ab; }

  template <class Visit>
  void for_each(GlobalMemory& memory, const Matrix& matrix, Visit visit) const {
    for (std::int64_t batch = 0; batch < problem_.batch; ++batch)
      for (std::int64_t o = 0; o < matrix.outer; ++o)
        for (std::int64_t i = 0; i < matrix.inner; ++i) {
          const std::uint64_t address = matrix.element(i, o, batch);
          visit(static_cast<std::byte*>(memory.host(matrix.base, matrix.bytes)) +
                    (address - matrix.base),
                address, i, o, batch);
        }
  }

  void fill(GlobalMemory& memory, const Matrix& matrix, std::mt19937& random, int largest) const {
    const auto span = static_cast<unsigned>(2 * largest + 1);
    for_each(memory, matrix, [&](std::byte* at, std::uint64_t, auto...) {
      test::store(at, matrix.type, static_cast<float>(static_cast<int>(random() % span) - largest));
    });
    // Whole lines count as written, so that only what lies between lines does not: of that, loaders
    // read what fills the units in which lines begin.
    const bool has_loaders = uses_tensor_memory(config_) && sm100::has_loaders(config_);
    for (std::int64_t batch = 0; batch < problem_.batch; ++batch)
      for (std::int64_t o = 0; o < matrix.outer; ++o) {
        const std::uint64_t line = matrix.element(0, o, batch), front = has_loaders ? line % 16 : 0;
        memory.mark_initialised(
            line - front, front + static_cast<std::size_t>(matrix.inner) * size_bytes(matrix.type));
      }
  }

  // What TMA writes behind a line of D, to the end of its 16-byte unit. The library has no such D.
  template <class Function>
  void for_each_line_end(const Matrix& d, const Function& function) const {
    for (std::int64_t line = 0; line < d.outer * problem_.batch; ++line) {
      const std::size_t end = d.element(d.inner, line, 0) - d.base;
      function(end, -end % 16);
    }
  }

  // The bytes of D's allocation after the right answer was written.
  std::vector<std::byte> reference(GlobalMemory& memory, const Matrix& a, const Matrix& b,
                                   const Matrix& c, const Matrix& d) const {
    const KernelProblem& p = problem_;
    auto image_of = [&](const Matrix& m) {
      return static_cast<const std::byte*>(memory.host(m.base, m.bytes));
    };
    const std::byte *a_image = image_of(a), *b_image = image_of(b), *c_image = image_of(c);
    auto value = [](const std::byte* from, const Matrix& m, std::int64_t i, std::int64_t o,
                    std::int64_t batch) {
      return test::load(from + (m.element(i, o, batch) - m.base), m.type);
    };
    std::vector<std::byte> result(image_of(d), image_of(d) + d.bytes);
    if (config_.family == Family::pair)
      for_each_line_end(d, [&](std::size_t end, std::size_t bytes) {
        std::fill_n(&result[end], bytes, std::byte{});  // products of rows that TMA made of zeros
      });
    std::vector<float> b_values(static_cast<std::size_t>(p.k * p.n)), sums(p.n);
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t l = 0; l < p.k; ++l)
        for (std::int64_t j = 0; j < p.n; ++j)
          b_values[l * p.n + j] =
              p.b == Major::k ? value(b_image, b, l, j, batch) : value(b_image, b, j, l, batch);
      for (std::int64_t i = 0; i < p.m; ++i) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (std::int64_t l = 0; p.alpha != 0 && l < p.k; ++l) {
          const float x =
              p.a == Major::k ? value(a_image, a, l, i, batch) : value(a_image, a, i, l, batch);
          for (std::int64_t j = 0; j < p.n; ++j) sums[j] += x * b_values[l * p.n + j];
        }
        for (std::int64_t j = 0; j < p.n; ++j) {
          const float product = (p.alpha != 0 && p.k > 0 ? p.alpha : 0.0f) * sums[j];
          const std::int64_t inner = is_columns() ? i : j, outer = is_columns() ? j : i;
          const float sum = p.beta == 0
                                ? product
                                : std::fma(p.beta, value(c_image, c, inner, outer, batch), product);
          test::store(&result[d.element(inner, outer, batch) - d.base], d.type, sum);
        }
      }
    }
    return result;
  }

  TensorMap map(const Matrix& matrix, int box_inner, int box_outer) const {
    TensorMapFields fields{};
    fields.address = matrix.data;
    fields.rank = 3;
    fields.element = matrix.type == Dtype::f32    ? TensorElement::f32
                     : matrix.type == Dtype::bf16 ? TensorElement::bf16
                                                  : TensorElement::f16;
    fields.extent = {static_cast<std::uint64_t>(std::max<std::int64_t>(matrix.inner, 1)),
                     static_cast<std::uint64_t>(std::max<std::int64_t>(matrix.outer, 1)),
                     static_cast<std::uint64_t>(problem_.batch), 1, 1};
    fields.stride[0] = static_cast<std::uint64_t>(matrix.ld) * size_bytes(matrix.type);
    fields.stride[1] = fields.stride[0] * static_cast<std::uint64_t>(matrix.outer);
    fields.box = {static_cast<std::uint32_t>(box_inner), static_cast<std::uint32_t>(box_outer), 1,
                  1, 1};
    fields.element_stride.fill(1);
    const int row_bytes = box_inner * size_bytes(matrix.type);
    fields.swizzle = row_bytes == 128  ? Swizzle::bytes128
                     : row_bytes == 64 ? Swizzle::bytes64
                                       : Swizzle::bytes32;
    const TensorMapBytes bytes = encode(fields);
    TensorMap result;
    std::memcpy(&result, bytes.data(), sizeof result);
    return result;
  }

  Scalar scalar(GlobalMemory& memory, float value) const {
    if (!problem_.device_scalars) return {value, nullptr};
    const std::uint64_t address = memory.allocate(sizeof value);
    std::memcpy(memory.host(address, sizeof value), &value, sizeof value);
    memory.mark_initialised(address, sizeof value);
    return {NAN, reinterpret_cast<const float*>(address)};
  }

  MappedParams parameters(GlobalMemory& memory, const Matrix& a, const Matrix& b, const Matrix& c,
                          const Matrix& d) const {
    const KernelProblem& p = problem_;
    MappedParams params;
    std::memset(static_cast<void*>(&params), 0, sizeof params);
    auto blocks = [](std::int64_t size, int step) {
      return static_cast<std::int32_t>((size + step - 1) / step);
    };
    params.tiles_m = blocks(p.m, shape_.cluster_tile_m);
    params.tiles_n = blocks(p.n, shape_.cluster_tile_n);
    params.raster_group = 2;
    params.reciprocals = raster_reciprocals(static_cast<std::uint32_t>(params.tiles_m),
                                            static_cast<std::uint32_t>(params.tiles_n), 2);
    const bool empty = p.k == 0 || (p.alpha == 0 && !p.device_scalars);
    params.k_blocks = empty ? 0 : blocks(p.k, config_.tile.k);
    params.a_batch_step = params.b_batch_step = 1;
    params.tile_n = shape_.tile_n;
    params.stages = shape_.stages;
    params.alpha = scalar(memory, p.alpha);
    params.beta = scalar(memory, p.beta);
    params.m = p.m;
    params.n = p.n;
    params.k = p.k;
    params.batch = static_cast<std::int32_t>(p.batch);
    params.input_types = {p.input, p.input};
    params.d_type = output_;
    params.type16 = p.output16.value_or(p.input);
    params.a_major = p.a;
    params.b_major = p.b;
    add_splits(memory, params);
    if (config_.store == Store::elements)
      add_strided(a, b, c, d, params);
    else
      add_maps(a, b, c, d, params);
    return params;
  }

  // As plan.cpp has it of K-major operands: where boxes come out even, the map of whole ones.
  TensorMap rest_map(const Matrix& matrix, const TensorMap& whole, std::int64_t rows,
                     int box_rows) const {
    const int rest = static_cast<int>(rows % std::max(box_rows, 1));
    return rest == 0 ? whole : map(matrix, config_.tile.k, rest);
  }

  void add_maps(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d,
                MappedParams& params) const {
    const int k = config_.tile.k;
    const auto operand_map = [&](const Matrix& matrix, Major major, int rows,
                                 const sm90::OperandBox& box) {
      if (config_.family == Family::cooperative && major == Major::mn)
        return map(matrix, box.mn, box.k);
      return map(matrix, k, major == Major::k ? rows : k);
    };
    params.a_map = operand_map(a, problem_.a, shape_.a_box_rows, sm90::operand_boxes(config_).a);
    params.b_map = operand_map(b, problem_.b, shape_.b_box_rows, sm90::operand_boxes(config_).b);
    params.a_rest_map = rest_map(a, params.a_map, problem_.m, shape_.a_box_rows);
    params.b_rest_map = rest_map(b, params.b_map, problem_.n, shape_.b_box_rows);
    params.d_map = map(d, shape_.d_box_columns, shape_.d_box_rows);
    params.c_map = map(c, shape_.d_box_columns, shape_.d_box_rows);
    if (!stores_from_registers()) return;
    params.stores = Stores::from_registers;
    params.d = strided(d, true);
  }

  bool stores_from_registers() const {
    return sm90::parts_of(config_).stores_from_registers && problem_.beta == 0 &&
           !problem_.device_scalars;
  }

  static StridedMatrix strided(const Matrix& matrix, bool inner_is_contiguous) {
    return {reinterpret_cast<const void*>(matrix.data), inner_is_contiguous ? matrix.ld : 1,
            inner_is_contiguous ? 1 : matrix.ld, matrix.ld * matrix.outer};
  }

  void add_strided(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d,
                   MappedParams& params) const {
    params.a = strided(a, problem_.a == Major::k);
    params.b = strided(b, problem_.b == Major::k);
    params.c = strided(c, true);
    params.d = strided(d, true);
  }

  // Output tiles of single CTAs.
  std::size_t cta_tiles(const MappedParams& params) const {
    return static_cast<std::size_t>(params.tiles_m) * params.tiles_n * problem_.batch *
           config_.cluster.size();
  }
  std::size_t arrivals(const MappedParams& params) const {
    return cta_tiles(params) * facts_of(config_.family).arrivals_per_tile(config_);
  }

  void add_splits(GlobalMemory& memory, MappedParams& params) const {
    params.splits = problem_.splits;
    params.reduces_in_cluster = problem_.reduces_in_cluster;
    if (problem_.splits == 1) {
      params.whole_tiles =
          static_cast<std::uint32_t>(params.tiles_m * params.tiles_n * params.batch);
      return;
    }
    params.split_tiles_reciprocal =
        reciprocal(static_cast<std::uint32_t>(params.tiles_m * params.tiles_n * params.batch));
    const std::int64_t steps = (problem_.k + config_.tile.k - 1) / config_.tile.k;
    params.k_per_split =
        static_cast<std::int32_t>((steps + problem_.splits - 1) / problem_.splits * config_.tile.k);
    params.partials = reinterpret_cast<float*>(memory.allocate(
        cta_tiles(params) * problem_.splits * config_.tile.m * config_.tile.n * sizeof(float)));
    const std::size_t bytes = arrivals(params) * sizeof(std::uint32_t);
    const std::uint64_t counters = memory.allocate(bytes);
    std::memset(memory.host(counters, bytes), 0, bytes);
    memory.mark_initialised(counters, bytes);
    params.arrivals = reinterpret_cast<std::uint32_t*>(counters);
  }

  KernelConfig config_;
  KernelProblem problem_;
  Dtype output_;
  KernelShape shape_;
};

}  // namespace bwgemm::vgpu
