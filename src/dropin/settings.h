// SPDX-License-Identifier: Apache-2.0
// What the variables of the environment ask of this library. Read at its first call, and ignored in
// a program that runs with more rights than its user.
#pragma once

#include <cstdint>
#include <string>

namespace bwgemm::dropin {

enum class Mode : std::uint8_t {
  off,    // every call goes to cuBLAS
  log,    // every call goes to cuBLAS, and is counted
  check,  // what can be served is computed by both and compared; the program sees cuBLAS's result
  serve,  // what the policy says is computed by bwgemm, if it can be served
};

// Which calls that the file of chosen calls does not list are served.
enum class Policy : std::uint8_t {
  all,     // those that can be
  faster,  // those that bwgemm is predicted to compute faster: see faster.h; the default
};

struct Settings {
  Mode mode = Mode::serve;
  Policy policy = Policy::faster;
  bool batch_invariant = false;
  bool hooks_dlsym = true;  // lookups in cuBLAS's handles find this library; never in mode off
  std::string log_file;     // of the counts; empty: none, or standard error in mode log
  std::string chosen_file;  // see chosen.h; empty: none
};

// The settings of this process.
const Settings& settings();

// Whether the mode is off. As settings() says, with less cost.
bool is_off();

// What the variables say now. A value that is not understood is named on standard error; of the
// mode it means off, of the policy faster.
Settings read_settings();

// Whether the two workspaces that the environment asks cuBLAS to have are so small that it cannot
// split k, which is how programs ask for results that do not depend on the batch. Null: not set.
bool asks_for_batch_invariance(const char* cublas_workspace_config,
                               const char* cublaslt_workspace_size);

// One line on standard error, in front of which stands the library's name.
void say(const std::string& line);

}  // namespace bwgemm::dropin
