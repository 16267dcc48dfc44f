// SPDX-License-Identifier: Apache-2.0
// Planned: the product's step of a problem, with the parameters of a call for that very problem.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/residues.h"
#include "families/registry.h"
#include "program/tensor_map.h"
#include "select/select.h"

namespace bwgemm::test {

// Where the kernel finds workspace and counters.
struct TestScratch {
  float* partials = nullptr;
  std::uint32_t* arrivals = nullptr;
};

inline Values values_at(const Problem& problem, const TestScratch& scratch = {}) {
  Values values = values_of(problem, false);
  values.set(Argument::workspace, scratch.partials);
  values.set(Argument::counters, scratch.arrivals);
  return values;
}

struct Planned {
  Part part;
  int variant, grid, cluster, threads;
  std::size_t params_bytes;
  ResidueParams params;

  void move_to(const Values& values, TensorMapCache& maps) {
    part.move_to(values, maps);
    read();
  }
  void read() {
    params_bytes = part.bytes();
    std::memcpy(static_cast<void*>(&params), part.params(), params_bytes);
  }
};

inline Part product_of(const Problem& problem, const KernelConfig& config, const Choice& choice,
                       const ProductContext& context) {
  Part part;
  add_product(problem, provenance(problem, false), values_of(problem, false), config, choice,
              context, part);
  return part;
}

inline Planned planned_product(const Problem& problem, const KernelConfig& config,
                               const Choice& choice, const ProductContext& context,
                               TensorMapCache& maps, const TestScratch& scratch = {}) {
  Planned planned;
  planned.part = product_of(problem, config, choice, context);
  const Step& step = planned.part.steps()[0];
  planned.variant = step.kernel;
  planned.grid = step.grid;
  planned.cluster = step.cluster;
  planned.threads = step.threads;
  planned.move_to(values_at(problem, scratch), maps);
  return planned;
}

}  // namespace bwgemm::test
