// SPDX-License-Identifier: Apache-2.0
// Runs the PTX of one kernel on the prototype emulator (its sim.h is found on the include path) for
// one problem and several schedules, and compares D with a host reference bit for bit: operands are
// small integers, so that every order of summation gives the same sum. Everything around the
// elements is poison, and operands that must not be read lie at unmapped addresses.
//
// Usage: run ptx=FILE kernel=NAME m= n= k= [option=value]...; the options are in `Options`.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/params.h"
#include "kernels/rows.h"
#include "kernels/shape.h"
#include "sim.h"
#include "support/element.h"

Prog decodeProgram(const std::string& text, const std::string& entry);

namespace {

using namespace bwgemm;

class Options {
 public:
  Options(int count, char** arguments) {
    for (int i = 1; i < count; ++i) {
      const std::string argument = arguments[i];
      const std::size_t equals = argument.find('=');
      const std::string key = argument.substr(0, equals);
      if (equals == std::string::npos || !values_.count(key))
        throw std::runtime_error("unknown option: " + argument);
      values_[key] = argument.substr(equals + 1);
    }
  }

  const std::string& text(const char* key) const { return values_.at(key); }
  int number(const char* key) const { return std::stoi(values_.at(key)); }
  float real(const char* key) const { return std::stof(values_.at(key)); }

 private:
  std::map<std::string, std::string> values_ = {
      {"ptx", ""},
      {"kernel", ""},
      {"m", "64"},
      {"n", "64"},
      {"k", "64"},
      {"batch", "1"},
      {"alpha", "1"},
      {"beta", "0"},
      {"out", "16"},        // 16: the input type; 32: f32
      {"scalars", "host"},  // or device
      {"in_place", "0"},    // C is D
      {"broadcast", ""},    // operands (a, b, ab) whose batch stride is 0
      {"pad", "8"},         // elements between rows, a multiple of 8 (TMA)
      {"clusters", "2"},    // that share the work
      {"group", "2"},       // raster group
      {"seed", "1"},
      {"schedules", "2"},
      // What the config leaves to the launch:
      {"input", "bf16"},
      {"a", "k"},
      {"b", "k"},
      {"tile_n", "256"},
  };
};

Major major_from(char letter) {
  return letter == 'k' ? Major::k : Major::mn;
}

// The inverse of kernel_name, so that kernels that are no rows can be run too.
KernelConfig config_from(const std::string& name) {
  KernelConfig config{Arch::sm90, Family::cooperative, Input::any16, Major::any,
                      Major::any, {0, 0, 0},           {1, 1},       0};
  std::istringstream parts(name);
  std::string part;
  bool tile_seen = false;
  while (std::getline(parts, part, '_')) {
    if (part == "sm100") config.arch = Arch::sm100;
    if (part == "pair") config.family = Family::pair;
    if (part == "kk" || part == "kn" || part == "mk" || part == "mn") {
      config.a = major_from(part[0]);
      config.b = major_from(part[1]);
    }
    if (tile_seen) {
      std::sscanf(part.c_str(), "%dx%d", &config.cluster.m, &config.cluster.n);
      std::sscanf(part.c_str(), "s%d", &config.stages);
    } else {
      const char* format = part.find('N') == std::string::npos ? "%dx%*dx%d" : "%dxNx%d";
      tile_seen = std::sscanf(part.c_str(), format, &config.tile.m, &config.tile.k) == 2;
      std::sscanf(part.c_str(), "%*dx%d", &config.tile.n);
    }
  }
  if (kernel_name(config).view() != name) throw std::runtime_error("not a kernel name: " + name);
  if (const char* reason = invalid_because(config)) throw std::runtime_error(name + ": " + reason);
  return config;
}

struct Case {
  KernelConfig config;
  KernelShape shape;
  Dtype input, output;
  Major a, b;
  std::int64_t m, n, k, batch;
  float alpha, beta;

