// SPDX-License-Identifier: Apache-2.0
// TMA: boxes of a tensor that move between global and shared memory on their own. An operation
// stays pending until the scheduler picks it, and proceeds row by row, in any order and in pieces.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "vgpu/machine/simulation.h"
#include "vgpu/operations/atomic.h"
#include "vgpu/tensor_map.h"

namespace bwgemm::vgpu {

// The address that a swizzle mode puts `address` to. Works on absolute shared addresses.
inline std::uint32_t swizzled(std::uint32_t address, Swizzle mode) {
  static constexpr std::uint32_t crossed[] = {0, 0x10, 0x30, 0x70};
  return address ^ (address >> 3 & crossed[static_cast<int>(mode)]);
}

// One box: where it lies in the tensor and in shared memory.
class Box {
 public:
  static constexpr std::uint32_t chunk_bytes = 16;

  Box(const TensorMapFields& map, const std::vector<std::int32_t>& coordinates,
      std::uint32_t shared_offset);

  std::uint32_t rows() const { return rows_; }
  std::uint32_t row_bytes() const { return row_bytes_; }
  std::uint32_t bytes() const { return rows_ * row_bytes_; }
  std::uint32_t offset() const { return offset_; }
  const TensorMapFields& map() const { return map_; }
  bool starts_before_the_tensor() const {
    return std::any_of(origin_.begin(), origin_.end(), [](std::int64_t at) { return at < 0; });
  }

  // The part of a row that lies inside the tensor: bytes [first, last) of the row at `address`.
  struct Inside {
    std::uint32_t first, last;
    std::uint64_t address;  // of byte `first`
  };
  Inside inside(std::uint32_t row) const;
  // How many rows, and of each how many bytes, lie inside of the tensor.
  std::pair<std::uint32_t, std::uint32_t> extent_inside() const;
  bool starts_off_a_line() const;
  std::uint64_t place() const;  // a number for where in which tensor it lies
  // Bytes of the box that a store writes behind a row which the tensor's end cuts: up to the end of
  // the 16-byte unit in which it ends.
  std::uint32_t bytes_behind(const Inside& inside) const {
    const bool is_cut = inside.first < inside.last && inside.last < row_bytes_;
    const std::uint64_t end = inside.address + (inside.last - inside.first);
    return is_cut ? static_cast<std::uint32_t>(-end % chunk_bytes) : 0;
  }
  // Calls visit(offset in shared memory, byte within the row) for each chunk of a row.
  template <class Visit>
  void for_each_chunk(std::uint32_t row, Visit visit) const {
    for (std::uint32_t byte = 0; byte < row_bytes_; byte += chunk_bytes)
      visit(swizzled(offset_ + row * row_bytes_ + byte, map_.swizzle), byte);
  }

 private:
  TensorMapFields map_;
  std::array<std::int64_t, TensorMapFields::max_rank> origin_{};
  std::uint32_t offset_, rows_ = 1, row_bytes_;
};

class TmaLoad : public AsyncTask {
 public:
  struct Target {
    std::uint32_t destinations;  // a bit per rank
    std::uint32_t barrier_address;
    bool pair;         // .cta_group::2
    bool from_shared;  // the box lies in the issuer's shared memory, not in global memory
  };

  static constexpr std::size_t most_ctas = 16;  // of a cluster

  TmaLoad(Simulation& simulation, Warp& warp, int lane, const Instruction& instruction, Box box,
          const Target& target);

  bool step() override;
  bool belongs_to(const Cluster& cluster) const override;
  void check_exit(const Cta& cta) override;
  Work work() const override;

 private:
  Cta& barrier_cta(std::uint32_t destination) const;
  MBarrier& barrier_of(std::uint32_t destination) const;
  void begin(Warp& warp, int lane);
  LaneMask next_destinations();
  void copy_row(std::uint32_t row, LaneMask destinations);
  void land(std::uint32_t destination);
  void judge_source(const Access& access, const MBarrier& barrier);
  const std::byte* source(const Box::Inside& inside);

  Simulation& simulation_;
  Cluster& cluster_;
  Cta& issuer_;
  const Instruction& instruction_;
  Box box_;
  Target target_;
  std::vector<std::uint32_t> order_;             // of rows
  bool is_together_;                             // all destinations get their rows at the same time
  LaneMask pending_;                             // destinations
  std::array<std::uint32_t, most_ctas> done_{};  // rows of each
};

// Reads its rows from shared memory, some time, and writes them to global memory, later.
class TmaStore : public AsyncTask {
 public:
  TmaStore(Simulation& simulation, Warp& warp, int lane, const Instruction& instruction, Box box,
           std::optional<Atomic> reduction);

  bool step() override;
  bool belongs_to(const Cluster& cluster) const override;
  void check_exit(const Cta& cta) override;
  Work work() const override;

 private:
  void begin();
  void read_row(std::uint32_t row);
  void write_row(std::uint32_t row);

  Simulation& simulation_;
  Warp& warp_;
  int lane_;
  const Instruction& instruction_;
  Box box_;
  std::optional<Atomic> reduction_;  // of what is there with what comes; else it is replaced
  std::uint32_t group_;
  std::vector<std::byte> rows_;
  std::vector<std::uint32_t> order_;
  std::uint32_t read_ = 0, written_ = 0;
};

}  // namespace bwgemm::vgpu
