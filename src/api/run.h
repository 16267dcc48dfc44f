// SPDX-License-Identifier: Apache-2.0
// run: moves a program to a call's arguments and launches it.
#pragma once

#include "api/handle.h"

namespace bwgemm {

// `memory`: the caller's workspace, or null. The lock of a program that others may move is held
// when this begins, and whenever the program is looked at. The handle's context is current, as for
// the next function.
void run(Handle& handle, ProgramCache::Found& found, Values&& values, void* memory);

// A program that nobody else has. All parts are moved before the first is launched.
void run(Handle& handle, Program& program, Values&& values, void* memory);

}  // namespace bwgemm