  bool reads_ab() const { return k > 0 && alpha != 0; }
};

Case case_from(const Options& options) {
  Case c{};
  c.config = config_from(options.text("kernel"));
  c.input = options.text("input") == "bf16" ? Dtype::bf16 : Dtype::f16;
  c.output = options.number("out") == 32 ? Dtype::f32 : c.input;
  c.a = c.config.a == Major::any ? major_from(options.text("a")[0]) : c.config.a;
  c.b = c.config.b == Major::any ? major_from(options.text("b")[0]) : c.config.b;
  c.shape = kernel_shape(c.config, options.number("tile_n"), c.output);
  c.m = options.number("m");
  c.n = options.number("n");
  c.k = options.number("k");
  c.batch = options.number("batch");
  c.alpha = options.real("alpha");
  c.beta = options.real("beta");
  return c;
}

// A batch of matrices in the emulator's memory, inside poison: `outer` lines of `inner` elements.
class DeviceMatrix {
 public:
  DeviceMatrix(Sim& sim, Dtype type, std::int64_t inner, std::int64_t outer, std::int64_t batch,
               int pad, const char* name)
      : type_(type),
        inner_(inner),
        outer_(outer),
        batch_(batch),
        ld_((inner + 7) / 8 * 8 + pad),
        size_(guard * 2 + ld_ * outer * batch * size_bytes(type)),
        address_(sim.alloc(size_, name)),
        memory_(sim.gptr(address_, size_, true)) {}

  std::byte* element(std::int64_t inner, std::int64_t outer, std::int64_t batch) const {
    return reinterpret_cast<std::byte*>(memory_) + guard +
           ((batch * outer_ + outer) * ld_ + inner) * size_bytes(type_);
  }
  float at(std::int64_t inner, std::int64_t outer, std::int64_t batch) const {
    return test::load(element(inner, outer, batch % batch_), type_);
  }
  void fill(std::mt19937& random, int largest) {
    for_each([&](std::byte* element, auto...) {
      test::store(element, type_, static_cast<int>(random() % (2 * largest + 1)) - largest);
    });
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t batch = 0; batch < batch_; ++batch)
      for (std::int64_t outer = 0; outer < outer_; ++outer)
        for (std::int64_t inner = 0; inner < inner_; ++inner)
          visit(element(inner, outer, batch), inner, outer, batch);
  }

  // All bytes, guards and gaps included.
  std::vector<std::byte> image() const {
    const auto* first = reinterpret_cast<const std::byte*>(memory_);
    return {first, first + size_};
  }
  void restore(const std::vector<std::byte>& image) {
    std::memcpy(memory_, image.data(), image.size());
  }

  // A map of the matrix, or one of memory that does not exist.
  TensorMap map(int box_inner, int box_outer, bool readable) const {
    TMap map{};
    map.magic = 0x70616d7476677075ull;
    map.base = readable ? address_ + guard : 0x10000;
    map.rank = 3;
    map.esz = size_bytes(type_);
    map.swz = box_inner * size_bytes(type_) == swizzle_row_bytes ? 3 : 2;
    const u32 extents[] = {u32(inner_), u32(outer_), u32(batch_)};
    const u32 box[] = {u32(box_inner), u32(box_outer), 1};
    for (int i = 0; i < 3; ++i) {
      map.dim[i] = std::max(extents[i], 1u);
      map.box[i] = box[i];
    }
    map.stride[0] = ld_ * size_bytes(type_);
    map.stride[1] = map.stride[0] * outer_;
    TensorMap result{};
    static_assert(sizeof map <= sizeof result);
    std::memcpy(&result, &map, sizeof map);
    return result;
  }

 private:
  static constexpr std::int64_t guard = 8192;

  Dtype type_;
  std::int64_t inner_, outer_, batch_, ld_, size_;
  u64 address_;
  u8* memory_;
};

struct Operands {
  DeviceMatrix a, b, c, d;
};

