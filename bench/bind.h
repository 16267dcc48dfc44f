// SPDX-License-Identifier: Apache-2.0
// Functions of libraries that are opened at run time.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <stdexcept>
#include <string>

namespace bwgemm::bench {

// False, and a null entry, if the library lacks the symbol.
template <class Function>
bool bind_if_there(void* library, const char* symbol, Function& entry) {
  entry = reinterpret_cast<Function>(dlsym(library, symbol));
  return entry != nullptr;
}

// Throws std::runtime_error, which names the library's file, if the library lacks the symbol.
template <class Function>
void bind(void* library, const char* symbol, Function& entry) {
  if (bind_if_there(library, symbol, entry)) return;
  const link_map* file = nullptr;
  const bool is_known = dlinfo(library, RTLD_DI_LINKMAP, &file) == 0;
  throw std::runtime_error(std::string(is_known ? file->l_name : "the library") + " lacks " +
                           symbol);
}

}  // namespace bwgemm::bench
