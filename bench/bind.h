// SPDX-License-Identifier: Apache-2.0
// Functions of libraries that are opened at run time.
#pragma once

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace bwgemm::bench {

// False, and a null entry, if the library lacks the symbol.
template <class Function>
bool bind_if_there(void* library, const char* symbol, Function& entry) {
  entry = reinterpret_cast<Function>(dlsym(library, symbol));
  return entry != nullptr;
}

// Throws std::runtime_error if the library lacks the symbol.
template <class Function>
void bind(void* library, const char* symbol, Function& entry) {
  if (!bind_if_there(library, symbol, entry)) throw std::runtime_error(std::string("no ") + symbol);
}

}  // namespace bwgemm::bench
