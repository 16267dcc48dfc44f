// SPDX-License-Identifier: Apache-2.0
#include "dropin/settings.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace bwgemm::dropin {
namespace {

constexpr std::array<std::pair<std::string_view, Mode>, 4> modes = {{
    {"off", Mode::off},
    {"log", Mode::log},
    {"check", Mode::check},
    {"serve", Mode::serve},
}};

// A smaller workspace than this holds the partial sums of no product that is worth splitting. The
// values of frameworks lie far away on either side: 0 and 128 KiB, 8 and 32 MiB.
constexpr std::uint64_t small_workspace_kib = 1024;

std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? value : "";
}

Mode mode_of(const std::string& text) {
  if (text.empty()) return Mode::serve;
  for (const auto& [name, mode] : modes)
    if (name == text) return mode;
  std::string line = "BWGEMM_CUBLAS is ";
  line.append(text).append(", not off, log, check or serve: every call goes to cuBLAS");
  say(line);
  return Mode::off;
}

Policy policy_of(const std::string& text) {
  if (text == "all") return Policy::all;
  if (text != "faster") {
    std::string line = "BWGEMM_CUBLAS_POLICY is ";
    say(line.append(text).append(", not all or faster: taken for faster"));
  }
  return Policy::faster;
}

// The value of a variable that is 0 or 1. Anything else is `otherwise`, which standard error says.
bool flag_of(const char* name, const std::string& text, bool otherwise) {
  if (text == "0" || text == "1") return text == "1";
  std::string line = name;
  line.append(" is ").append(text).append(", not 0 or 1: taken for ");
  say(line.append(otherwise ? "1" : "0"));
  return otherwise;
}

bool invariance_of(const std::string& text) {
  if (!text.empty()) return flag_of("BWGEMM_CUBLAS_BATCH_INVARIANT", text, true);
  return asks_for_batch_invariance(secure_getenv("CUBLAS_WORKSPACE_CONFIG"),
                                   secure_getenv("CUBLASLT_WORKSPACE_SIZE"));
}

// The KiB of ":size:count:size:count...". False if the text is of another form.
bool workspace_kib(const char* text, std::uint64_t& kib) {
  kib = 0;
  while (*text != '\0') {
    std::array<std::uint64_t, 2> numbers{};
    for (std::uint64_t& number : numbers) {
      if (*text != ':') return false;
      char* end = nullptr;
      number = std::strtoull(text + 1, &end, 10);
      if (end == text + 1) return false;
      text = end;
    }
    kib += numbers[0] * numbers[1];
  }
  return true;
}

}  // namespace

bool asks_for_batch_invariance(const char* cublas_workspace_config,
                               const char* cublaslt_workspace_size) {
  std::uint64_t kib = 0;
  if (cublas_workspace_config != nullptr && *cublas_workspace_config != '\0' &&
      workspace_kib(cublas_workspace_config, kib) && kib < small_workspace_kib)
    return true;
  if (cublaslt_workspace_size == nullptr) return false;
  char* end = nullptr;
  kib = std::strtoull(cublaslt_workspace_size, &end, 10);
  return end != cublaslt_workspace_size && *end == '\0' && kib < small_workspace_kib;
}

Settings read_settings() {
  Settings read;
  read.mode = mode_of(variable("BWGEMM_CUBLAS"));
  read.batch_invariant = invariance_of(variable("BWGEMM_CUBLAS_BATCH_INVARIANT"));
  const std::string policy = variable("BWGEMM_CUBLAS_POLICY");
  // Who asks for a comparison, or for results that only bwgemm gives, means every call.
  const bool means_all =
      read.mode == Mode::check || variable("BWGEMM_CUBLAS_BATCH_INVARIANT") == "1";
  read.policy = !policy.empty() ? policy_of(policy) : means_all ? Policy::all : Policy::faster;
  const std::string hook = variable("BWGEMM_CUBLAS_DLSYM");
  read.hooks_dlsym =
      read.mode != Mode::off && (hook.empty() || flag_of("BWGEMM_CUBLAS_DLSYM", hook, false));
  read.log_file = variable("BWGEMM_CUBLAS_LOG");
  read.chosen_file = variable("BWGEMM_CUBLAS_CHOSEN");
  return read;
}

const Settings& settings() {
  static const Settings* const read = new Settings(read_settings());  // lives until the very end
  return *read;
}

bool is_off() {
  enum : std::uint8_t { unknown, off, on };
  static constinit std::atomic<std::uint8_t> known{unknown};
  const std::uint8_t now = known.load(std::memory_order_relaxed);
  if (now != unknown) return now == off;
  const bool found = settings().mode == Mode::off;
  known.store(found ? off : on, std::memory_order_relaxed);
  return found;
}

void say(const std::string& line) {
  std::fprintf(stderr, "libbwgemm_cublas: %s\n", line.c_str());
}

}  // namespace bwgemm::dropin
