// SPDX-License-Identifier: Apache-2.0
// The judge of global memory: like that of shared memory, but across clusters, and with
// synchronisation through the memory itself: atomics and fences of a scope.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/judges/clocks.h"
#include "vgpu/judges/findings.h"
#include "vgpu/judges/shadow_line.h"
#include "vgpu/machine.h"
#include "vgpu/machine/warp.h"

namespace bwgemm::vgpu {

enum class Scope : int { cta, cluster, gpu };  // sys counts as gpu

// One access to global memory, for the judge.
struct GlobalAccess {
  Warp& warp;
  int lane;
  const Instruction* instruction;
  const char* what;
  bool strong = false;  // an atomic or relaxed access, which does not race with its like
};

class GlobalShadow {
 public:
  void enable(std::uint32_t granule_bytes) {
    granule_bytes_ = granule_bytes;
    granule_shift_ = __builtin_ctz(granule_bytes);
  }
  bool enabled() const { return granule_bytes_ != 0; }

  void read(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes);
  void write(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes);
  // What is known of the address is needed soon.
  void prefetch(std::uint64_t address) {
    if (enabled()) __builtin_prefetch(&line_of(address >> granule_shift_), 1);
  }
  // By the async proxy, ordered by `order`; lasts until (entity, time) of the access's cluster.
  void async_read(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes,
                  Entity entity, Time time);
  void async_write(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes,
                   Entity entity, Time time);

  // A strong access at `address` publishes `view` to, or takes what was published from, the threads
  // that the scope makes it share with.
  void publish(const Warp& warp, std::uint64_t address, Scope scope, const View& view);
  View published(const Warp& warp, std::uint64_t address, Scope scope) const;
  // What was accessed without having waited for the grids before, if there are any: must not touch
  // what one of them, by now at its end, wrote; nor write what it read.
  void judge_early(const GlobalShadow& before, const Program& theirs, Findings& findings) const;
  void record_early() { records_early_ = true; }

  // An ordinary write ends what was published there.
  void forget(std::uint64_t address) {
    if (!published_.empty()) published_.erase(address);
  }

 private:
  struct Epoch {
    std::uint32_t cluster;
    Entity entity;  // 0: none
    std::uint16_t synchronisations;
    Time time;
    std::uint32_t lane : 6, strong : 1, async : 1, code : 24;  // index of the instruction

    bool operator==(const Epoch& other) const {
      using Words = std::array<std::uint64_t, 2>;
      const auto one = std::bit_cast<Words>(*this), two = std::bit_cast<Words>(other);
      return ((one[0] ^ two[0]) | (one[1] ^ two[1])) == 0;
    }
  };
  // Who judges, with what it knows.
  struct Observer {
    const GlobalAccess& access;
    const View& view;
    std::uint32_t cluster;
    bool async;
  };
  struct Granule {
    Epoch write, reads[2];
  };
  struct alignas(64) Line : ShadowLine<Granule> {};  // one access to the host's memory
  static_assert(sizeof(Line) == 64);
  static constexpr int page_shift = 14;
  static constexpr std::uint64_t lines_per_page = 1 << (page_shift - shadow_line_shift);
  using Page = std::unique_ptr<Line[]>;

  // What threads of one domain (a CTA, a cluster, the GPU) published at an address, by cluster.
  struct Published {
    Clock::Foreign generic, async, async_global;
  };

  std::uint32_t per_line() const { return shadow_line_bytes >> granule_shift_; }
  std::uint64_t line_number(std::uint64_t granule) const {
    return granule >> (shadow_line_shift - granule_shift_);
  }
  Line& line_of(std::uint64_t granule);
  Epoch epoch(const GlobalAccess& access, Entity entity, Time time, bool async) const;
  static bool ordered(const Observer& observer, const Epoch& before);
  void report(const GlobalAccess& access, std::uint64_t index, const Epoch& before) const;
  void touch(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes,
             const Epoch& now, bool writes);
  static std::uint64_t domain(const Warp& warp, Scope scope);

  struct Early {
    const Instruction *reads = nullptr, *writes = nullptr;
  };
  // An access to [address, address + bytes), or only a write.
  const Epoch* find(std::uint64_t address, std::uint32_t bytes, bool only_writes) const;

  bool records_early_ = false;
  std::unordered_map<std::uint64_t, Early> early_;  // by granule
  std::uint32_t granule_bytes_ = 0;
  int granule_shift_ = 0;
  std::unordered_map<std::uint64_t, Page> pages_;
  std::uint64_t last_page_ = ~0ull;
  Line* last_lines_ = nullptr;
  std::unordered_map<std::uint64_t, std::map<std::uint64_t, Published>> published_;
};

}  // namespace bwgemm::vgpu
