// SPDX-License-Identifier: Apache-2.0
// What runs of kernels leave behind: findings on stderr and counted, how many instructions were
// interpreted, and, if BWGEMM_VGPU_COVERAGE names a folder, which PTX lines were executed. In
// simulated time: predictions.
#pragma once

#include <string>
#include <vector>

#include "vgpu/machine.h"
#include "vgpu/timing/prediction.h"

namespace bwgemm::vgpu::driver {

// True if there is any.
bool report(const std::vector<vgpu::Finding>& findings, const vgpu::LaunchRequest& request,
            unsigned long long launch_ordinal);

// A finding outside of every kernel.
void report(const char* text);

std::size_t finding_count();

// Adds what one run of a kernel took to the process's sums: instructions of warps, and steps of
// asynchronous operations. Their number is the same on every machine, unlike their time.
void count(const std::string& kernel, const vgpu::RunStatistics& run);
unsigned long long instruction_count();

// A line of the file that BWGEMM_VGPU_TIMING_REPORT names, or some on stderr.
void write(const vgpu::Prediction& prediction);

// Of one run. Lines executed add up over the process and are written when it ends, one file per
// kernel and process: "<line> <0 or 1>" for every line that holds an instruction.
class Coverage {
 public:
  explicit Coverage(const vgpu::LaunchRequest& request);
  std::vector<bool>* lines() const { return lines_; }  // null: nobody wants to know

 private:
  std::vector<bool>* lines_ = nullptr;
};

// What has been executed so far.
void write_coverage();

}  // namespace bwgemm::vgpu::driver
