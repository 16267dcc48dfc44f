// SPDX-License-Identifier: Apache-2.0
// The command line in the log, read by bwgemm_bench, is the call that was logged: every argument.
#include "api/bench_command.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/validate.h"
#include "bench/options.h"
#include "bench/problem.h"
#include "support/flushed_denormals.h"

namespace bwgemm {
namespace {

constexpr std::uintptr_t base_a = 0x100000000, base_b = 0x200000000, base_c = 0x300000000;
alignas(16) constexpr float device_scalar = 0;  // only its address is looked at

// A call in every argument that bwgemm_bench can set.
struct Call {
  const char* name;
  bool transa = false, transb = false;
  std::int64_t m = 48, n = 80, k = 32;
  float alpha = 1, beta = 0;
  bool device_scalars = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;                    // 0: dense
  std::int64_t stride_a = -1, stride_b = -1, stride_c = -1;  // -1: dense
  std::int64_t batch = 1;
  bwgemmDataType_t input = BWGEMM_R_16BF, output = BWGEMM_R_16BF;
  std::uintptr_t offset_a = 0, offset_b = 0, offset_c = 0;  // bytes from the aligned bases
};

Problem problem_of(const GemmArguments& arguments, bool device_scalars) {
  return validated(arguments_of(arguments),
                   device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST);
}

bwgemmOperation_t operation(bool transposed) {
  return transposed ? BWGEMM_OP_T : BWGEMM_OP_N;
}

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

Problem called(const Call& call) {
  const auto or_dense = [](std::int64_t value, std::int64_t none, std::int64_t dense) {
    return value == none ? dense : value;
  };
  const std::int64_t a_rows = call.transa ? call.k : call.m, a_columns = call.m + call.k - a_rows;
  const std::int64_t b_rows = call.transb ? call.n : call.k, b_columns = call.k + call.n - b_rows;
  GemmArguments g{};
  g.transa = operation(call.transa), g.transb = operation(call.transb);
  g.m = call.m, g.n = call.n, g.k = call.k;
  g.alpha = call.device_scalars ? &device_scalar : &call.alpha;
  g.beta = call.device_scalars ? &device_scalar : &call.beta;
  g.lda = or_dense(call.lda, 0, std::max<std::int64_t>(1, a_rows));
  g.ldb = or_dense(call.ldb, 0, std::max<std::int64_t>(1, b_rows));
  g.ldc = or_dense(call.ldc, 0, std::max<std::int64_t>(1, call.m));
  g.stride_a = or_dense(call.stride_a, -1, g.lda * a_columns);
  g.stride_b = or_dense(call.stride_b, -1, g.ldb * b_columns);
  g.stride_c = or_dense(call.stride_c, -1, g.ldc * call.n);
  g.a = pointer(base_a + call.offset_a);
  g.b = pointer(base_b + call.offset_b);
  g.c = pointer(base_c + call.offset_c);
  g.a_type = g.b_type = call.input, g.c_type = call.output;
  g.batch_count = call.batch;
  g.compute_type = BWGEMM_COMPUTE_32F, g.algo = -1;
  return problem_of(g, call.device_scalars);
}

// What bwgemm_bench would call with these problem's arguments.
Problem called(const bench::BenchProblem& p) {
  GemmArguments g{};
  g.transa = operation(p.transa), g.transb = operation(p.transb);
  g.m = p.m, g.n = p.n, g.k = p.k;
  g.alpha = p.device_scalars ? &device_scalar : &p.alpha;
  g.beta = p.device_scalars ? &device_scalar : &p.beta;
  g.lda = p.a.ld, g.ldb = p.b.ld, g.ldc = p.c.ld;
  g.stride_a = p.a.stride, g.stride_b = p.b.stride, g.stride_c = p.c.stride;
  g.a = pointer(base_a + static_cast<std::uintptr_t>(p.a.displace));
  g.b = pointer(base_b + static_cast<std::uintptr_t>(p.b.displace));
  g.c = pointer(base_c + static_cast<std::uintptr_t>(p.c.displace));
  g.a_type = p.a.type, g.b_type = p.b.type, g.c_type = p.c.type;
  g.batch_count = p.batch;
  g.compute_type = BWGEMM_COMPUTE_32F, g.algo = -1;
  return problem_of(g, p.device_scalars);
}

// The words of a command line as a shell would pass them.
std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ' ' && !quoted)
      all.emplace_back();
    else
      all.back() += c;
  }
  return all;
}

bench::BenchProblem read_by_bench(const std::string& line) {
  const std::vector<std::string> arguments = words(line);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  const bench::Options options =
      bench::parse_options(static_cast<int>(pointers.size()), pointers.data());
  return bench::parse_problem(options.problem, options.column_major);
}

class BenchCommand : public ::testing::TestWithParam<Call> {};

