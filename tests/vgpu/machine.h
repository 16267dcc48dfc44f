// SPDX-License-Identifier: Apache-2.0
// The virtual GPU as its users see it: load PTX (Module), run a kernel of it on a GlobalMemory
// under one seeded schedule (run), and read what the judges found. Everything behind this header is
// private to the folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/memory.h"

namespace bwgemm::vgpu {

// PTX that is outside of the subset, or is no PTX. `line` counts from 1; 0: the text as a whole.
class LoadError : public std::runtime_error {
 public:
  LoadError(std::string_view origin, int line, const std::string& reason);
  int line() const { return line_; }

 private:
  int line_;
};

// A launch that no driver would have let through: the caller's mistake, not the kernel's.
class LaunchError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct KernelInfo {
  std::string name;
  std::uint32_t static_shared_bytes;  // without the 1 KiB that every CTA reserves
  std::uint32_t max_threads;          // of .maxntid; 0: none
  std::uint32_t cluster_size;         // of .reqnctapercluster; 0: the launch decides
  std::uint32_t parameter_bytes;
  std::uint32_t register_estimate;  // what max_threads leaves each thread; ptxas may use fewer
};

struct Program;

class Module {
 public:
  // `origin` names the text in errors and findings. Throws LoadError for anything that is not known
  // in full: opcode, modifier, type, operand.
  static std::shared_ptr<const Module> parse(std::string_view ptx, std::string_view origin);
  ~Module();

  const KernelInfo* find(std::string_view name) const;  // null: no such kernel
  std::vector<std::string> names() const;
  // PTX lines that hold an instruction of the kernel, ascending: what coverage is measured against.
  std::vector<int> instruction_lines(std::string_view name) const;
  const Program* program(std::string_view name) const;  // for run()

 private:
  Module();
  std::vector<std::unique_ptr<Program>> programs_;
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchRequest {
  std::shared_ptr<const Module> module;
  std::string kernel;
  Dim3 grid, block;
  std::uint32_t cluster_size = 0;  // along x; 0: what the kernel says, else 1
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
  std::uint64_t seed = 1;  // of the schedule; the same seed gives the same run
};

struct Finding {
  // error: wrong on silicon too, or undefined. strict: asked for by the letter of PTX, forgiven by
  // hardware as far as anybody knows.
  enum class Severity { error, strict } severity;
  std::string kind;  // short and stable, e.g. "race", "deadlock"
  std::string kernel;
  std::string text;    // both accesses and the missing edge, where there are two
  int ptx_line;        // 0: none
  std::string source;  // "file:line" of the CUDA source; empty: unknown
  std::uint64_t seed;
};

// One line for a log.
std::string to_string(const Finding& finding);

struct RunStatistics {
  std::uint64_t warp_instructions = 0, async_events = 0;
};

struct RunOptions {
  bool adversarial = true;  // random completion, poison, spurious failures; else the easiest order
  bool clocks = true;       // judge ordering by vector clocks
  bool strict = true;       // report strict findings
  std::uint32_t concurrent_ctas = 8;                    // resident at once, at least one cluster
  std::uint32_t max_findings = 8;                       // the run ends when it has these
  std::uint64_t max_warp_instructions = 2'000'000'000;  // then it is a livelock
  std::vector<bool>* coverage = nullptr;                // by PTX line; set for lines executed
  RunStatistics* statistics = nullptr;
  int impatient_line = 0;  // of PTX, whose waits return at once, however early; 0: none
};

// Runs the kernel to its end, or to the finding that makes going on pointless.
// Throws LaunchError.
std::vector<Finding> run(const LaunchRequest& request, GlobalMemory& memory,
                         const RunOptions& options = {});

// One of several kernels of a stream, each launched with programmatic stream serialization: it may
// begin when every CTA of the one before has executed launch_dependents or ended, and what was
// there before is complete for it behind griddepcontrol.wait.
struct Grid {
  LaunchRequest request;
  RunOptions options;
};
// Runs them, as interleaved as chance has it. Findings of each; behind a grid that could not go on,
// none. Throws LaunchError.
std::vector<std::vector<Finding>> run_dependent(std::span<const Grid> grids, GlobalMemory& memory);

}  // namespace bwgemm::vgpu
