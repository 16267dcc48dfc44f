// SPDX-License-Identifier: Apache-2.0
// The same call gives the same bits: on whatever stream, replayed from a graph, from another thread
// and handle, and beside other work that takes the same multiprocessors and scratch memory. Of
// every kind of kernel and every way to add splits of k, on numbers whose sums depend on the order
// of additions, which is asked too. (Of integers they do not.)
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "families/variants.h"
#include "gpu/loose_cases.h"
#include "gpu/row_problems.h"
#include "gpu/split_case.h"
#include "support/variable.h"

namespace bwgemm::test {
namespace {

// What is forced beside the kernel.
struct How {
  int splits = 1;  // two splits would have the same sum in any order
  const char* sums = "memory";
  int target = 0;             // of multiprocessors
  bool is_loose = false;      // operands start where TMA cannot load them
  bool is_copied = false;     // first
  bool sums_columns = false;  // of D, in parts
};

// A call in the kernel's own terms. The first row that `is` one is taken.
struct Kind {
  const char* name;
  std::function<bool(const KernelConfig&)> is;
  std::int64_t m, n, k;
  const char* explained;  // what an explanation says of it
  How how = {};
};

bool is_plain(const KernelConfig& row, const Tile& tile, const Cluster& cluster,
              const Paths& paths) {
  return row.family == Family::cooperative && row.tile == tile && row.cluster == cluster &&
         paths_of(row) == paths && row.ctas_per_sm == 1 && !row.ping_pong;
}
bool is_small(const KernelConfig& row) {
  return is_plain(row, {64, 64, 64}, {1, 1}, paths::tma);
}
bool is_in_clusters(const KernelConfig& row) {
  return is_plain(row, {64, 64, 64}, {2, 2}, paths::tma);
}
bool is_narrow(const KernelConfig& row) {
  return is_plain(row, {64, 16, 64}, {1, 1}, paths::swap_ab);
}
bool is_of_lines(const KernelConfig& row) {
  return is_plain(row, {128, 128, 64}, {1, 1}, paths::shifted);
}
bool is_pair(const KernelConfig& row) {
  return row.family == Family::pair && stores_rows_by_tma(row) && row.tile.m == 256 &&
         row.cluster == Cluster{2, 1} && row.choices == Sm100Choices{};
}
std::function<bool(const KernelConfig&)> any_of(Family family, const Paths& paths) {
  return [=](const KernelConfig& row) { return row.family == family && paths_of(row) == paths; };
}
bool is_direct(const KernelConfig& row) {
  return row.family == Family::direct;
}
std::function<bool(const KernelConfig&)> dot_of(Major weights) {
  return [=](const KernelConfig& row) {
    return row.family == Family::dot && !dot::is_of_vectors(row) && row.b == weights;
  };
}
bool is_of_vectors(const KernelConfig& row) {
  return row.family == Family::dot && dot::is_of_vectors(row);
}
// Those that copies and sums are beside.
bool is_usual(const KernelConfig& row) {
  return is_small(row) || is_pair(row);
}

// clang-format off
const std::vector<Kind> kinds = {
    {"Cooperative", is_small, 72, 72, 600, "splits 1,"},
    {"InClusters", is_in_clusters, 136, 136, 600, "cluster 4,"},
    {"PingPong", [](const KernelConfig& row) { return row.ping_pong; }, 136, 104, 600, "splits 1,"},
    {"SplitsInMemory", is_small, 72, 72, 1600, "splits 5,", {.splits = 5}},
    {"SplitsInACluster", is_narrow, 72, 24, 1600, "cluster 3,", {.splits = 3, .sums = "cluster"}},
    {"SplitsOfTheLastWave", is_small, 40, 300, 1600, "splits 3 of the last 1 of 5 tiles", {.splits = 3, .target = 4}},
    {"LinesThatStartAnywhere", is_of_lines, 24, 40, 1601, "splits 3,", {.splits = 3, .is_loose = true}},
    {"RowsThatStartAnywhere", any_of(Family::cooperative, paths::loose_a), 72, 72, 1601, "splits 5,", {.splits = 5}},
    {"Pair", is_pair, 40, 40, 600, "splits 1,"},
    {"SplitsOfAPair", is_pair, 40, 40, 1600, "splits 5,", {.splits = 5}},
    {"SplitsOfTheLastWaveOfPairs", is_pair, 40, 104, 1600, "splits 3 of the last 1 of 4 tiles", {.splits = 3, .target = 6}},
    {"Single", any_of(Family::single, paths::tma), 40, 40, 1600, "splits 5,", {.splits = 5}},
    {"SingleInColumns", any_of(Family::single, paths::swap_ab), 40, 24, 1600, "splits 5,", {.splits = 5}},
    {"SingleOfLines", any_of(Family::single, paths::threads), 40, 40, 1601, "splits 5,", {.splits = 5, .is_loose = true}},
    {"Direct", is_direct, 40, 70, 1601, "splits 5,", {.splits = 5, .is_loose = true}},
    {"Warp", any_of(Family::warp, paths::threads), 40, 70, 1601, "splits 1,", {.is_loose = true}},
    {"DotAlongK", dot_of(Major::k), 5, 40, 5001, "splits 5,", {.splits = 5, .is_loose = true}},
    {"DotAlongN", dot_of(Major::mn), 5, 72, 2500, "splits 5,", {.splits = 5, .is_loose = true}},
    {"VectorsInMemory", is_of_vectors, 1, 10, 10001, "splits 5,", {.splits = 5, .is_loose = true}},
    {"VectorsInACluster", is_of_vectors, 1, 10, 10001, "cluster 5,", {.splits = 5, .sums = "cluster", .is_loose = true}},
    {"CopiedFirst", is_usual, 72, 40, 1601, "copied     A and B first", {.splits = 3, .target = 64, .is_loose = true, .is_copied = true}},
    {"SumsOfColumns", is_usual, 72, 1100, 264, "splits 1,", {.sums_columns = true}},
};
// clang-format on

// One call with operands of its own, of the same numbers as all others of its kind.
class Call {
 public:
  explicit Call(const GemmCase& gemm, bool sums_columns)
      : operands_(gemm), gemm_(gemm), call_(matmul_of(gemm_, operands_)) {
    if (!sums_columns) return;
    gradient_ =
        std::make_unique<GuardedBuffer>(Matrix(Dtype::f32, gemm.n, 1, gemm.n));  // starts as NaN
    call_.desc.biasGradientOf = BWGEMM_BIAS_GRADIENT_D_COLUMNS;
    call_.desc.biasGradient = gradient_->pointer();
  }
  Call(const Call&) = delete;

