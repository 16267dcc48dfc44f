// SPDX-License-Identifier: Apache-2.0
// bwgemm_peer: what the model of cuBLAS (src/dropin/peer.h) says of measured problems. Its
// arguments are result files of bwgemm_bench, and the command in front of them:
//   features   prints for each problem the ratio of times and what the model asks for
//   judge      prints how well the model chooses
// Problems that no call of cuBLAS asks for, and derivatives, are left out. Exit status: 0 good, 1
// failed, 2 wrong arguments.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "dropin/peer.h"
#include "problem.h"
#include "selection.h"
#include "table.h"

namespace bwgemm::bench {
namespace {

// Bytes at multiples of which all columns of the matrix begin, up to 16.
std::int64_t alignment(const BenchMatrix& matrix, std::int64_t batch) {
  std::int64_t all = matrix.displace | 16;
  if (matrix.columns > 1) all |= matrix.ld * size_bytes(matrix.type);
  if (batch > 1) all |= matrix.stride * size_bytes(matrix.type);
  return all & -all;
}

dropin::PeerProblem peer_problem(const BenchProblem& problem, const Prediction& choice) {
  const BenchEpilogue& epilogue = problem.epilogue;
  return {.m = problem.m,
          .n = problem.n,
          .k = problem.k,
          .batch = problem.batch,
          .transa = problem.transa,
          .transb = problem.transb,
          .is_f16 = problem.a.type == BWGEMM_R_16F,
          .stores_f32 = problem.c.type == BWGEMM_R_32F,
          .reads_c = epilogue.residual || problem.beta != 0,
          .adds_bias = epilogue.bias,
          .activation = static_cast<std::int32_t>(epilogue.activation),
          .a_alignment = alignment(problem.a, problem.batch),
          .b_alignment = alignment(problem.b, problem.batch),
          .d_alignment = alignment(problem.c, problem.batch),
          .predicted_us = choice.us,
          .kernel = choice.variant.kernel.c_str(),
          .tile_columns = choice.variant.tile_n,
          .splits = choice.variant.splits,
          .copies_operands = choice.variant.operands != "in_place"};
}

bool is_asked_of_cublas(const BenchEpilogue& epilogue) {
  if (epilogue.derivative || epilogue.gate != BWGEMM_GATE_NONE) return false;
  return epilogue.is_linear() || is_fused_by_cublaslt(epilogue);
}

struct Timed {
  std::string name;
  double ratio;  // cuBLASLt's time over bwgemm's
  dropin::PeerFeatures features;
};

std::vector<Timed> read(std::span<char*> files) {
  std::vector<Timed> all;
  for (const char* const file : files) {
    const Table table = Table::read(file);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const BenchProblem problem = problem_of_result(table, row);
      const bool is_compared =
          !table.text(row, "ratio_first").empty() && table.number(row, "ratio_first") > 0;
      if (!is_compared || !is_asked_of_cublas(problem.epilogue)) continue;
      const Prediction choice = chosen(problem, NominalDevice::h100);
      all.push_back({problem.name, table.number(row, "ratio_first"),
                     dropin::features_of(peer_problem(problem, choice))});
    }
  }
  return all;
}

void print_features(std::span<const Timed> all) {
  for (const Timed& timed : all) {
    std::printf("%s,%.4f", timed.name.c_str(), timed.ratio);
    for (const int feature : timed.features) std::printf(",%d", feature);
    std::printf("\n");
  }
}

double share(std::size_t part, std::size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(whole, 1));
}

void judge(std::span<const Timed> all) {
  constexpr double slower = 1 / 1.03;
  std::size_t served = 0, slow = 0, served_slow = 0, wins = 0, served_wins = 0;
  for (const Timed& timed : all) {
    const bool is_served = dropin::is_faster(timed.features);
    const bool is_slow = timed.ratio<slower, is_win = timed.ratio> 1;
    served += is_served;
    slow += is_slow;
    wins += is_win;
    served_slow += is_served && is_slow;
    served_wins += is_served && is_win;
  }
  std::printf("%zu problems, %.1f %% of them more than 3 %% slower than cuBLASLt\n", all.size(),
              share(slow, all.size()));
  std::printf("%zu served: %.1f %% of them more than 3 %% slower, %.1f %% of the %zu faster ones\n",
              served, share(served_slow, served), share(served_wins, wins), wins);
}

int run(std::span<char*> arguments) {
  const std::string command = arguments.size() > 1 ? arguments[0] : "";
  if (command != "features" && command != "judge") {
    std::fprintf(stderr, "usage: bwgemm_peer features|judge RESULTS.csv...\n");
    return 2;
  }
  const std::vector<Timed> all = read(arguments.subspan(1));
  if (command == "features")
    print_features(all);
  else
    judge(all);
  return 0;
}

}  // namespace
}  // namespace bwgemm::bench

int main(int count, char** arguments) {
  try {
    return bwgemm::bench::run(std::span(arguments + 1, static_cast<std::size_t>(count - 1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_peer: %s\n", error.what());
    return 1;
  }
}
