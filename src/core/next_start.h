// SPDX-License-Identifier: Apache-2.0
// NextStart: when the kernel behind one in the stream may start (programmatic dependent launch).
#pragma once

#include <cstdint>

namespace bwgemm {

enum class NextStart : std::uint8_t {
  when_gone,        // when all CTAs of this one are gone
  when_loaded,      // when each CTA has loaded its last operands
  when_multiplied,  // and multiplied them; only families/sm90/producer.h tells the two apart
};

}  // namespace bwgemm