  void start(bwgemmHandle_t handle) const { EXPECT_TRUE(succeeds(matmul(handle, call_))) << gemm_; }

  void restore() {
    operands_.device_c().upload();
    if (gradient_ != nullptr) gradient_->upload();
  }
  // Waits for the device.
  std::vector<std::byte> bits() {
    std::vector<std::byte> all = operands_.device_c().download().bytes();
    if (gradient_ == nullptr) return all;
    const std::vector<std::byte>& sums = gradient_->download().bytes();
    all.insert(all.end(), sums.begin(), sums.end());
    return all;
  }
  void expect_result() { operands_.expect_result(); }

  std::string explained(bwgemmHandle_t handle) const {
    std::string text(1 << 16, '\0');
    EXPECT_TRUE(succeeds(explain(handle, call_, text.data(), text.size())));
    return text.substr(0, text.find("\nother"));
  }

  const Matrix& d() { return operands_.device_c().seen(); }
  const Matrix& gradient() const { return gradient_->seen(); }

 private:
  Operands operands_;
  const GemmCase gemm_;
  MatmulCall call_;
  std::unique_ptr<GuardedBuffer> gradient_;
};

class SameBits : public GpuTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Arch arch = device_arch();
    const auto found = std::ranges::find_if(kernel_variants, [&](const KernelConfig& row) {
      return row.arch == arch && kind().is(row);
    });
    if (found == kernel_variants.end()) GTEST_SKIP() << "another architecture has this kind";
    row_ = &*found;
    find_reference();
  }

  static const Kind& kind() { return kinds[GetParam()]; }
  GemmCase gemm(std::uint64_t seed) const {
    GemmCase gemm = gemm_of(*row_, kind().m, kind().n, kind().k, majors(row_->a).front(),
                            majors(row_->b).front());
    // Where rows of the kernel's A alone may start anywhere, that is the call's B.
    gemm = placed(gemm, kind().how.is_loose ? by_start : aligned,
                  kind().how.is_loose || has_loose_rows(*row_) ? by_both : aligned);
    gemm.seed = seed;
    gemm.fill = Fill::normal, gemm.fill_c = Fill::poison;
    gemm.output = Dtype::f32;  // no rounding hides the order
    gemm.ldc_extra = (4 - gemm.m % 4) % 4;
    return gemm;
  }
  std::unique_ptr<Call> new_call(std::uint64_t seed = 1) const {
    return std::make_unique<Call>(gemm(seed), kind().how.sums_columns);
  }
  std::unique_ptr<Handle> handle_on(const Stream& stream) const {
    const Variable kernel("BWGEMM_FORCE_KERNEL", std::string(kernel_name(*row_).view()));
    const Variable splits("BWGEMM_FORCE_SPLITS", std::to_string(kind().how.splits));
    const Variable sums("BWGEMM_FORCE_SUMS", kind().how.sums);
    const Variable operands("BWGEMM_FORCE_OPERANDS", kind().how.is_copied ? "copied" : "");
    const Variable tile_n("BWGEMM_FORCE_TILE_N", row_->tile.n == 0 ? "32" : "");
    auto handle = std::make_unique<Handle>();
    EXPECT_TRUE(succeeds(bwgemmSetSmCountTarget(handle->get(), kind().how.target)));
    EXPECT_TRUE(succeeds(bwgemmSetStream(handle->get(), stream.get())));
    return handle;
  }
  void expect_same(Call& call, const std::string& where) const {
    EXPECT_TRUE(call.bits() == reference_) << "other bits " << where;
  }

