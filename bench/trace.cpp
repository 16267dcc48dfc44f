// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "call.h"
#include "code.h"
#include "operands.h"
#include "selection.h"
#include "series.h"

namespace bwgemm::bench {

namespace {

// Where the build leaves it: beside the library.
std::string traced_file(const std::string& kernel) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string target = device_of(kernel) == NominalDevice::b200 ? "sm_100a" : "sm_90a";
  const std::filesystem::path file =
      program.parent_path().parent_path() / "lib" / "trace" / (kernel + "." + target + ".fatbin");
  if (!std::filesystem::exists(file))
    throw std::runtime_error(
        "there is no traced build of " + kernel +
        ": configure with -DBWGEMM_TRACE_KERNELS=REGEX and build the target bwgemm_trace_kernels");
  return file;
}

// Clocks of one stage's product of a CTA at the peak of Hopper's tensor cores.
double stage_clocks(const std::string& kernel, const BenchProblem& problem) {
  constexpr double flop_per_clock = 4096;
  for (const Prediction& prediction : predictions(problem, device_of(kernel)))
    if (prediction.variant.kernel == kernel) {
      const Variant& v = prediction.variant;
      return 2.0 * v.tile_m * v.tile_n * v.tile_k / flop_per_clock;
    }
  return 0;
}

}  // namespace

Traced run_traced(const Gpu& gpu, const Sensors& sensors, const BenchProblem& problem, int sm_count,
                  double warm_ms) {
  const Operands operands(gpu, problem);
  const Handle handle(gpu.stream(), problem.device_scalars);
  bwgemmSetSmCountTarget(handle.get(), sm_count);
  const auto call = [&](int set) { run_bwgemm(handle.get(), problem, operands.pointers(set)); };
  const auto load = make_short_series(gpu, operands, 5, call);
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<Graph::KernelLaunch> likes;
  for (int set = 0; set < operands.sets(); ++set) {
    graphs.push_back(std::make_unique<Graph>(gpu, [&] { call(set); }));
    likes.push_back(graphs.back()->kernel_launch("bwgemm_"));
  }
  const Graph::KernelLaunch& like = likes.back();
  const Code code = Code::from_file(traced_file(like.name));
  const CUfunction function =
      code.function(like.name.c_str(), static_cast<int>(like.params.sharedMemBytes));

  constexpr std::size_t per_track = 8192;
  const std::size_t count = std::size_t{like.params.gridDimX} * trace_tracks * per_track;
  const DeviceBuffer stamps(count * sizeof(TraceStamp));
  check(driver().cuMemsetD8(stamps.address(), 0, stamps.bytes()), "cuMemsetD8");
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
  const LaunchShape shape{like.params.gridDimX, like.params.blockDimX,
                          static_cast<int>(like.params.sharedMemBytes)};
  // As timed: one launch behind the other, on operands that are not in L2, with code that is. What
  // stays is the last one's stamps.
  const Graph series(gpu, [&] {
    for (int i = 0; i < 2 * operands.sets(); ++i) {
      const Graph::KernelLaunch& launched = likes[static_cast<std::size_t>(i % operands.sets())];
      TracedParams params{{*static_cast<const KernelParams*>(launched.params.kernelParams[0])},
                          {reinterpret_cast<TraceStamp*>(stamps.address()), per_track}};
      void* parameters[] = {&params};
      launch(gpu, function, shape, parameters);
    }
  });

  for (double ms = 0; ms < warm_ms;) ms += load->microseconds(gpu) * load->calls * 1e-3;
  Sensors::Reading reading;
  gpu.milliseconds([&] {
    load->graph.launch();
    reading = sensors.read();
    series.launch();
  });

  std::vector<TraceStamp> host(count);
  check(driver().cuMemcpyDtoH(host.data(), stamps.address(), stamps.bytes()), "cuMemcpyDtoH");
  Traced traced{.kernel = like.name, .tracks = tracks_of(host, per_track), .shares = {}};
  const bool is_hopper = device_of(like.name) != NominalDevice::b200;
  traced.shares =
      shares_of(traced.tracks, stage_clocks(like.name, problem), is_hopper ? reading.sm_mhz : 0);
  return traced;
}

}  // namespace bwgemm::bench
