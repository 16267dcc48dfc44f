// SPDX-License-Identifier: Apache-2.0
// PlanCache: the plans of one handle's calls, by everything of a call but addresses and the values
// of scalars, so that a warm call validates, selects and plans nothing: an equal call was legal
// before. Of bounded size; takes heap for a new plan, not for a known one. Settings that change
// plans are not in the key: their setters clear the cache.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "api/validate.h"
#include "launch/scratch.h"
#include "plan/copies.h"
#include "plan/plan.h"
#include "plan/sums.h"

namespace bwgemm {

// Every argument; of pointers whether they are null and their alignment, up to 256 bytes, and
// whether D is C; of scalars whether they are on the device or known zeros.
template <std::size_t count>
struct PlanKey {
  std::array<std::uint64_t, count> words;
  bool operator==(const PlanKey&) const = default;
};
using GemmKey = PlanKey<14>;
using MatmulKey = PlanKey<sizeof(bwgemmMatmulDesc_t) / sizeof(std::uint64_t) + 1>;

// Nothing for calls that launch nothing or lack a scalar. Each part of a divided call has its own.
std::optional<GemmKey> plan_key(const GemmArguments& arguments, bwgemmPointerMode_t pointer_mode,
                                int part = 0);
std::optional<MatmulKey> plan_key(const MatmulArguments& arguments,
                                  bwgemmPointerMode_t pointer_mode, int part = 0);

// Of C apart from D and of what the epilogue reads and writes: moving a plan does not change them.
using FixedAddresses = std::array<const void*, 5>;

// A plan with what differs from call to call: where the operands lie, the scalars, and scratch,
// which depends on the stream.
struct KnownPlan {
  Plan plan;
  CopiesPlan copies;   // in front of the product, at the beginning of its scratch
  SumsPlan sums;       // behind it, with the same scratch
  Choice choice;       // of the call; the rest is of one part of it
  Distances distance;  // from the call's operands to the part's
  ScratchNeed need;
  Scratch scratch;  // where it was made with copies; other calls have their own
  Origin origin;
  FixedAddresses fixed{};
  bool are_exchanged = false;  // the call's A is the plan's B
};

template <class Key>
class PlanCache {
 public:
  PlanCache() : sets_(std::make_unique<Set[]>(set_count)) {}

  // While it lives, no other thread uses or replaces the plan.
  struct Found {
    std::unique_lock<std::mutex> lock;
    KnownPlan* known;  // null: there is none
  };
  Found find(const Key& key);

  // How often it was cleared. A plan belongs to the generation that was read before anything was
  // chosen for it.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // In place of an equal key's, or of the plan of its set that was not used for longest. A plan of
  // an earlier generation is dropped: what it was chosen by no longer holds.
  void insert(const Key& key, const KnownPlan& known, std::uint64_t generation);
  void clear();

 private:
  static constexpr std::size_t set_count = 64;
  static constexpr std::size_t ways = 4;

  struct Entry {
    Key key;
    KnownPlan known;
  };
  struct alignas(64) Set {
    std::mutex mutex;
    std::uint64_t clock = 0;
    std::array<std::uint64_t, ways> last_use{};  // 0: empty
    std::array<std::uint64_t, ways> hashes{};
    std::array<std::unique_ptr<Entry>, ways> entries;
  };

  static std::optional<std::size_t> way_of(const Set& set, std::uint64_t hash, const Key& key);

  std::unique_ptr<Set[]> sets_;
  std::atomic<std::uint64_t> generation_{0};
};

// Calls of bwgemmMatmul have longer keys, which plain products are not to pay for.
struct Plans {
  PlanCache<GemmKey> gemm;
  PlanCache<MatmulKey> matmul;

  PlanCache<GemmKey>& of(const GemmArguments&) { return gemm; }
  PlanCache<MatmulKey>& of(const MatmulArguments&) { return matmul; }
  void clear() {
    gemm.clear();
    matmul.clear();
  }
};

}  // namespace bwgemm