DeviceMatrix operand(Sim& sim, const Case& c, const Options& options, const char* name, Major major,
                     std::int64_t mn) {
  const bool repeated = options.text("broadcast").find(name) != std::string::npos;
  return {sim,
          c.input,
          major == Major::k ? c.k : mn,
          major == Major::k ? mn : c.k,
          repeated ? 1 : c.batch,
          options.number("pad"),
          name};
}

TensorMap operand_map(const DeviceMatrix& matrix, Major major, int rows, bool readable) {
  return matrix.map(k_block, major == Major::k ? rows : k_block, readable);
}

Scalar scalar(Sim& sim, float value, bool on_device) {
  if (!on_device) return {value, nullptr};
  const u64 address = sim.alloc(sizeof value, "scalar");
  std::memcpy(sim.gptr(address, sizeof value, true), &value, sizeof value);
  return {NAN, reinterpret_cast<const float*>(address)};
}

KernelParams params_of(Sim& sim, const Case& c, const Options& options, const Operands& operands) {
  const bool on_device = options.text("scalars") == "device";
  const bool in_place = options.number("in_place") != 0;
  KernelParams params{};
  params.a_map = operand_map(operands.a, c.a, c.shape.a_box_rows, c.reads_ab());
  params.b_map = operand_map(operands.b, c.b, c.shape.b_box_rows, c.reads_ab());
  const auto rest = [](std::int64_t extent, int box) { return static_cast<int>(extent % box); };
  if (c.a == Major::k && rest(c.m, c.shape.a_box_rows) != 0)
    params.a_rest_map = operand_map(operands.a, c.a, rest(c.m, c.shape.a_box_rows), c.reads_ab());
  if (c.b == Major::k && rest(c.n, c.shape.b_box_rows) != 0)
    params.b_rest_map = operand_map(operands.b, c.b, rest(c.n, c.shape.b_box_rows), c.reads_ab());
  const int columns = c.shape.d_box_columns, rows = c.shape.d_box_rows;
  params.d_map = operands.d.map(columns, rows, true);
  params.c_map = in_place ? params.d_map : operands.c.map(columns, rows, c.beta != 0);
  params.tiles_m = (c.m + c.shape.cluster_tile_m - 1) / c.shape.cluster_tile_m;
  params.tiles_n = (c.n + c.shape.cluster_tile_n - 1) / c.shape.cluster_tile_n;
  params.raster_group = options.number("group");
  params.reciprocals = raster_reciprocals(params.tiles_m, params.tiles_n, params.raster_group);
  const bool known_empty = c.k == 0 || (c.alpha == 0 && !on_device);
  params.k_blocks = known_empty ? 0 : (c.k + k_block - 1) / k_block;
  params.a_batch_step = options.text("broadcast").find('a') == std::string::npos;
  params.b_batch_step = options.text("broadcast").find('b') == std::string::npos;
  params.tile_n = c.shape.tile_n;
  params.stages = c.shape.stages;
  params.alpha = scalar(sim, c.alpha, on_device);
  params.beta = scalar(sim, c.beta, on_device);
  params.m = c.m;
  params.n = c.n;
  params.k = c.k;
  params.batch = c.batch;
  params.input_type = c.input;
  params.d_type = c.output;
  params.a_major = c.a;
  params.b_major = c.b;
  return params;
}

// Stores what D must be into `operands.d`.
void compute_reference(const Case& c, const Operands& operands, bool in_place) {
  std::vector<float> sums(c.n), b(c.k * c.n);
  const DeviceMatrix& from = in_place ? operands.d : operands.c;
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    for (std::int64_t l = 0; l < c.k; ++l)
      for (std::int64_t j = 0; j < c.n; ++j)
        b[l * c.n + j] = c.b == Major::k ? operands.b.at(l, j, batch) : operands.b.at(j, l, batch);
    for (std::int64_t i = 0; i < c.m; ++i) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (std::int64_t l = 0; c.reads_ab() && l < c.k; ++l) {
        const float a = c.a == Major::k ? operands.a.at(l, i, batch) : operands.a.at(i, l, batch);
        for (std::int64_t j = 0; j < c.n; ++j) sums[j] += a * b[l * c.n + j];
      }
      for (std::int64_t j = 0; j < c.n; ++j) {
        const float product = (c.reads_ab() ? c.alpha : 0.0f) * sums[j];
        const float value = c.beta == 0 ? product : std::fma(c.beta, from.at(j, i, batch), product);
        test::store(operands.d.element(j, i, batch), c.output, value);
      }
    }
  }
}

