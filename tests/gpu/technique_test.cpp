// SPDX-License-Identifier: Apache-2.0
// Techniques: for each one, a row of the kernel table that has it, what its PTX must and must not
// contain, and a problem that the row computes exactly, with several tiles. On a virtual GPU that
// writes coverage (BWGEMM_VGPU_COVERAGE) the instructions must also have been executed; PTX lies
// beside BWGEMM_VGPU_INDEX. Rows of the other architecture are skipped.
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <regex>
#include <string>
#include <unistd.h>
#include <vector>

#include "families/variants.h"
#include "gpu/row_problems.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

struct Technique {
  const char* name;
  std::function<bool(const KernelConfig&)> has;  // the row; the first that does is run
  std::vector<const char*> executes;             // regular expressions over statements
  std::vector<const char*> lacks = {};
  Raster raster = Raster::grouped;
  int splits = 0;
  float alpha = 2, beta = 0;
  Dtype output = Dtype::bf16;
  std::int64_t k = 64 * 20 + 24;
};

bool is_sm100(const KernelConfig& row, Family family, const Paths& paths) {
  return row.family == family && paths_of(row) == paths;
}

// Of the pair with all choices as usual but `choices`.
std::function<bool(const KernelConfig&)> pair_with(const Sm100Choices& choices) {
  return [choices](const KernelConfig& row) {
    return is_sm100(row, Family::pair, paths::tma) && row.tile.m == 256 &&
           row.cluster == Cluster{2, 1} && row.choices == choices;
  };
}
std::function<bool(const KernelConfig&)> family(Family family, const Paths& paths) {
  return [=](const KernelConfig& row) { return is_sm100(row, family, paths); };
}
std::function<bool(const KernelConfig&)> hopper(const Tile& tile, const Cluster& cluster) {
  return [=](const KernelConfig& row) {
    return row.family == Family::cooperative && stores_rows_by_tma(row) && row.tile == tile &&
           row.cluster == cluster && row.ctas_per_sm == 1;
  };
}

constexpr const char* mma_2 = "tcgen05\\.mma\\.cta_group::2\\.kind::f16";
constexpr const char* mma_1 = "tcgen05\\.mma\\.cta_group::1\\.kind::f16";
constexpr const char* load_3d = "cp\\.async\\.bulk\\.tensor\\.3d\\.shared::cluster\\.global";
constexpr const char* load_2d = "cp\\.async\\.bulk\\.tensor\\.2d\\.shared::cluster\\.global";
constexpr const char* store_3d = "cp\\.async\\.bulk\\.tensor\\.3d\\.global\\.shared::cta";
constexpr const char* store_2d = "cp\\.async\\.bulk\\.tensor\\.2d\\.global\\.shared::cta";
constexpr const char* store_global = "st\\.global\\.v4\\.b32";
constexpr const char* multicast = "multicast::cluster\\.cta_group::2";
constexpr const char* try_cancel = "clusterlaunchcontrol\\.try_cancel";
constexpr const char* prefetch = "prefetch\\.tensormap";

