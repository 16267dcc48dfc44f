// SPDX-License-Identifier: Apache-2.0
// Counts calls, and writes the counts when the process ends: a line of CSV for each kind of call.
// In mode log with a file, the first call of a kind is written at once, and the others at the end.
#pragma once

#include <cstdint>
#include <string>

#include "dropin/call.h"
#include "dropin/reason.h"

namespace bwgemm::dropin {

enum class Outcome : std::uint8_t {
  served,     // by bwgemm
  forwarded,  // to cuBLAS; without a reason: in mode log, a call that would have been served
  agreed,     // in mode check
  differed,   // in mode check: outside the bounds
};

// Whether calls are counted.
bool is_recording();

// What became of a call. Counts it in mode log, and where the environment names a file. `settings`:
// null if they are not known.
void record(const Call& call, const CallSettings* settings, Outcome outcome, Reason reason);

// What tells a kind of call from others in the file, and the names of its columns.
std::string kind_of(const Call& call, const CallSettings* settings, Outcome outcome, Reason reason);
extern const char* const columns;

}  // namespace bwgemm::dropin
