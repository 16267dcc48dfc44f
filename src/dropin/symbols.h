// SPDX-License-Identifier: Apache-2.0
// dlsym and dlvsym, which this library stands in front of: a program that looks up a function in a
// handle of cuBLAS or cuBLASLt gets the one of this library. All other lookups are the dynamic
// linker's, which sees the program as its caller.
#pragma once

namespace bwgemm::dropin {

// The dynamic linker's dlsym. In this folder, whatever may be cuBLAS's is looked up by it.
void* real_symbol(void* handle, const char* name);

}  // namespace bwgemm::dropin