// Seeds differ in how eagerly asynchronous work completes, how often warps are switched and how
// often waits return for no reason.
void set_schedule(Sim& sim, int seed) {
  static constexpr double eagerness[] = {0.02, 0.1, 0.3, 0.6, 0.003};
  sim.rng.seed(seed);
  sim.adversarial = sim.races = sim.strict = sim.spurious = true;
  sim.pAsync = eagerness[seed % 5];
  sim.quantum = 1u << seed % 9;
  sim.pSpurious = seed % 3 == 0 ? 0.4 : 0.02;
}

// Returns true if the kernel did the right thing.
bool run_once(Prog& program, const Case& c, const Options& options, int seed) {
  Sim sim;
  sim.P = &program;
  set_schedule(sim, seed);
  if (program.paramSize != sizeof(KernelParams)) throw std::runtime_error("not KernelParams");
  sim.alloc(program.paramSize, "params");  // the emulator finds parameters in its first allocation
  const int pad = options.number("pad");
  Operands operands{operand(sim, c, options, "a", c.a, c.m),
                    operand(sim, c, options, "b", c.b, c.n),
                    {sim, c.output, c.n, c.m, c.batch, 2 * pad, "c"},
                    {sim, c.output, c.n, c.m, c.batch, pad, "d"}};
  std::mt19937 random(seed);
  const bool in_place = options.number("in_place") != 0;
  operands.a.fill(random, 4);
  operands.b.fill(random, 4);
  if (c.beta != 0) (in_place ? operands.d : operands.c).fill(random, 9);
  const std::vector<std::byte> before = operands.d.image();
  compute_reference(c, operands, in_place);
  const std::vector<std::byte> expected = operands.d.image();
  operands.d.restore(before);

  const KernelParams params = params_of(sim, c, options, operands);
  const auto* bytes = reinterpret_cast<const u8*>(&params);
  sim.param.assign(bytes, bytes + sizeof params);
  std::memcpy(sim.allocs[0].p, bytes, sizeof params);
  sim.grid = options.number("clusters") * c.config.cluster.size();
  sim.nSmClusters = options.number("clusters");
  sim.dynSmem = (c.shape.smem_bytes + 15) / 16 * 16;
  sim.run();

  const std::vector<std::byte> actual = operands.d.image();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) wrong += actual[i] != expected[i];
  const bool passed = sim.found.empty() && wrong == 0;
  std::printf("%s seed %d findings %zu wrong_bytes %zu\n", passed ? "PASS" : "FAIL", seed,
              sim.found.size(), wrong);
  for (const Finding& finding : sim.found)
    std::printf("  [%s] %s\n", finding.kind.c_str(), finding.msg.c_str());
  for (auto& allocation : sim.allocs) std::free(allocation.p);
  return passed;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options(argc, argv);
  const Case c = case_from(options);
  std::ostringstream text;
  text << std::ifstream(options.text("ptx")).rdbuf();
  Prog program = decodeProgram(text.str(), options.text("kernel"));
  if (static_cast<int>(program.maxntid) != c.shape.threads ||
      static_cast<int>(program.cluster) != c.config.cluster.size())
    throw std::runtime_error("threads or cluster of the PTX are not those of the config");
  bool passed = true;
  for (int i = 0; i < options.number("schedules"); ++i)
    passed &= run_once(program, c, options, options.number("seed") + i);
  return passed ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("ERROR %s\n", error.what());
  return 2;
}
