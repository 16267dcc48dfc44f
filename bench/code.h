// SPDX-License-Identifier: Apache-2.0
// Code: a compiled kernel, from this program or from a file, ready to be launched.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gpu.h"

namespace bwgemm::bench {

class Code {
 public:
  // The kernels of bench/kernels for any GPU, those for Hopper, and elementwise.cu. Throw
  // std::runtime_error if there is none for this GPU.
  static Code memory(const Gpu& gpu);
  static Code tensor(const Gpu& gpu);
  static Code elementwise(const Gpu& gpu);
  // Those of bench/kernels/ladder, which need sm_100's.
  static Code ladder(const Gpu& gpu);
  // A fatbin.
  static Code from_file(const std::string& path);

  ~Code();
  Code(Code&& other) noexcept;
  Code& operator=(Code&&) = delete;

  // With room for that much dynamic shared memory.
  CUfunction function(const char* name, int dynamic_shared_bytes) const;

 private:
  explicit Code(const void* image);

  CUmodule module_ = nullptr;
};

struct LaunchShape {
  unsigned grid, threads;
  int shared_bytes = 0;
  unsigned cluster = 1;  // CTAs, where the code does not say it
};

LaunchShape shape_of(const Graph::KernelLaunch& launch);

// Made ready once, for launches whose own time counts.
class Launch {
 public:
  Launch(const Gpu& gpu, CUfunction function, const LaunchShape& shape);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  void operator()(void** parameters) const;

 private:
  CUfunction function_;
  CUlaunchAttribute cluster_{};
  CUlaunchConfig config_{};
};

void launch(const Gpu& gpu, CUfunction function, const LaunchShape& shape, void** parameters);

}  // namespace bwgemm::bench
