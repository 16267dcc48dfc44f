// SPDX-License-Identifier: Apache-2.0
// PreFilter: what a look at the operands tells of a variant. Most of the table is for another
// device, for other majors or for operands that TMA can load: selection passes over them without
// asking rejects() why.
#pragma once

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "core/tiling.h"

namespace bwgemm {

class PreFilter {
 public:
  // Refers to the problem.
  PreFilter(const Problem& given, const DeviceFacts& facts);

  // False only where rejects() has a reason.
  bool may_serve(const KernelConfig& config) const {
    if (config.arch != arch_) return false;
    const bool is_transposed = sees_transposed(config, given_);
    const Operand& a = is_transposed ? b_ : a_;
    const Operand& b = is_transposed ? a_ : b_;
    return fits(config.a, a.major) && fits(config.b, b.major) &&
           (!loads_by_maps(config) || (a.fits_map && b.fits_map));
  }

 private:
  struct Operand {
    Major major;
    bool fits_map;
  };

  static bool fits(Major taken, Major major) { return taken == Major::any || taken == major; }
  // Every operand, whatever it is.
  static bool loads_by_maps(const KernelConfig& config) { return config.load == Load::tma; }

  const Problem& given_;
  Arch arch_;
  Operand a_, b_;
};

}  // namespace bwgemm
