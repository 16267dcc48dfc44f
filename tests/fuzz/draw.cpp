// SPDX-License-Identifier: Apache-2.0
#include "draw.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "families/variants.h"

namespace bwgemm::fuzz {
namespace {

constexpr std::int64_t largest_size = 600;
constexpr std::int64_t small_size = 150;     // a tile or two: half of the calls, for they are fast
constexpr double most_multiply_adds = 24e6;  // of a call: a fraction of a second on a slow device
constexpr std::int64_t whole_units = 8;      // elements that TMA needs in every step: 16 bytes

// Ends of tiles and of several tiles, and their neighbours, for every kernel there is.
const std::vector<std::int64_t>& edges() {
  static const std::vector<std::int64_t> sizes = [] {
    std::set<std::int64_t> found;
    const auto add = [&](std::int64_t tile) {
      for (std::int64_t edge = tile; tile > 0 && edge < largest_size; edge += tile)
        found.insert({edge - 1, edge, edge + 1});
    };
    for (const std::int64_t tile : {64, 128, 192, 256}) add(tile);
    for (const KernelConfig& row : kernel_variants)
      for (const std::int64_t tile : {row.tile.m, row.tile.n}) add(tile);
    found.erase(0);
    return std::vector<std::int64_t>(found.begin(), found.end());
  }();
  return sizes;
}

constexpr std::int64_t primes[] = {2,   3,   5,   7,   11,  13,  31,  37,  61,  67,  97,  101,
                                   127, 131, 191, 193, 251, 257, 383, 389, 509, 521, 577, 599};

std::int64_t draw_size(Random& random) {
  const std::int64_t kind = random.below(100);
  if (kind < 25) return random.one_of(edges());
  if (kind < 50) return 8 * random.between(1, largest_size / 8);
  if (kind < 60) return 16 * random.between(1, largest_size / 16);
  if (kind < 70) return random.one_of(primes);
  if (kind < 85) return random.between(1, 20);
  if (kind < 87) return 0;
  return random.between(1, largest_size);
}

std::int64_t draw_size_up_to(Random& random, std::int64_t most) {
  std::int64_t size = draw_size(random);
  while (size > most) size = draw_size(random);
  return size;
}

float draw_float(Random& random) {
  return static_cast<float>(random.between(-1 << 20, 1 << 20)) * 0x1p-19f;
}

float draw_scalar(Random& random, float usual, int usual_percent) {
  using Limits = std::numeric_limits<float>;
  if (random.chance(usual_percent)) return usual;
  const std::int64_t kind = random.below(100);
  if (kind < 25) return draw_float(random);
  if (kind < 45) return 1;
  if (kind < 60) return 0;
  if (kind < 75) return random.one_of(std::vector<float>{-1, -0.5F, 2, 0.125F});
  if (kind < 82) return -0.0F;
  const std::vector<float> strange = {Limits::quiet_NaN(),
                                      Limits::infinity(),
                                      -Limits::infinity(),
                                      Limits::max(),
                                      Limits::min(),
                                      Limits::denorm_min(),
                                      1e30F,
                                      -1e-40F};
  return random.one_of(strange);
}

enum class Memory { whole_units, packed, wild };

Memory draw_memory(Random& random) {
  const std::int64_t kind = random.below(100);
  return kind < 70 ? Memory::whole_units : kind < 80 ? Memory::packed : Memory::wild;
}

Placement draw_placement(Random& random, Memory memory) {
  Placement at;
  switch (memory) {
    case Memory::whole_units:
      at.round = random.chance(80) ? whole_units : random.one_of(std::vector<std::int64_t>{16, 64});
      if (random.chance(30)) at.pad = random.between(0, 40);
      if (random.chance(30)) at.offset = whole_units * random.between(0, 20);
      break;
    case Memory::packed: break;
    case Memory::wild:
      if (random.chance(70)) at.pad = random.between(0, 40);
      if (random.chance(70)) at.offset = random.between(0, 100);
      break;
  }
  return at;
}

// Of an input: its batches may be the same matrix, overlap, or lie apart.
void draw_stride(Random& random, Placement& at, const test::Matrix& natural) {
  const std::int64_t unit = at.round == 1 ? 1 : whole_units, kind = random.below(100);
  if (kind < 20)
    at.stride = 0;
  else if (kind < 35)
    at.stride = unit * random.between(1, 20);
  else if (kind < 55)
    at.stride = natural.stride() + unit * random.between(0, 20);
}

void draw_batch(Random& random, Call& call) {
  call.batch = random.chance(3) ? 0 : random.between(1, random.chance(15) ? 17 : 5);
  draw_stride(random, call.a, call.a_matrix());
  draw_stride(random, call.b, call.b_matrix());
  const std::int64_t unit = call.c.round;
  if (random.chance(25))
    call.c.stride = call.c_matrix().stride() + unit * random.between(0, 20);
  else
    call.side_by_side = random.chance(20);
  if (!call.is_matmul()) return;
  Extras& extras = call.extras;
  if (extras.c_apart != 0) draw_stride(random, extras.addend, call.addend_matrix());
  if (extras.aux == BWGEMM_AUX_DERIVATIVE) draw_stride(random, extras.aux_at, call.aux_matrix());
  if (extras.aux == BWGEMM_AUX_STORE && random.chance(30))
    extras.aux_at.stride = call.aux_matrix().stride() + unit * random.between(0, 20);
  draw_stride(random, extras.bias_at, call.bias_vector());
  draw_stride(random, extras.row_scale_at, call.row_scale_vector());
  draw_stride(random, extras.column_scale_at, call.column_scale_vector());
  if (random.chance(40))
    extras.gradient_at.stride = call.gradient_vector().rows() + random.between(0, 20);
}

// Vectors need no alignment but their elements'.
void draw_vector(Random& random, Placement& at) {
  if (random.chance(40)) at.offset = random.between(0, 12);
}

void draw_operations(Random& random, Call& call) {
  Extras& extras = call.extras;
  if (random.chance(60)) extras.activation = random.between(0, 6);
  if (random.chance(20)) extras.gate = random.between(1, 2);
  if (random.chance(35)) extras.aux = random.chance(60) ? 1 : 2;
  if (random.chance(45)) extras.bias = random.between(1, 2);
  extras.row_scale = random.chance(20);
  extras.column_scale = random.chance(20);
  if (random.chance(20)) extras.gradient = random.between(1, 4);
  extras.f32_gradient = random.below(2);
  extras.f32_aux = random.below(2);
  extras.f32_bias = random.below(2);
  // Sums of some size only meet the ends of curves.
  if (random.chance(60)) call.alpha = random.one_of(std::vector<float>{0x1p-2F, 0x1p-4F, -0x1p-5F});
}

void draw_matmul(Random& random, Call& call, Memory memory) {
  Extras& extras = call.extras;
  for (std::int64_t* order :
       {&extras.a_in_rows, &extras.b_in_rows, &extras.c_in_rows, &extras.d_in_rows})
    *order = random.chance(35);
  extras.arrays = random.chance(12);
  extras.no_beta = random.chance(10);
  extras.c_apart = random.chance(45);
  extras.f32_addend = random.chance(40);
  if (random.chance(70)) draw_operations(random, call);
  extras.addend = draw_placement(random, memory);
  extras.aux_at = draw_placement(random, memory);
  for (Placement* at :
       {&extras.bias_at, &extras.row_scale_at, &extras.column_scale_at, &extras.gradient_at})
    draw_vector(random, *at);
  extras.own_workspace = random.chance(30);
  if (random.chance(20)) extras.listed = random.between(1, random.chance(50) ? 4 : 200);
  if (random.chance(2)) extras.tune = random.between(1, 3);
}

Entry draw_entry(Random& random, bool can_be_typed) {
  const std::int64_t kind = random.below(100);
  if (kind < 50) return Entry::matmul;
  if (kind < 65) return Entry::batched;
  if (kind < 73) return Entry::arrays;
  return kind < 85 && can_be_typed ? Entry::typed : Entry::ex;
}

void draw_settings(Random& random, Call& call) {
  const std::int64_t kind = random.below(100);
  WorkspaceKind workspace = WorkspaceKind::library;
  if (kind >= 85)
    workspace = WorkspaceKind::own;
  else if (kind >= 75)
    workspace = WorkspaceKind::limit;
  else if (kind >= 65)
    workspace = WorkspaceKind::none;
  call.workspace = static_cast<std::int64_t>(workspace);
  const std::int64_t bytes = std::int64_t{1} << random.between(8, 22);
  call.workspace_bytes = bytes + random.between(0, bytes);
  if (random.chance(30))
    call.sm_count = random.chance(60) ? random.between(1, 8) : random.between(1, 200);
  call.programmatic = random.chance(50);
  call.stream = random.between(0, 3);
  if (random.chance(20)) call.algo = random.chance(50) ? random.below(24) : random.between(99, 115);
  if (random.chance(6)) call.preload = random.chance(95) ? 2 : 1;
}

// Takes from the largest until the call is small enough.
void limit_work(Call& call) {
  const auto work = [&] {
    return static_cast<double>(call.m * call.n) * static_cast<double>(call.k) *
           static_cast<double>(std::max<std::int64_t>(call.batch, 1));
  };
  while (work() > most_multiply_adds) {
    std::int64_t& largest = std::max({std::ref(call.m), std::ref(call.n), std::ref(call.k)});
    largest = std::max<std::int64_t>(largest / 16 * 8, 1);
  }
}

bool is_unaligned(const test::Matrix& matrix, const Placement& at) {
  return matrix.ld() % whole_units != 0 || at.offset % whole_units != 0;
}

// Where operands are found. Where one alone is copied, the workspace may be for a part of it: the
// product is then divided, into multiples of `granule` rows or columns.
void draw_operands(Random& random, Call& call) {
  constexpr std::int64_t granule = 256;
  if (random.chance(25)) call.operands = random.between(1, 4);
  const bool a = is_unaligned(call.a_matrix(), call.a), b = is_unaligned(call.b_matrix(), call.b);
  const bool is_divisible = (a || b) && call.batch == 1 && !call.has_arrays() &&
                            call.extras.gate == 0 && call.extras.gradient == 0;
  const bool of_a = a && (!b || random.chance(50));
  const std::int64_t lines = of_a ? call.m : call.n;
  if (!is_divisible || lines <= granule || random.chance(25)) return;
  const bool is_first = of_a == (call.extras.d_in_rows != 0);  // of the product in row order
  const OperandsKind one = is_first ? OperandsKind::copied_a : OperandsKind::copied_b;
  call.operands = static_cast<std::int64_t>(a && b ? one : OperandsKind::copied);
  const WorkspaceKind kind = random.chance(50) ? WorkspaceKind::own : WorkspaceKind::limit;
  call.workspace = static_cast<std::int64_t>(kind);
  const std::int64_t line_bytes = 2 * (call.k + whole_units);
  call.workspace_bytes = line_bytes * random.between(granule, lines);
}

Call draw_call(Random& random) {
  Call call;
  call.seed = random.between(1, 1000000);
  const std::int64_t most = random.chance(50) ? small_size : largest_size;
  for (std::int64_t* size : {&call.m, &call.n, &call.k}) *size = draw_size_up_to(random, most);
  if (random.chance(15)) {  // few tiles and long sums: where kernels split along k
    call.m = std::min(call.m, random.between(1, 130));
    call.n = std::min(call.n, random.between(1, 130));
    call.k = random.between(400, 4000);
    if (random.chance(50)) call.k = call.k / 8 * 8;
  }
  call.transa = random.below(9) / 4;
  call.transb = random.below(9) / 4;
  call.f16_input = random.below(2);
  call.f32_output = random.chance(40);
  call.alpha = draw_scalar(random, 1, 55);
  call.beta = draw_scalar(random, 0, 30);
  call.device_scalars = random.chance(30);
  call.integers = random.chance(35);
  if (random.chance(12)) call.specials = random.between(1, 6);

  const Memory memory = draw_memory(random);
  for (Placement* at : {&call.a, &call.b, &call.c}) *at = draw_placement(random, memory);
  if (memory == Memory::wild && random.chance(50))  // one operand alone is unaligned
    for (Placement* at : {&call.a, &call.b, &call.c})
      if (random.chance(60)) *at = draw_placement(random, Memory::whole_units);

  call.entry = static_cast<std::int64_t>(draw_entry(random, call.f32_output == 0));
  if (call.is_matmul()) draw_matmul(random, call, memory);
  if (memory == Memory::whole_units && random.chance(85)) {
    std::int64_t& length = call.extras.d_in_rows != 0 ? call.n : call.m;
    length = (length + whole_units - 1) / whole_units * whole_units;
  }
  if (call.is_matmul() ? random.chance(30) : call.has_batch()) draw_batch(random, call);
  draw_settings(random, call);
  call.share = random.chance(4);
  call.unreadable = random.chance(50);
  if (random.chance(75)) call.pick = random.next() | 1;
  if (random.chance(15)) call.splits = random.one_of(std::vector<std::int64_t>{2, 3, 7});
  if (call.splits > 0) call.sums = call.seed % 3;
  return call;
}

// Threads that flush denormals, with scalars that are such; more infinities and NaN.
void draw_strange_numbers(Random& random, Call& call) {
  if (call.specials == 0 && random.chance(8)) call.specials = random.between(1, 6);
  call.flushes = random.chance(20);
  if (call.flushes == 0 || random.chance(40)) return;
  const std::vector<float> denormals = {1e-40F, -1e-40F, 0x1p-127F, -0x1p-149F};
  if (random.chance(70)) call.alpha = random.one_of(denormals);
  if (random.chance(50)) call.beta = random.one_of(denormals);
}

}  // namespace

Case draw(std::uint64_t seed) {
  Random random(seed);
  Case item;
  item.calls.push_back(draw_call(random));
  if (random.chance(35)) {
    if (random.chance(50)) {  // the same again: with other data, perhaps with other settings
      item.calls.push_back(item.calls[0]);
      item.calls[1].seed = random.between(1, 1000000);
      if (random.chance(60)) draw_settings(random, item.calls[1]);
    } else {
      item.calls.push_back(draw_call(random));
    }
    if (random.chance(60)) item.calls[1].stream = item.calls[0].stream;
    item.chain = random.chance(40);
    item.threads = random.chance(25);
  }
  if (random.chance(15)) item.capture = random.between(1, 3);
  const bool is_invariant = random.chance(20);
  for (Call& call : item.calls) call.invariant = is_invariant;
  item.repeat = random.chance(is_invariant ? 60 : 15);
  normalise(item);
  for (Call& call : item.calls) limit_work(call);
  normalise(item);
  // Last: all else is what the seed gave before there was the choice.
  for (Call& call : item.calls) draw_operands(random, call);
  for (Call& call : item.calls) draw_strange_numbers(random, call);
  normalise(item);
  return item;
}

}  // namespace bwgemm::fuzz