TEST_P(BenchCommand, IsReadBackAsTheSameCall) {
  const Problem problem = called(GetParam());
  const std::string command = bench_command(problem);
  const bench::BenchProblem read = read_by_bench(command);
  EXPECT_EQ(read.unsupported, "") << command;
  EXPECT_EQ(called(read), problem) << command;
  const test::FlushedDenormals flushed;
  EXPECT_EQ(bench_command(problem), command);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, BenchCommand,
    ::testing::Values(
        Call{.name = "Plain"}, Call{.name = "TransA", .transa = true},
        Call{.name = "TransB", .transb = true},
        Call{.name = "TransBoth", .transa = true, .transb = true, .batch = 2},
        Call{.name = "F16", .input = BWGEMM_R_16F, .output = BWGEMM_R_16F},
        Call{.name = "F16ToF32", .input = BWGEMM_R_16F, .output = BWGEMM_R_32F},
        Call{.name = "Bf16ToF32", .output = BWGEMM_R_32F, .offset_c = 4},
        Call{.name = "Scalars", .alpha = -0.1f, .beta = 1e-30f},
        Call{.name = "DenormalScalars", .alpha = 1e-40f, .beta = -0x1p-149f},
        Call{.name = "AlphaZero", .alpha = 0, .beta = 3},
        Call{.name = "AlphaInfinite", .alpha = -std::numeric_limits<float>::infinity()},
        Call{.name = "DeviceScalars", .device_scalars = true},
        Call{.name = "LeadingDimensions", .lda = 51, .ldb = 37, .ldc = 49},
        Call{.name = "LeadingDimensionsTransposed",
             .transa = true,
             .transb = true,
             .lda = 33,
             .ldb = 81,
             .ldc = 64,
             .batch = 3},
        Call{.name = "Batch", .batch = 7},
        Call{.name = "Broadcast", .stride_a = 0, .stride_b = 0, .batch = 4},
        Call{.name = "Strides",
             .ldc = 50,
             .stride_a = 2000,
             .stride_b = 3000,
             .stride_c = 4001,
             .batch = 2},
        Call{.name = "Interleaved", .ldc = 200, .stride_c = 50, .batch = 4},
        Call{.name = "Unaligned", .offset_a = 2, .offset_b = 4, .offset_c = 8},
        Call{.name = "NoK", .k = 0, .beta = 2}, Call{.name = "NoM", .m = 0},
        Call{.name = "NoBatch", .batch = 0},
        Call{.name = "Huge", .m = 100000, .n = 3, .k = 70000, .lda = 3000000000, .batch = 2}),
    [](const auto& info) { return std::string(info.param.name); });

// Addresses are logged by their alignment: 16 bytes are as good as any, 6 as 2.
TEST(BenchCommandAlignment, KeepsTheLowestBit) {
  const auto read = [](std::uintptr_t offset) {
    return read_by_bench(bench_command(called(Call{.name = "", .offset_a = offset}))).a.displace;
  };
  EXPECT_EQ(read(6), 2);
  EXPECT_EQ(read(12), 4);
  EXPECT_EQ(read(24), 8);
  EXPECT_EQ(read(48), 0);
}

TEST(BenchProblem, RowMajorLettersAreThoseOfTheTransposedProduct) {
  const bench::BenchProblem row = bench::parse_problem(
      "m=48,n=80,k=32,transa=T,lda=49,ldb=81,ldc=82,stridea=5000,strideb=0,batch=2,alignb=8",
      false);
  const bench::BenchProblem column = bench::parse_problem(
      "m=80,n=48,k=32,transb=T,ldb=49,lda=81,ldc=82,strideb=5000,stridea=0,batch=2,aligna=8", true);
  EXPECT_EQ(called(row), called(column));
}

std::string error_of(const std::string& problem) {
  try {
    bench::parse_problem(problem, true);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(BenchProblem, ErrorsNameTheKey) {
  const std::array<std::array<const char*, 2>, 18> cases = {{
      {"n=8,k=8", "m is missing"},
      {"m=8,n=8,k=8,ldd=9", "unknown key 'ldd'; known are: m n k transa"},
      {"m=8,n=8,k=8,k=9", "'k' is given twice"},
      {"m=8,n=8,k=1e3", "k is '1e3'"},
      {"m=8,n=-8,k=8", "n is -8"},
      {"m=8,n=8,k=8,ldb=7", "ldb is 7"},
      {"m=8,n=8,k=8,stridea=-1", "stridea is -1"},
      {"m=8,n=8,k=8,aligna=3", "aligna is 3"},
      {"m=8,n=8,k=8,scalars=gpu", "scalars is 'gpu'"},
      {"m=8,n=8,k=8,dtype=int4", "dtype is 'int4'"},
      {"m=8,n=8,k=8,epilogue=gelu", "epilogue is 'gelu' but must be one of none, beta1, bias, res"},
      {"m=8,n=8,k=8,epilogue=bias_", "epilogue is 'bias_'"},
      {"m=8,n=8,k=8,epilogue=bias_dgelu", "epilogue is 'bias_dgelu'"},
      {"m=8,n=8,k=8,epilogue=silu,gate=stacked", "gate is 'stacked' but epilogue silu has none"},
      {"m=8,n=8,k=8,epilogue=swiglu,gate=none", "gate is 'none' but must be interleaved or"},
      {"m=7,n=8,k=8,epilogue=swiglu", "m is 7 but must be even"},
      {"m=8,n=8,k=8,epilogue=swiglu,beta=2", "beta is 2 but must be 0"},
      {"m=8,n=8,k=8,epilogue=residual,beta=0", "beta is 0 but epilogue residual adds"},
  }};
  for (const auto& [problem, expected] : cases)
    EXPECT_NE(error_of(problem).find(expected), std::string::npos) << error_of(problem);
  EXPECT_EQ(error_of("m=8,n=8,k=8"), "none");
}

}  // namespace
}  // namespace bwgemm
