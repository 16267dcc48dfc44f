// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/report.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <unistd.h>

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {
namespace {

std::atomic<std::size_t> found{0};
std::atomic<unsigned long long> interpreted{0};

struct Cost {
  std::uint64_t launches = 0, instructions = 0, events = 0;
};

// By kernel; under the driver's lock.
std::map<std::string, Cost>& cost_of_kernels() {
  static auto& kernels = *new std::map<std::string, Cost>;
  return kernels;
}

const char* counts_file() {
  static const char* const path = std::getenv("BWGEMM_VGPU_COUNTS");
  return path;
}

void write_counts() {
  std::ofstream file(counts_file(), std::ios::app);
  for (const auto& [name, cost] : cost_of_kernels())
    file << name << ' ' << cost.launches << ' ' << cost.instructions << ' ' << cost.events << '\n';
}

struct KernelCoverage {
  std::vector<int> instructions;
  std::vector<bool> executed;  // by line
};

// By kernel: a process sees one device, so one target of each.
std::map<std::string, KernelCoverage>& covered() {
  static auto& kernels = *new std::map<std::string, KernelCoverage>;
  return kernels;
}

const char* coverage_folder() {
  static const char* const folder = std::getenv("BWGEMM_VGPU_COVERAGE");
  return folder;
}

}  // namespace

bool report(const std::vector<vgpu::Finding>& findings, const vgpu::LaunchRequest& request,
            unsigned long long launch_ordinal) {
  for (const vgpu::Finding& finding : findings)
    std::fprintf(stderr, "vgpu: %s\n", to_string(finding).c_str());
  if (!findings.empty())
    std::fprintf(stderr,
                 "vgpu: %s: %zu findings in launch %llu of BWGEMM_VGPU_SEED=%llu, grid %u x %u x "
                 "%u, cluster %u\n",
                 request.kernel.c_str(), findings.size(), launch_ordinal,
                 static_cast<unsigned long long>(Driver::get().settings.seed), request.grid.x,
                 request.grid.y, request.grid.z, request.cluster_size);
  found += findings.size();
  return !findings.empty();
}

void report(const char* text) {
  std::fprintf(stderr, "vgpu: %s\n", text);
  ++found;
}

std::size_t finding_count() {
  return found;
}

void count(const std::string& kernel, const vgpu::RunStatistics& run) {
  interpreted += run.warp_instructions;
  if (counts_file() == nullptr) return;
  if (cost_of_kernels().empty()) std::atexit(write_counts);
  Cost& cost = cost_of_kernels()[kernel];
  ++cost.launches;
  cost.instructions += run.warp_instructions;
  cost.events += run.async_events;
}

unsigned long long instruction_count() {
  return interpreted;
}

void write(const vgpu::Prediction& prediction) {
  static const char* const path = std::getenv("BWGEMM_VGPU_TIMING_REPORT");
  if (path == nullptr) {
    std::fputs(prediction.text().c_str(), stderr);
    return;
  }
  std::ofstream file(path, std::ios::app);
  if (file.tellp() == 0) file << vgpu::Prediction::csv_header() << '\n';
  file << prediction.csv() << '\n';
}

void write_coverage() {
  if (coverage_folder() == nullptr) return;
  for (const auto& [name, kernel] : covered()) {
    std::ofstream file(std::string(coverage_folder()) + '/' + name + '.' +
                       std::to_string(getpid()) + ".coverage");
    for (const int line : kernel.instructions) {
      const auto index = static_cast<std::size_t>(line);
      const bool is_executed = index < kernel.executed.size() && kernel.executed[index];
      file << line << ' ' << (is_executed ? 1 : 0) << '\n';
    }
  }
}

Coverage::Coverage(const vgpu::LaunchRequest& request) {
  if (coverage_folder() == nullptr) return;
  if (covered().empty()) std::atexit(write_coverage);
  KernelCoverage& kernel = covered()[request.kernel];
  if (kernel.instructions.empty())
    kernel.instructions = request.module->instruction_lines(request.kernel);
  lines_ = &kernel.executed;
}

}  // namespace bwgemm::vgpu::driver

std::size_t vgpu_finding_count() {
  return bwgemm::vgpu::driver::finding_count();
}

unsigned long long vgpu_instruction_count() {
  return bwgemm::vgpu::driver::instruction_count();
}
