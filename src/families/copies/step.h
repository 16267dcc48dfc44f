// SPDX-License-Identifier: Apache-2.0
// add_copies: the step that copies operands in front of the product. The copies lie at the
// beginning of the call's workspace.
#pragma once

#include "core/device_facts.h"
#include "core/problem.h"
#include "program/part.h"
#include "rules/copies.h"

namespace bwgemm {

// Nothing where nothing is copied. sm_limit: multiprocessors the call may occupy; 0: all. `from` is
// of the problem before its operands are copied, `choice` of the product.
void add_copies(const Problem& problem, const Provenance& from, const Values& base,
                const Copies& copies, const Choice& choice, const DeviceFacts& facts, int sm_limit,
                Part& part);

// The same of the problem with its copies.
Provenance with_copies(Provenance from, const Copies& copies);

}  // namespace bwgemm
