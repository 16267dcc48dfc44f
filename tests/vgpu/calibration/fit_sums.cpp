// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/fit_sums.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "vgpu/calibration/sum_cases.h"
#include "vgpu/operations/accumulation.h"
#include "vgpu/operations/number.h"

namespace bwgemm::calibration {
namespace {

using vgpu::Accumulation;

struct Sum {
  SumKind kind;
  bool is_f16;
  std::uint32_t depth;
  const float *a, *b;  // depth each
  float c;
  std::array<float, 2> d;  // wgmma, mma.sync

  float with(const Accumulation& how) const {
    const auto element = is_f16 ? vgpu::MmaElement::f16 : vgpu::MmaElement::bf16;
    float sum = c;
    for (std::uint32_t k = 0; k < depth; k += 16)
      sum = vgpu::accumulate(how, element, sum, a + k, b + k, 1, 16);
    return sum;
  }
};

struct Measured {
  std::vector<Sum> sums;
  std::vector<std::vector<float>> operands;  // that they point into
};

template <class T>
const char* take(const char* from, T* to, std::size_t count) {
  std::memcpy(to, from, count * sizeof(T));
  return from + count * sizeof(T);
}

// One packed SumCase of ask_sums.cpp.
const char* unpack(const char* at, Measured& all) {
  constexpr int rows = SumCase::rows, columns = SumCase::columns;
  std::int32_t head[4];  // is_f16, steps, accumulate, kind
  at = take(at, head, 4);
  const int depth = head[1] * 16;
  std::vector<std::uint16_t> bits(static_cast<std::size_t>((rows + columns) * depth));
  at = take(at, bits.data(), bits.size());
  std::vector<float>& values = all.operands.emplace_back();
  for (const std::uint16_t one : bits) values.push_back(from_16_bits(one, head[0] != 0));
  float c[rows * columns], d[2][rows * columns];
  at = take(at, c, rows * columns);
  at = take(at, d[0], rows * columns);
  at = take(at, d[1], rows * columns);
  for (int i = 0; i < rows * columns; ++i)
    all.sums.push_back({static_cast<SumKind>(head[3]),
                        head[0] != 0,
                        static_cast<std::uint32_t>(depth),
                        &values[i / columns * depth],
                        &values[(rows + i % columns) * depth],
                        head[2] != 0 ? c[i] : 0.0f,
                        {d[0][i], d[1][i]}});
  return at;
}

Measured read_sums(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Measured all;
  all.operands.reserve(4096);  // sums point into them
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    char name[128];
    std::size_t bytes = 0;
    if (end == std::string::npos ||
        std::sscanf(text.c_str() + at, "section %127s %zu", name, &bytes) != 2)
      throw std::runtime_error(path + ": not raw data");
    const char* record = text.data() + end + 1;
    if (std::strcmp(name, "sums") == 0)
      for (const char* stop = record + bytes; record < stop;) record = unpack(record, all);
    at = end + 1 + bytes;
  }
  return all;
}

using Chosen = std::vector<const Sum*>;

std::size_t different(const Chosen& sums, const Accumulation& how, int instruction,
                      std::size_t most = ~std::size_t{0}) {
  std::size_t count = 0;
  for (const Sum* sum : sums) {
    if (count > most) break;
    count += vgpu::bits_of(sum->with(how)) != vgpu::bits_of(sum->d[instruction]);
  }
  return count;
}

// All ways to add normal numbers.
std::vector<Accumulation> ways() {
  std::vector<Accumulation> all{Accumulation{}};
  Accumulation how;
  how.in_turn = false;
  for (how.group = 2; how.group <= 16; how.group *= 2)
    for (const bool interleaved : {false, true})
      for (how.fraction_bits = 21; how.fraction_bits <= 34; ++how.fraction_bits)
        for (const bool normalises : {false, true})
          for (const bool addend_first : {true, false})
            for (const auto cut : {Accumulation::Cut::toward_zero, Accumulation::Cut::down,
                                   Accumulation::Cut::nearest})
              for (const auto rounding :
                   {Accumulation::Rounding::toward_zero, Accumulation::Rounding::nearest}) {
                how.interleaved = interleaved;
                how.normalises = normalises;
                how.addend_first = addend_first;
                how.cut = cut;
                how.rounding = rounding;
                if (!interleaved || how.group < 16) all.push_back(how);
              }
  return all;
}

// The ways to treat zeros, denormals, overflow and NaN beside that.
std::vector<Accumulation> refinements(const Accumulation& base) {
  std::vector<Accumulation> all;
  std::vector<int> exponents{Accumulation::no_exponent};
  for (int exponent = -160; exponent <= -120; ++exponent) exponents.push_back(exponent);
  for (const int least : exponents)
    for (int flags = 0; flags < 16; ++flags) {
      Accumulation how = base;
      how.least_exponent = least;
      how.zero_counts = (flags & 1) != 0;
      how.largest_on_overflow = (flags & 2) != 0;
      how.keeps_minus_zero = (flags & 4) != 0;
      how.flushes = (flags & 8) != 0;
      all.push_back(how);
    }
  return all;
}

struct Ranked {
  Accumulation how;
  std::size_t wrong;
};

// The best `count`, first by a sample, then by all.
std::vector<Ranked> best(const Chosen& sums, const std::vector<Accumulation>& candidates,
                         int instruction, std::size_t count) {
  Chosen sample;
  const std::size_t step = std::max<std::size_t>(1, sums.size() / 3000) | 1;
  for (std::size_t i = 0; i < sums.size(); i += step) sample.push_back(sums[i]);
  const auto ranked = [&](const Chosen& by, const std::vector<Accumulation>& some) {
    std::vector<Ranked> all;
    for (const Accumulation& how : some) all.push_back({how, different(by, how, instruction)});
    std::stable_sort(all.begin(), all.end(),
                     [](const Ranked& x, const Ranked& y) { return x.wrong < y.wrong; });
    return all;
  };
  std::vector<Accumulation> finalists;
  for (const Ranked& one : ranked(sample, candidates))
    if (finalists.size() < 3 * count) finalists.push_back(one.how);
  auto all = ranked(sums, finalists);
  all.resize(std::min(all.size(), count));
  return all;
}

void report_kinds(const Chosen& sums, const Accumulation& how, int instruction) {
  for (int i = 0; i < sum_kinds; ++i) {
    Chosen some;
    for (const Sum* sum : sums)
      if (sum->kind == i) some.push_back(sum);
    const std::size_t wrong = different(some, how, instruction);
    std::printf("    %-24s %zu of %zu differ\n", name_of(static_cast<SumKind>(i)), wrong,
                some.size());
    int shown = 0;
    for (const Sum* sum : some) {
      const float here = sum->with(how);
      if (vgpu::bits_of(here) == vgpu::bits_of(sum->d[instruction]) || ++shown > 2) continue;
      std::printf("      measured %a, model %a (0x%08x, 0x%08x): c %a", sum->d[instruction], here,
                  vgpu::bits_of(sum->d[instruction]), vgpu::bits_of(here), sum->c);
      for (std::uint32_t k = 0; k < std::min(sum->depth, 16u); ++k)
        if (sum->a[k] != 0 && sum->b[k] != 0) std::printf(" [%u] %a*%a", k, sum->a[k], sum->b[k]);
      std::printf("\n");
    }
  }
}

bool is_normal(const Sum& sum) {
  return sum.kind != denormal && sum.kind != special && sum.kind != random_denormal;
}

// False if no model explains all sums of the instruction.
bool fit(const Measured& measured, bool is_f16, int instruction) {
  Chosen all, normal;
  for (const Sum& sum : measured.sums)
    if (sum.is_f16 == is_f16) {
      all.push_back(&sum);
      if (is_normal(sum) && sum.depth == 16) normal.push_back(&sum);
    }
  if (all.empty()) return true;
  std::printf("%s of %s\n", instruction == 0 ? "wgmma" : "mma.sync", is_f16 ? "f16" : "bf16");
  const auto bases = best(normal, ways(), instruction, 6);
  for (const Ranked& one : bases)
    std::printf("  %6zu of %zu normal sums differ: %s\n", one.wrong, normal.size(),
                to_string(one.how).c_str());
  if (bases.front().how.in_turn) {
    report_kinds(all, bases.front().how, instruction);
    return different(all, bases.front().how, instruction) == 0;
  }
  const auto refined = best(all, refinements(bases.front().how), instruction, 4);
  for (const Ranked& one : refined)
    std::printf("  %6zu of %zu sums differ: %s\n", one.wrong, all.size(),
                to_string(one.how).c_str());
  report_kinds(all, refined.front().how, instruction);
  return refined.front().wrong == 0;
}

}  // namespace

int fit_sums(const std::string& raw_path) {
  const Measured measured = read_sums(raw_path);
  std::printf("%zu sums\n", measured.sums.size());
  bool all = true;
  for (const int instruction : {0, 1})
    for (const bool is_f16 : {false, true}) all &= fit(measured, is_f16, instruction);
  return all ? 0 : 1;
}

}  // namespace bwgemm::calibration
