// SPDX-License-Identifier: Apache-2.0
// Every step of the ladder consists of the instructions of its technique, and has none of the next
// step's; and what the table says of it is what was compiled. Reads the PTX in BWGEMM_LADDER_PTX.
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>

#include "bench/kernels/ladder/steps.h"
#include "vgpu/ptx/ptx_roles.h"

namespace bwgemm::ladder {
namespace {

using testing::HasSubstr;
using testing::Not;
using vgpu::PtxLine;

// The lines of each kernel.
const std::map<std::string, std::vector<PtxLine>>& kernels() {
  static const auto all = [] {
    std::map<std::string, std::vector<PtxLine>> by_name;
    const char* path = std::getenv("BWGEMM_LADDER_PTX");
    std::ostringstream text;
    if (path != nullptr) text << std::ifstream(path).rdbuf();
    vgpu::PtxRoles ptx(text.str());
    const std::string entry = ".entry ladder_";
    std::vector<PtxLine>* kernel = nullptr;
    for (const PtxLine& line : ptx.lines()) {
      if (const std::size_t at = line.text.find(entry); at != std::string::npos) {
        const std::size_t name = at + entry.size();
        kernel = &by_name[line.text.substr(name, line.text.find('(') - name)];
      }
      if (kernel != nullptr && line.text.find("//") == std::string::npos) kernel->push_back(line);
    }
    return by_name;
  }();
  return all;
}

class Technique : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kernels().contains(step.name)) << "no PTX of ladder_" << step.name;
  }

  // Lines that hold `text`; of functions, if named, that are called like that.
  int count(const std::string& text, const std::string& function = "") const {
    int lines = 0;
    for (const PtxLine& line : kernels().at(step.name))
      lines += line.text.find(text) != std::string::npos &&
               line.role.find(function) != std::string::npos;
    return lines;
  }
  bool is(std::string_view name) const { return name == step.name; }

  const Step& step = steps[GetParam()];
  const Shape& shape = step.shape;
  const bool pairs = shape.ctas == 2;
};

TEST_P(Technique, LoadsBoxesOfItsMaps) {
  EXPECT_EQ(count("cp.async.bulk.tensor.2d.") > 0, shape.map_dims == 2);
  EXPECT_EQ(count("cp.async.bulk.tensor.3d.") > 0, shape.map_dims == 3);
}

// Descriptors but for the address: without swizzle the next 8 rows are 128 bytes away, with the
// 128-byte swizzle, code 2 in the highest bits, 1024.
TEST_P(Technique, SwizzlesAsItsTableSays) {
  const auto operand = [](std::uint64_t swizzle, std::uint64_t stride, std::uint64_t leading) {
    return std::to_string(swizzle << 61 | std::uint64_t{1} << 46 | (stride >> 4) << 32 |
                          (leading >> 4) << 16);
  };
  const bool swizzled = shape.row_bytes == 128;
  EXPECT_EQ(count(", " + operand(2, 1024, 16) + ";") > 0, swizzled);
  EXPECT_EQ(count(", " + operand(0, 128, cta_m * 16) + ";") > 0, !swizzled);
}

TEST_P(Technique, HasTheBarriersOfItsStages) {
  const int responses = shape.grid == Grid::canceled ? response_slots : 0;
  EXPECT_EQ(count("mbarrier.init."), 2 * (shape.stages + shape.accumulators + responses));
}

// From v4 on the thread that loads waits for room, the one that multiplies for operands; before,
// all wait for both in one loop.
TEST_P(Technique, HasRolesFromV4On) {
  const bool has_roles = shape.tile_k == 64;
  EXPECT_EQ(count("mbarrier.try_wait", "load_tile") > 0, has_roles);
  EXPECT_EQ(count("mbarrier.try_wait", "multiply_tile") > 0, has_roles);
  EXPECT_EQ(count("tcgen05.mma.", "multiply_tile") > 0, has_roles);
  EXPECT_EQ(count("elect.sync") > 2, has_roles);
}

TEST_P(Technique, MultipliesInPairsFromV5On) {
  EXPECT_EQ(count("cta_group::1") == 0, pairs);
  EXPECT_EQ(count("tcgen05.mma.cta_group::2") > 0, pairs);
  EXPECT_EQ(
      count("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast") > 0,
      pairs);
  EXPECT_EQ(count("complete_tx::bytes.cta_group::2") > 0, pairs);
  EXPECT_EQ(count("barrier.cluster.") > 0, pairs);
  EXPECT_EQ(count(".reqnctapercluster 2, 1, 1"), pairs ? 1 : 0);
}

TEST_P(Technique, AllocatesItsAccumulators) {
  const std::string columns = std::to_string(shape.accumulators * shape.tile_n);
  EXPECT_EQ(count("tcgen05.alloc."), 1);
  EXPECT_EQ(count(", " + columns + ";", "tcgen05_alloc"), 1) << columns;
}

TEST_P(Technique, FindsItsTilesAsItsTableSays) {
  EXPECT_EQ(count("%nctaid.x") > 0, shape.grid == Grid::resident);
  EXPECT_EQ(count("clusterlaunchcontrol.try_cancel") > 0, shape.grid == Grid::canceled);
}

TEST_P(Technique, HasTheThreadsOfItsTable) {
  EXPECT_EQ(count(".maxntid " + std::to_string(shape.threads)), 1);
}

INSTANTIATE_TEST_SUITE_P(All, Technique, testing::Range(std::size_t{0}, steps.size()),
                         [](const auto& info) { return std::string(steps[info.param].name); });

// Each step changes what its name in the table says, and keeps the rest.
TEST(Steps, EachAddsItsTechnique) {
  const auto named = [](const char* name) { return shape_of(name); };
  EXPECT_NE(named("v1a").map_dims, named("v1b").map_dims);
  EXPECT_NE(named("v1a").row_bytes, named("v2a").row_bytes);
  EXPECT_NE(named("v2a").map_dims, named("v2b").map_dims);
  EXPECT_EQ(named("v2b").stages, 1);
  EXPECT_GT(named("v3").stages, 1);
  EXPECT_EQ(named("v4").ctas, 1);
  EXPECT_EQ(named("v5").ctas, 2);
  EXPECT_EQ(named("v5").accumulators, 1);
  EXPECT_EQ(named("v6").accumulators, 2);
  EXPECT_EQ(named("v6").grid, Grid::resident);
  EXPECT_EQ(named("v7").grid, Grid::canceled);
}

TEST(Steps, FitIntoSharedMemoryAndTensorMemory) {
  constexpr int most_shared = 232448, most_columns = 512;
  for (const Step& step : steps) {
    EXPECT_LE(layout(step.shape).bytes, most_shared) << step.name;
    EXPECT_LE(step.shape.accumulators * step.shape.tile_n, most_columns) << step.name;
    EXPECT_EQ(step.shape.tile_m, cta_m * step.shape.ctas) << step.name;
  }
}

}  // namespace
}  // namespace bwgemm::ladder