// Operands of a CTA's tiles and how they are fed, multiplied, kept, ordered and stored. The
// walk-throughs that these techniques come from are for Blackwell in steps from one CTA to
// persistent pairs, for Hopper (one warpgroup, then the pieces of a fast kernel), and for alpha and
// beta with a warp that loads C.
const std::vector<Technique> techniques = {
    {"SwizzleOf128Bytes", pair_with({}), {mma_2, load_3d}},
    {"SwizzleOf64Bytes", pair_with({.swizzle_bytes = 64}), {mma_2, load_3d}},
    {"SwizzleOf32Bytes", pair_with({.swizzle_bytes = 32}), {mma_2, load_3d}},
    {"NoSwizzle", pair_with({.swizzle_bytes = 0}), {mma_2, load_3d}},
    {"MapsOfThreeDimensions", pair_with({}), {load_3d, store_3d}, {load_2d, store_2d}},
    {"MapsOfTwoDimensions", pair_with({.map_rank = 2}), {load_2d, store_2d}, {load_3d, store_3d}},
    {"OneCta",
     family(Family::single, paths::tma),
     {mma_1, "tcgen05\\.commit\\.cta_group::1"},
     {"cta_group::2"}},
    {"TwoCtas",
     pair_with({}),
     {mma_2, "tcgen05\\.commit\\.cta_group::2.*multicast"},
     {"cta_group::1"}},
    {"NotPersistent", pair_with({.schedule = Schedule::one_tile}), {mma_2}, {try_cancel}},
    {"StaticPersistent", pair_with({}), {mma_2, "mov\\.u32 .*%nctaid\\.x"}, {try_cancel}},
    {"ClusterLaunchControl",
     pair_with({.schedule = Schedule::launch_control}),
     {try_cancel, "clusterlaunchcontrol\\.query_cancel\\.is_canceled", "get_first_ctaid"}},
    {"TwoAccumulators", pair_with({}), {"tcgen05\\.alloc\\..* 512;"}},
    {"OneAccumulator", pair_with({.accumulators = 1}), {"tcgen05\\.alloc\\..* 256;"}},
    {"EpilogueOfTmaStores", pair_with({}), {store_3d, "fence\\.proxy\\.async\\.shared::cta"}},
    {"EpilogueOfGlobalStores",
     family(Family::pair, paths::elements),
     {store_global},
     {store_3d, store_2d}},
    {"SnakeRaster", pair_with({}), {mma_2}, {}, Raster::snake},
    {"HilbertRaster", pair_with({}), {mma_2}, {}, Raster::hilbert},
    {"MulticastInALargerCluster",
     [](const KernelConfig& row) {
       return row.family == Family::pair && row.cluster == Cluster{4, 1};
     },
     {multicast, mma_2}},
    {"TileOf512By256",
     [](const KernelConfig& row) { return row.family == Family::pair && row.tile.m == 512; },
     {mma_2}},
    {"FewRowsInColumns", family(Family::single, paths::swap_ab), {mma_1, "tcgen05\\.ld.*x16"}},
    {"DescriptorPrefetch", pair_with({}), {prefetch}},
    {"NoDescriptorPrefetch", pair_with({.prefetches_maps = false}), {mma_2}, {prefetch}},
    {"ProgrammaticLaunch",
     pair_with({}),
     {"griddepcontrol\\.wait", "griddepcontrol\\.launch_dependents"},
     {},
     Raster::grouped,
     0,
     2,
     0,
     Dtype::bf16,
     24},  // only short calls let the next one start
    {"SplitsOfKInFixedOrder",
     pair_with({}),
     {"atom\\.add\\.acq_rel\\.gpu", "st\\.global\\.v4\\.f32"},
     {},
     Raster::grouped,
     4},
    {"AlphaBetaWithAWarpThatLoadsC",
     pair_with({}),
     {"cp\\.async\\.bulk\\.tensor\\.3d\\.shared::cluster\\.global\\.mbarrier", store_3d},
     {},
     Raster::grouped,
     0,
     -0.5f,
     2},
    {"OutputOfF32", pair_with({}), {store_3d}, {}, Raster::grouped, 0, 2, 0, Dtype::f32},
    {"OutputOfF16",
     pair_with({}),
     {"cvt\\.rn\\.f16x2\\.f32"},
     {},
     Raster::grouped,
     0,
     2,
     0,
     Dtype::f16},
    // Hopper.
    {"HopperTmaAndMbarriers",
     hopper({64, 64, 64}, {1, 1}),
     {load_3d, "mbarrier\\.try_wait", "mbarrier\\.arrive\\.expect_tx"}},
    {"HopperWarpgroupMma",
     hopper({64, 64, 64}, {1, 1}),
     {"wgmma\\.mma_async.*m64n64k16", "wgmma\\.fence", "wgmma\\.commit_group",
      "wgmma\\.wait_group"}},
    {"HopperWarpSpecialization",
     hopper({128, 256, 64}, {1, 1}),
     {"setmaxnreg\\.inc", "setmaxnreg\\.dec", "wgmma\\.mma_async.*m64n256k16"}},
    {"HopperClusterMulticast",
     hopper({128, 256, 64}, {2, 1}),
     {"multicast::cluster", "barrier\\.cluster"}},
    {"HopperStmatrixEpilogue", hopper({128, 256, 64}, {1, 1}), {"stmatrix", store_3d}},
    {"HopperFragmentsFromRegisters",
     has_loose_rows,
     {"cp\\.async\\.ca", "shf\\.r", "wgmma\\.mma_async.*m64n32k16"},
     {},
     Raster::grouped,
     0,
     2,
     0,
     Dtype::f32},
    {"HopperFragmentsStoredByThreads",
     [](const KernelConfig& row) { return row.load == Load::tma_shifted; },
     {"st\\.global\\.b32"},
     {store_3d},
     Raster::grouped,
     0,
     2,
     0,
     Dtype::f32},
};

