// SPDX-License-Identifier: Apache-2.0
// KernelName: what a variant is called in archives, logs and tests, built from its config.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/kernel_config.h"

namespace bwgemm {

// Text of fixed capacity that can be built in constant expressions.
class KernelName {
 public:
  constexpr std::string_view view() const { return {text_.data(), size_}; }
  constexpr const char* c_str() const { return text_.data(); }

  constexpr KernelName& add(std::string_view text) {
    for (const char c : text) text_[size_++] = c;
    text_[size_] = '\0';
    return *this;
  }
  constexpr KernelName& add(int number) {
    if (number >= 10) add(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    return add(std::string_view(&digit, 1));
  }

 private:
  std::array<char, 96> text_{};
  std::size_t size_ = 0;
};

constexpr std::string_view name(Arch arch) {
  return arch == Arch::sm90 ? "sm90" : "sm100";
}

constexpr std::string_view name(Family family) {
  switch (family) {
    case Family::cooperative: return "coop";
    case Family::pair: return "pair";
    case Family::single: return "single";
    case Family::direct: return "direct";
    case Family::dot: return "dot";
    case Family::warp: return "warp";
    case Family::stationary: return "stationary";
  }
  return "?";
}

// What differs from the default: swz<bytes>, 2d, clc (launch control), once (one tile), acc1, nopf.
constexpr void add_choices(KernelName& text, const Sm100Choices& choices) {
  constexpr Sm100Choices usual{};
  if (choices.swizzle_bytes != usual.swizzle_bytes) text.add("_swz").add(choices.swizzle_bytes);
  if (choices.map_rank != usual.map_rank) text.add("_").add(choices.map_rank).add("d");
  if (choices.schedule == Schedule::launch_control) text.add("_clc");
  if (choices.schedule == Schedule::one_tile) text.add("_once");
  if (choices.accumulators != usual.accumulators) text.add("_acc").add(choices.accumulators);
  if (choices.prefetches_maps != usual.prefetches_maps) text.add("_nopf");
}

// bwgemm_<arch>_<mma>[_<majors>]_<m>x<n>x<k>[_<cluster>][_s<stages>][_<output>][_o<ctas>]
// [_pp][_w|_l][_<choices>]_<family>; what is chosen at launch is left out, a run-time n is written
// N. Majors: k k, k n, m k, m n. Outputs: t (swap-AB), u (stored by elements). o: CTAs per
// multiprocessor. pp: ping-pong. w: A is loaded in units of 16 bytes. l: rows of A may start at any
// element.
constexpr KernelName kernel_name(const KernelConfig& config) {
  KernelName text;
  text.add("bwgemm_").add(name(config.arch)).add("_").add(facts_of(config.mma).name);
  if (config.a != Major::any && config.b != Major::any)
    text.add("_").add(config.a == Major::k ? "k" : "m").add(config.b == Major::k ? "k" : "n");
  text.add("_").add(config.tile.m).add("x");
  if (config.tile.n == 0)
    text.add("N");
  else
    text.add(config.tile.n);
  text.add("x").add(config.tile.k);
  if (config.cluster.size() > 1) text.add("_").add(config.cluster.m).add("x").add(config.cluster.n);
  if (config.stages > 0) text.add("_s").add(config.stages);
  if (!is_unmapped(config)) {  // which have but one
    if (config.swaps_ab) text.add("_t");
    if (config.store == Store::elements) text.add("_u");
    if (config.ctas_per_sm > 1) text.add("_o").add(config.ctas_per_sm);
    if (config.ping_pong) text.add("_pp");
  }
  if (config.load == Load::units) text.add("_w");
  if (config.load == Load::loose_a) text.add("_l");
  add_choices(text, config.choices);
  return text.add("_").add(name(config.family));
}

}  // namespace bwgemm
