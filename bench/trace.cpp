// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "call.h"
#include "code.h"
#include "families/variants.h"
#include "operands.h"
#include "series.h"

namespace bwgemm::bench {

namespace {

// Where the build leaves it: beside the library.
std::string traced_file(const std::string& kernel, Arch arch) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string target = arch == Arch::sm90 ? "sm_90a" : "sm_100f";
  const std::filesystem::path file =
      program.parent_path().parent_path() / "lib" / "trace" / (kernel + "." + target + ".fatbin");
  if (!std::filesystem::exists(file))
    throw std::runtime_error(
        "there is no traced build of " + kernel +
        ": configure with -DBWGEMM_TRACE_KERNELS=REGEX and build the target bwgemm_trace_kernels");
  return file;
}

const KernelConfig& row_of(const std::string& kernel) {
  for (const KernelConfig& row : kernel_variants)
    if (kernel_name(row).view() == kernel) return row;
  throw std::runtime_error(kernel + " is no row of the table");
}

// Clocks of what one stamp multiplies at the peak of the tensor cores: of a stage, as far as the
// role does it that stamps. 0: not on tensor cores.
double product_clocks(const KernelConfig& row, const KernelParams& params) {
  const double flop_per_clock = row.arch == Arch::sm90 ? 4096 : 8192;
  const int tile_n = row.tile.n != 0 ? row.tile.n : params.tile_n;
  const double clocks = 2.0 * row.tile.m * tile_n * row.tile.k / flop_per_clock;
  if (row.family == Family::cooperative)
    return row.ping_pong ? clocks : clocks / sm90::warpgroups_of(row).consumers;
  if (row.family == Family::dot)
    return dot::is_of_vectors(row) ? 0 : clocks / dot::teams_of(row).stages;
  return clocks;
}

// What the library launches, with the place for stamps.
TracedParams traced_params(const KernelConfig& row, const Graph::KernelLaunch& launched,
                           const TraceBuffer& trace) {
  TracedParams params{};
  std::memcpy(static_cast<void*>(&params), launched.params.kernelParams[0], params_bytes(row));
  params.trace = trace;
  return params;
}

}  // namespace

Traced run_traced(const Gpu& gpu, const Sensors& sensors, const BenchProblem& problem, int sm_count,
                  double warm_ms) {
  const OperandSets operands(gpu, problem);
  const Handle handle(gpu.stream(), problem.device_scalars);
  bwgemmSetSmCountTarget(handle.get(), sm_count);
  const auto call = [&](int set) { run_bwgemm(handle.get(), problem, operands.pointers(set)); };
  // On a virtual GPU time is no time, and a launch takes long.
  const int sets = gpu.is_virtual() ? 1 : operands.sets();
  const int launches = gpu.is_virtual() ? 1 : 2 * sets;
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<Graph::KernelLaunch> likes;
  call(0);  // loads the kernel, and copies operands where that is the choice
  check(driver().cuStreamSynchronize(gpu.stream()), "cuStreamSynchronize");
  for (int set = 0; set < sets; ++set) {
    graphs.push_back(std::make_unique<Graph>(gpu, [&] { call(set); }));
    likes.push_back(graphs.back()->kernel_launch("bwgemm_"));
  }
  const Graph::KernelLaunch& like = likes.back();
  const KernelConfig& row = row_of(like.name);
  const Code code = Code::from_file(traced_file(like.name, row.arch));
  const CUfunction function =
      code.function(like.name.c_str(), static_cast<int>(like.params.sharedMemBytes));

  constexpr std::size_t most_stamps = std::size_t{1} << 26, most_per_track = 8192;
  const std::size_t tracks = std::size_t{like.params.gridDimX} * trace_tracks;
  const std::size_t per_track = std::clamp<std::size_t>(most_stamps / tracks, 64, most_per_track);
  const std::size_t count = tracks * per_track;
  const DeviceBuffer stamps(count * sizeof(TraceStamp));
  check(driver().cuMemsetD8(stamps.address(), 0, stamps.bytes()), "cuMemsetD8");
  check(driver().cuStreamSynchronize(CU_STREAM_LEGACY), "cuStreamSynchronize");
  const TraceBuffer buffer{reinterpret_cast<TraceStamp*>(stamps.address()),
                           static_cast<std::uint32_t>(per_track)};
  const LaunchShape shape = shape_of(like);
  // As timed: one launch behind the other, on operands that are not in L2, with code that is. What
  // stays is the last one's stamps.
  const Graph series(gpu, [&] {
    for (int i = 0; i < launches; ++i) {
      TracedParams params = traced_params(row, likes[static_cast<std::size_t>(i % sets)], buffer);
      void* parameters[] = {&params};
      launch(gpu, function, shape, parameters);
    }
  });

  Sensors::Reading reading;
  if (gpu.is_virtual()) {
    gpu.milliseconds([&] { series.launch(); });
  } else {
    const auto load = make_short_series(gpu, operands, 5, call);
    for (double ms = 0; ms < warm_ms;) ms += load->microseconds(gpu) * load->calls * 1e-3;
    gpu.milliseconds([&] {
      load->graph.launch();
      reading = sensors.read();
      series.launch();
    });
  }

  std::vector<TraceStamp> host(count);
  check(driver().cuMemcpyDtoH(host.data(), stamps.address(), stamps.bytes()), "cuMemcpyDtoH");
  Traced traced{.kernel = like.name, .tracks = tracks_of(host, per_track), .shares = {}};
  const KernelParams& params = *static_cast<const KernelParams*>(like.params.kernelParams[0]);
  traced.shares = shares_of(traced.tracks, product_clocks(row, params), reading.sm_mhz);
  return traced;
}

}  // namespace bwgemm::bench