  const std::vector<std::byte>& reference() const { return reference_; }

 private:
  void find_reference() {
    const Stream stream;
    const auto handle = handle_on(stream);
    const auto call = new_call();
    EXPECT_NE(call->explained(handle->get()).find(kind().explained), std::string::npos)
        << call->explained(handle->get());
    call->start(handle->get());
    reference_ = call->bits();
    call->expect_result();
  }

  const KernelConfig* row_ = nullptr;
  std::vector<std::byte> reference_;
};

// The direct kernel adds three splits.
TEST_P(SameBits, AnotherOrderOfAdditionsGivesOthers) {
  const Arch arch = device_arch();
  const auto direct = std::ranges::find_if(kernel_variants, [&](const KernelConfig& row) {
    return row.arch == arch && row.family == Family::direct;
  });
  const Variable kernel("BWGEMM_FORCE_KERNEL", std::string(kernel_name(*direct).view()));
  const Variable splits("BWGEMM_FORCE_SPLITS", "3");
  const Handle handle;
  const auto call = new_call();
  call->start(handle.get());
  EXPECT_FALSE(call->bits() == reference());
  call->expect_result();
  if (!kind().how.sums_columns) return;
  const Matrix& d = call->d();
  bool differs = false;
  for (std::int64_t column = 0; column < d.columns(); ++column) {
    float sum = 0;
    for (std::int64_t row = 0; row < d.rows(); ++row) sum += d.get(row, column);
    differs = differs || sum != call->gradient().get(column, 0);
  }
  EXPECT_TRUE(differs) << "these sums are the same in any order";
}

TEST_P(SameBits, OnOtherStreams) {
  const Stream streams[2] = {Stream(CU_STREAM_DEFAULT), Stream()};
  const auto handle = handle_on(streams[0]), other = handle_on(streams[1]);
  const auto call = new_call();
  for (int i = 0; i < (small_scale() ? 3 : 20); ++i) {
    call->restore();
    const bwgemmHandle_t used = i % 4 == 2 ? other->get() : handle->get();
    ASSERT_TRUE(succeeds(bwgemmSetStream(used, i % 4 == 0 ? nullptr : streams[i % 2].get())));
    call->start(used);
    expect_same(*call, "in run " + std::to_string(i));
  }
}

TEST_P(SameBits, ReplayedFromAGraph) {
  const Stream stream, other;
  const auto handle = handle_on(stream);
  const auto call = new_call();
  check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
  call->start(handle->get());
  CUgraph captured = nullptr;
  check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
  const Graph graph(captured);
  for (int i = 0; i < (small_scale() ? 3 : 20); ++i) {
    call->restore();
    graph.launch(i % 2 == 0 ? stream.get() : other.get());
    expect_same(*call, "in replay " + std::to_string(i));
  }
}

// The same call on three streams, of two handles, one of which also has it of other numbers on a
// fourth, and a split product of a third handle on a fifth.
TEST_P(SameBits, BesideOtherWork) {
  const Stream streams[5];
  const auto handle = handle_on(streams[0]), other = handle_on(streams[2]);
  const Handle third;
  ASSERT_TRUE(succeeds(bwgemmSetStream(third.get(), streams[4].get())));
  const GemmCase load = split_case(1);
  const Operands loaded(load);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(new_call());
  const auto of_others = new_call(2);
  for (int round = 0; round < (small_scale() ? 3 : 20); ++round) {
    for (const auto& call : calls) call->restore();
    ASSERT_TRUE(succeeds(call(third.get(), load, loaded)));
    calls[2]->start(other->get());
    for (int i : {0, 3, 1}) {
      ASSERT_TRUE(
          succeeds(bwgemmSetStream(handle->get(), streams[static_cast<std::size_t>(i)].get())));
      (i == 3 ? of_others : calls[static_cast<std::size_t>(i)])->start(handle->get());
    }
    for (const auto& call : calls) expect_same(*call, "beside others");
  }
}

TEST_P(SameBits, FromAnotherThread) {
  CUcontext context = nullptr;
  check(driver().ctx_get_current(&context), "cuCtxGetCurrent");
  const Stream streams[2];
  const std::unique_ptr<Handle> handles[2] = {handle_on(streams[0]), handle_on(streams[1])};
  const std::unique_ptr<Call> calls[2] = {new_call(), new_call()};
  const auto repeat = [&](int which) {
    const CurrentContext scope(context);
    for (int i = 0; i < (small_scale() ? 1 : 20); ++i) calls[which]->start(handles[which]->get());
  };
  std::thread thread([&] { repeat(1); });
  repeat(0);
  thread.join();
  expect_same(*calls[0], "of this thread");
  expect_same(*calls[1], "of the other thread");
}

INSTANTIATE_TEST_SUITE_P(Kinds, SameBits, ::testing::Range(std::size_t{0}, kinds.size()),
                         [](const auto& info) { return kinds[info.param].name; });

}  // namespace
}  // namespace bwgemm::test