// A statement of PTX with its line, or nothing where there is no PTX.
struct Statement {
  int line;
  std::string text;
};
std::vector<Statement> ptx_of(const std::string& kernel) {
  std::vector<Statement> statements;
  const char* index = std::getenv("BWGEMM_VGPU_INDEX");
  if (index == nullptr) return statements;
  for (const char* target : {".sm_100a.ptx", ".sm_90a.ptx"}) {
    std::ifstream file(std::filesystem::path(index).parent_path() / (kernel + target));
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      const std::size_t first = line.find_first_not_of(" \t");
      if (first != line.npos && line[first] != '.' && line[first] != '/')
        statements.push_back({number, line.substr(first)});
    }
  }
  return statements;
}

// Lines that this process has executed; all where nobody counts.
struct Executed {
  bool counted = false;
  std::vector<bool> lines;
  bool has(int line) const {
    return !counted ||
           (static_cast<std::size_t>(line) < lines.size() && lines[static_cast<std::size_t>(line)]);
  }
};
Executed executed_by(const std::string& kernel) {
  Executed executed;
  const char* folder = std::getenv("BWGEMM_VGPU_COVERAGE");
  void* library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto* write = library != nullptr
                    ? reinterpret_cast<void (*)()>(dlsym(library, "vgpu_write_coverage"))
                    : nullptr;
  if (folder == nullptr || write == nullptr) return executed;
  write();
  std::ifstream file(std::filesystem::path(folder) /
                     (kernel + "." + std::to_string(getpid()) + ".coverage"));
  executed.counted = file.is_open();
  int line = 0, was = 0;
  while (file >> line >> was) {
    executed.lines.resize(std::max(executed.lines.size(), static_cast<std::size_t>(line) + 1));
    executed.lines[static_cast<std::size_t>(line)] = was != 0;
  }
  return executed;
}

class Techniques : public GpuTest, public ::testing::WithParamInterface<Technique> {};

// Several tiles in both directions, rings that go round more than once, edges everywhere.
GemmCase several_tiles(const KernelConfig& row, const Technique& technique) {
  const bool is_split = technique.splits > 0;
  const std::int64_t n = row.swaps_ab ? 40 : is_split ? 72 : 328;
  const std::int64_t m = is_split ? row.tile.m - 8 : 3 * row.tile.m * row.cluster.m / 2 + 24;
  GemmCase gemm = gemm_of(row, m, n, technique.k, majors(row.a).front(), majors(row.b).front());
  gemm.input = technique.output == Dtype::f16 ? Dtype::f16 : Dtype::bf16;
  gemm.output = technique.output;
  gemm.alpha = technique.alpha;
  gemm.beta = technique.beta;
  gemm.fill = Fill::integers;
  gemm.fill_c = technique.beta == 0 ? Fill::poison : Fill::integers;
  gemm.ld_multiple = 8;
  return gemm;
}

TEST_P(Techniques, IsInTheCodeAndComputes) {
  const Technique& technique = GetParam();
  const auto row = std::find_if(kernel_variants.begin(), kernel_variants.end(), technique.has);
  ASSERT_NE(row, kernel_variants.end()) << "no row shows this technique";
  const bool is_hopper = device_arch() == Arch::sm90;
  if ((row->arch == Arch::sm90) != is_hopper) GTEST_SKIP() << "for another architecture";
  const std::string kernel(kernel_name(*row).view());
  SCOPED_TRACE(kernel);
  {
    const Variable forced("BWGEMM_FORCE_KERNEL", kernel);
    const Variable splits("BWGEMM_FORCE_SPLITS", std::to_string(technique.splits));
    const Variable raster("BWGEMM_FORCE_RASTER", std::string(name(technique.raster)));
    const Handle handle;
    run(handle.get(), several_tiles(*row, technique));
    if (HasFailure()) return;
  }
  const std::vector<Statement> statements = ptx_of(kernel);
  if (statements.empty()) return;  // silicon has run it
  const Executed executed = executed_by(kernel);
  for (const char* pattern : technique.executes) {
    const std::regex expression(pattern);
    bool is_there = false, was_executed = false;
    for (const Statement& statement : statements)
      if (std::regex_search(statement.text, expression)) {
        is_there = true;
        was_executed |= executed.has(statement.line);
      }
    EXPECT_TRUE(is_there) << "the PTX has no " << pattern;
    EXPECT_TRUE(was_executed) << pattern << " was not executed";
  }
  for (const char* pattern : technique.lacks) {
    const std::regex expression(pattern);
    for (const Statement& statement : statements)
      EXPECT_FALSE(std::regex_search(statement.text, expression))
          << pattern << ": " << statement.text;
  }
}

INSTANTIATE_TEST_SUITE_P(, Techniques, ::testing::ValuesIn(techniques),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bwgemm::test
