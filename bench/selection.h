// SPDX-License-Identifier: Apache-2.0
// Selection: what the library would choose for a problem on a nominal device, and what it predicts
// of every kernel. Runs the library's own selection, compiled into this program, so that a cost
// model can be judged against recorded times where there is no GPU.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "problem.h"

namespace bwgemm::bench {

// A kernel as it would be launched: what a measured time belongs to.
struct Variant {
  std::string kernel;
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int splits = 1;                     // splits of k
  bool reduces_in_cluster = false;    // of the splits; else in memory
  std::string operands = "in_place";  // or which are copied, as BWGEMM_FORCE_OPERANDS names them

  bool operator==(const Variant&) const = default;
};

struct Prediction {
  Variant variant;
  double us = 0;
  std::string rejected;  // why it cannot serve; then the rest but the kernel means nothing
};

enum class NominalDevice { h100, h200, b200 };
inline constexpr std::initializer_list<NominalDevice> all_nominal_devices = {
    NominalDevice::h100, NominalDevice::h200, NominalDevice::b200};
std::string_view name(NominalDevice device);

// By the architecture in a kernel's name, of the chips of sm90 the one whose costs are known.
NominalDevice device_of(const std::string& kernel);
// The one whose memory is most like a GPU's.
NominalDevice nearest_device(int compute_capability_major, double memory_bytes_per_us);

// For each kernel of the table, in its order, one for each number of splits that selection would
// consider, each place where their sums can be added, and operands in place or copied, all or one;
// at least one.
std::vector<Prediction> predictions(const BenchProblem& problem, NominalDevice device);

// One for each of the variants.
std::vector<Prediction> predictions(const BenchProblem& problem, NominalDevice device,
                                    std::span<const Variant> variants);

// The library's choice. Throws std::runtime_error if nothing serves.
Prediction chosen(const BenchProblem& problem, NominalDevice device);

}  // namespace bwgemm::bench
