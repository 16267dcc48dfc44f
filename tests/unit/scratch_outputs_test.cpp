// SPDX-License-Identifier: Apache-2.0
#include "api/scratch_outputs.h"

#include <gtest/gtest.h>

#include "problems.h"

namespace bwgemm {
namespace {

using test::problem_of;

std::size_t bytes_of(const Problem& problem) {
  return ScratchOutputs::bytes_of(problem);
}

TEST(ScratchOutputs, HaveRoomForAllThatIsWritten) {
  Problem problem = problem_of(256, 256, 256);
  const std::size_t plain = bytes_of(problem);
  EXPECT_GE(plain, 256u * 256 * 2);
  EXPECT_LE(plain, 256u * 256 * 2 + 1024);
  problem.d.data = test::address(0x3000000fe);
  EXPECT_GE(bytes_of(problem), 256u * 256 * 2 + 0xfe);
  problem.d.ld = 1000;
  EXPECT_GE(bytes_of(problem), (255u * 1000 + 256) * 2);
  problem.batch = 3;
  problem.d.batch_stride = 300000;
  EXPECT_GE(bytes_of(problem), (2u * 300000 + 255 * 1000 + 256) * 2);
  const std::size_t batched = bytes_of(problem);
  problem.epilogue.aux = problem.d;
  problem.epilogue.aux.type = Dtype::f32;
  EXPECT_GE(bytes_of(problem), batched + (2u * 300000 + 255 * 1000 + 256) * 4);
  problem.epilogue.differentiates = true;
  EXPECT_EQ(bytes_of(problem), batched) << "aux is read";
}

TEST(ScratchOutputs, HaveAMatrixForEachPointer) {
  Problem problem = problem_of(256, 100, 256);
  problem.is_pointer_array = true;
  problem.batch = 7;
  problem.d.batch_stride = 0;
  const std::size_t matrix = (255u * static_cast<std::size_t>(problem.d.ld) + 100) * 2;
  EXPECT_GE(bytes_of(problem), 7 * (matrix + 8));
  EXPECT_LE(bytes_of(problem), 7 * (matrix + 512));
}

TEST(ScratchOutputs, AreTooLargeWhereBytesAreNoNumber) {
  constexpr std::size_t more_than_any_device = std::size_t{1} << 50;
  Problem problem = problem_of(256, 256, 256);
  problem.batch = std::int64_t{1} << 40;
  problem.d.batch_stride = std::int64_t{1} << 22;
  EXPECT_GT(bytes_of(problem), more_than_any_device);
  problem.is_pointer_array = true;
  problem.batch = std::int64_t{1} << 62;
  problem.d.batch_stride = 0;
  EXPECT_GT(bytes_of(problem), more_than_any_device);
  problem.is_pointer_array = false;
  problem.batch = 1;
  problem.d.ld = std::int64_t{1} << 60;
  EXPECT_GT(bytes_of(problem), more_than_any_device);
}

}  // namespace
}  // namespace bwgemm
