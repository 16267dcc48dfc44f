// SPDX-License-Identifier: Apache-2.0
#include "families/rejects.h"

#include "families/registry.h"
#include "rules/rejects.h"

namespace bwgemm {

const char* rejects(const Problem& given, const DeviceFacts& facts, const KernelConfig& config) {
  return rejects(given, seen_by(config, given), facts, config);
}

const char* rejects(const Problem& given, const Problem& seen, const DeviceFacts& facts,
                    const KernelConfig& config) {
  if (const char* reason = device_rejects(facts, config)) return reason;
  if (const char* reason = type_rejects(given, config)) return reason;
  const Texts& texts = sees_transposed(config, given) ? exchanged : as_given;
  if (!is_unmapped(config) && given.scale_only())
    return "k or alpha is zero: A and B are not to be touched";
  if (const char* reason = major_rejects(given, config, texts)) return reason;
  return functions_of(config).rejects(seen, config, texts);
}

}  // namespace bwgemm
