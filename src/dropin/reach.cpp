// SPDX-License-Identifier: Apache-2.0
#include "dropin/reach.h"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "dropin/cublas.h"
#include "dropin/fork.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

constinit std::atomic<bool> has_come_by{false};

void report() {
  if (has_come_by.load(std::memory_order_relaxed) || fork_count() != 0) return;
  try {
    const std::string file = loaded_cublas();
    if (file.empty()) return;
    std::string line = "no call reached this library, though the process has ";
    say(
        line.append(file).append(". If it multiplied, it is out of reach: it loads its libraries "
                                 "with RTLD_DEEPBIND, or looks "
                                 "functions up while that is left to cuBLAS."));
  } catch (const std::exception&) {  // no memory: nothing is said
  }
}

[[maybe_unused]] const int registered = [] {
  const char* const wanted = secure_getenv("BWGEMM_CUBLAS_REACH");
  return wanted != nullptr && std::string_view(wanted) == "1" ? std::atexit(report) : 0;
}();

}  // namespace

void note_call() {
  has_come_by.store(true, std::memory_order_relaxed);
}

}  // namespace bwgemm::dropin
