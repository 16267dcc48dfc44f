// SPDX-License-Identifier: Apache-2.0
#include "vgpu/asynchronous/tma.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace bwgemm::vgpu {
namespace {

// Rows in blocks of random size and order; in order if nobody is adversarial.
std::vector<std::uint32_t> random_order(Simulation& simulation, std::uint32_t rows) {
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0u);
  if (!simulation.options().adversarial) return order;
  const std::uint32_t block = 1u << simulation.random(6);
  for (std::uint32_t i = 0; i + block <= rows; i += block) {
    const std::uint32_t other = simulation.random(rows / block) * block;
    if (other != i)
      std::swap_ranges(order.begin() + i, order.begin() + i + block, order.begin() + other);
  }
  return order;
}

std::uint32_t piece(Simulation& simulation, std::uint32_t rest) {
  if (!simulation.options().adversarial || rest <= 1 || simulation.chance(0.5)) return rest;
  return 1 + simulation.random(rest);
}

}  // namespace

Box::Box(const TensorMapFields& map, const std::vector<std::int32_t>& coordinates,
         std::uint32_t shared_offset)
    : map_(map), offset_(shared_offset), row_bytes_(map.box[0] * size_bytes(map.element)) {
  for (std::uint32_t i = 0; i < map.rank; ++i) {
    origin_[i] = coordinates[i];
    if (i > 0) rows_ *= map.box[i];
  }
}

Box::Inside Box::inside(std::uint32_t row) const {
  std::uint64_t address = map_.address;
  for (std::uint32_t i = 1; i < map_.rank; ++i) {
    const std::int64_t at = origin_[i] + row % map_.box[i];
    row /= map_.box[i];
    if (at < 0 || at >= static_cast<std::int64_t>(map_.extent[i])) return {0, 0, 0};
    address += static_cast<std::uint64_t>(at) * map_.stride[i - 1];
  }
  const std::int64_t element = size_bytes(map_.element);
  const auto extent = static_cast<std::int64_t>(map_.extent[0]);
  const std::int64_t first = std::max<std::int64_t>(origin_[0], 0);
  const std::int64_t last = std::min<std::int64_t>(origin_[0] + map_.box[0], extent);
  if (first >= last) return {0, 0, 0};
  return {static_cast<std::uint32_t>((first - origin_[0]) * element),
          static_cast<std::uint32_t>((last - origin_[0]) * element),
          address + static_cast<std::uint64_t>(first * element)};
}

std::pair<std::uint32_t, std::uint32_t> Box::extent_inside() const {
  const auto inside = [&](std::uint32_t i) {
    const std::int64_t first = std::max<std::int64_t>(origin_[i], 0);
    const std::int64_t last = std::min(origin_[i] + map_.box[i], std::int64_t(map_.extent[i]));
    return static_cast<std::uint32_t>(std::max<std::int64_t>(last - first, 0));
  };
  std::uint32_t rows = 1;
  for (std::uint32_t i = 1; i < map_.rank; ++i) rows *= inside(i);
  const std::uint32_t bytes = inside(0) * size_bytes(map_.element);
  return {bytes > 0 ? rows : 0, bytes};
}

bool Box::starts_off_a_line() const {
  constexpr std::uint64_t line_bytes = 128;
  const auto first = static_cast<std::uint64_t>(origin_[0]) * size_bytes(map_.element);
  return (map_.address + first) % line_bytes != 0 || map_.stride[0] % line_bytes != 0;
}

std::uint64_t Box::place() const {
  std::uint64_t number = map_.address;
  for (std::uint32_t i = 0; i < map_.rank; ++i)
    number = (number ^ static_cast<std::uint64_t>(origin_[i])) * 0x9e3779b97f4a7c15;
  return number;
}

TmaLoad::TmaLoad(Simulation& simulation, Warp& warp, int lane, const Instruction& instruction,
                 Box box, const Target& target)
    : simulation_(simulation),
      cluster_(warp.cta.cluster),
      issuer_(warp.cta),
      instruction_(instruction),
      box_(std::move(box)),
      target_(target),
      order_(random_order(simulation, box_.rows())),
      is_together_((target.destinations & (target.destinations - 1)) == 0 ||
                   !simulation.options().adversarial || simulation.chance(0.5)),
      pending_(target.destinations) {
  begin(warp, lane);
}

// With .cta_group::2 the barrier may be in either CTA of the destination's pair: that of the same
// parity as the CTA which the address names.
Cta& TmaLoad::barrier_cta(std::uint32_t destination) const {
  const std::uint32_t named = target_.barrier_address >> rank_shift;
  return *cluster_.ctas[target_.pair ? (destination & ~1u) | (named & 1) : destination];
}

MBarrier& TmaLoad::barrier_of(std::uint32_t destination) const {
  return find_mbarrier(simulation_, barrier_cta(destination), target_.barrier_address & offset_mask,
                       "a TMA load", &instruction_);
}

void TmaLoad::begin(Warp& warp, int lane) {
  bool first = true;
  for_each_lane(target_.destinations, [&](int rank) {
    const auto destination = static_cast<std::uint32_t>(rank);
    Cta& cta = *cluster_.ctas[destination];
    if (cta.exited)
      simulation_.findings().fatal("exited-peer", "a TMA load into a CTA that has exited",
                                   &instruction_);
    const MBarrier& barrier = barrier_of(destination);
    barrier_cta(destination)
        .shadow.use_barrier({warp, lane, &instruction_, "TMA's use of an mbarrier"},
                            target_.barrier_address & offset_mask, true);
    std::byte* to = simulation_.shared(cta, box_.offset(), box_.bytes(), 1, &instruction_);
    cta.shadow.begin_async_write({warp, lane, &instruction_, "TMA load"}, box_.offset(),
                                 box_.bytes());
    if (simulation_.options().adversarial)
      std::memset(to, static_cast<int>(Allocation::poison), box_.bytes());
    if (std::exchange(first, false)) judge_source({warp, lane, &instruction_, "TMA load"}, barrier);
  });
}

// The reads last until the barrier's phase is complete.
void TmaLoad::judge_source(const Access& access, const MBarrier& barrier) {
  if (target_.from_shared) {
    const View& view = access.warp.knowledge.of_lane(access.lane).view;
    const auto offset = static_cast<std::uint32_t>(box_.map().address);
    simulation_.shared(issuer_, offset, box_.bytes(), 1, &instruction_);
    issuer_.shadow.async_read(access, offset, box_.bytes(), view.generic, view.async);
    issuer_.shadow.keep_until(offset, box_.bytes(), barrier.entity, barrier.phase + 1);
    return;
  }
  GlobalShadow& shadow = simulation_.global_shadow();
  if (!shadow.enabled()) return;
  static thread_local std::vector<Box::Inside> rows;  // keeps its memory
  rows.clear();
  for (std::uint32_t row = 0; row < box_.rows(); ++row) {
    const Box::Inside inside = box_.inside(row);
    if (inside.first >= inside.last) continue;
    rows.push_back(inside);
    shadow.prefetch(inside.address);
  }
  for (const Box::Inside& inside : rows)
    shadow.async_read({access.warp, access.lane, access.instruction, access.what}, inside.address,
                      inside.last - inside.first, barrier.entity, barrier.phase + 1);
}

const std::byte* TmaLoad::source(const Box::Inside& inside) {
  if (inside.first >= inside.last) return nullptr;
  if (target_.from_shared) return &issuer_.shared[inside.address];
  const std::uint32_t bytes = inside.last - inside.first;
  const std::byte* from = simulation_.global(inside.address, bytes, false, &instruction_);
  simulation_.check_initialised(inside.address, bytes, &instruction_);
  return from;
}

bool TmaLoad::belongs_to(const Cluster& cluster) const {
  return &cluster == &cluster_;
}

void TmaLoad::check_exit(const Cta& cta) {
  const bool is_source = target_.from_shared && &cta == &issuer_;
  if (&cta.cluster == &cluster_ && ((pending_ >> cta.rank & 1) || is_source))
    simulation_.findings().fatal(
        "exited-peer",
        "CTA " + std::to_string(cta.index) + " exits while a TMA load into or from it is in flight",
        &instruction_);
}

void TmaLoad::copy_row(std::uint32_t row, LaneMask destinations) {
  const Box::Inside inside = box_.inside(row);
  const std::byte* from = source(inside);
  constexpr std::uint16_t nan = 0x7ff7;  // in elements of any size (seen on an H200, 2026-11-21)
  const std::uint16_t fill = box_.map().fill_nan ? nan : 0;
  box_.for_each_chunk(row, [&](std::uint32_t offset, std::uint32_t byte) {
    std::byte chunk[Box::chunk_bytes];
    const std::uint32_t end = byte + Box::chunk_bytes;
    if (byte >= inside.first && end <= inside.last) {
      std::memcpy(chunk, from + (byte - inside.first), sizeof chunk);
    } else {
      for (std::size_t i = 0; i < sizeof chunk; i += sizeof fill)
        std::memcpy(chunk + i, &fill, sizeof fill);
      const std::uint32_t first = std::max(byte, inside.first), last = std::min(end, inside.last);
      if (first < last)
        std::memcpy(chunk + (first - byte), from + (first - inside.first), last - first);
    }
    for_each_lane(destinations, [&](int rank) {
      std::memcpy(&cluster_.ctas[rank]->shared[offset], chunk, sizeof chunk);
    });
  });
}

// The last row is in: the bytes belong to the barrier's phase.
void TmaLoad::land(std::uint32_t destination) {
  const MBarrier& barrier = barrier_of(destination);
  cluster_.ctas[destination]->shadow.end_async_write(box_.offset(), box_.bytes(), barrier.entity,
                                                     barrier.phase + 1);
}

// Of a multicast: all, or any one of those that still wait for rows.
LaneMask TmaLoad::next_destinations() {
  if (is_together_) return pending_;
  LaneMask rest = pending_;
  for (auto skipped = simulation_.random(static_cast<std::uint32_t>(__builtin_popcount(rest)));
       skipped > 0; --skipped)
    rest &= rest - 1;
  return rest & -rest;
}

bool TmaLoad::step() {
  const LaneMask destinations = next_destinations();
  std::uint32_t& done = done_[static_cast<std::size_t>(__builtin_ctz(destinations))];
  const std::uint32_t count = piece(simulation_, box_.rows() - done);
  for (std::uint32_t i = 0; i < count && !simulation_.is_timed(); ++i)
    copy_row(order_[done + i], destinations);
  done += count;
  const bool is_complete = done == box_.rows();
  if (is_complete) pending_ &= ~destinations;
  for_each_lane(destinations, [&](int rank) {
    const auto destination = static_cast<std::uint32_t>(rank);
    MBarrier& barrier = barrier_of(destination);
    for (Cta* touched : {cluster_.ctas[destination].get(), &barrier_cta(destination)})
      if (touched != &issuer_) touched->remote_accesses.raise(barrier.entity, barrier.phase + 1);
    if (is_complete) land(destination);
    complete_transactions(simulation_, barrier, std::int64_t{count} * box_.row_bytes(),
                          &instruction_);
  });
  return pending_ != 0;
}

Work TmaLoad::work() const {
  const auto [rows, bytes] = box_.extent_inside();
  const TensorMapFields& map = box_.map();
  Work work{.kind = Work::Kind::load, .cta = &issuer_};
  work.destinations = target_.destinations;
  work.bytes = box_.bytes();
  work.rows = box_.rows();
  work.outside_rows = box_.rows() - rows;
  work.inside_bytes = rows * bytes;
  if (target_.from_shared) return work;
  work.straddles = box_.starts_off_a_line();
  work.tensor = map.address;
  work.box = box_.place();
  work.tensor_bytes = size_bytes(map.element);
  for (std::uint32_t i = 0; i < map.rank; ++i) work.tensor_bytes *= map.extent[i];
  return work;
}

TmaStore::TmaStore(Simulation& simulation, Warp& warp, int lane, const Instruction& instruction,
                   Box box, std::optional<Atomic> reduction)
    : simulation_(simulation),
      warp_(warp),
      lane_(lane),
      instruction_(instruction),
      box_(std::move(box)),
      reduction_(reduction),
      group_(warp.bulk_groups(lane).open_number()),
      rows_(box_.bytes()),
      order_(random_order(simulation, box_.rows())) {
  begin();
}

void TmaStore::begin() {
  BulkGroups& groups = warp_.bulk_groups(lane_);
  ++groups.open.operations;
  ++groups.open.reading;
  ++groups.open.writing;
  simulation_.shared(warp_.cta, box_.offset(), box_.bytes(), 1, &instruction_);
  SharedShadow& shadow = warp_.cta.shadow;
  const View& view = warp_.knowledge.of_lane(lane_).view;
  shadow.async_read({warp_, lane_, &instruction_, "TMA store"}, box_.offset(), box_.bytes(),
                    view.generic, view.async);
  shadow.keep_until(box_.offset(), box_.bytes(), groups.reads, group_);
  if (!simulation_.global_shadow().enabled()) return;
  const bool is_atomic = reduction_.has_value();
  for (std::uint32_t row = 0; row < box_.rows(); ++row) {
    const Box::Inside inside = box_.inside(row);
    if (inside.first < inside.last)
      simulation_.global_shadow().async_write(
          {warp_, lane_, &instruction_, "TMA store", is_atomic}, inside.address,
          inside.last - inside.first + box_.bytes_behind(inside), groups.writes, group_);
  }
}

bool TmaStore::belongs_to(const Cluster& cluster) const {
  return &cluster == &warp_.cta.cluster;
}

void TmaStore::check_exit(const Cta& cta) {
  if (&cta == &warp_.cta && read_ < box_.rows())
    simulation_.findings().fatal(
        "bulk-exit",
        "CTA " + std::to_string(cta.index) + " exits while a TMA store reads its shared memory",
        &instruction_);
}

void TmaStore::read_row(std::uint32_t row) {
  box_.for_each_chunk(row, [&](std::uint32_t offset, std::uint32_t byte) {
    std::memcpy(&rows_[row * box_.row_bytes() + byte], &warp_.cta.shared[offset], Box::chunk_bytes);
  });
}

void TmaStore::write_row(std::uint32_t row) {
  const Box::Inside inside = box_.inside(row);
  if (inside.first >= inside.last) return;
  const std::uint32_t bytes = inside.last - inside.first + box_.bytes_behind(inside);
  const std::byte* from = &rows_[row * box_.row_bytes() + inside.first];
  std::byte* to = simulation_.global(inside.address, bytes, true, &instruction_);
  if (reduction_) {
    simulation_.check_initialised(inside.address, bytes, &instruction_);
    reduction_->apply(to, from, bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

bool TmaStore::step() {
  BulkGroups& groups = warp_.bulk_groups(lane_);
  const bool reads = read_ < box_.rows();
  std::uint32_t& done = reads ? read_ : written_;
  const std::uint32_t count = piece(simulation_, box_.rows() - done);
  for (std::uint32_t i = 0; i < count && !simulation_.is_timed(); ++i) {
    if (reads)
      read_row(order_[done + i]);
    else
      write_row(order_[done + i]);
  }
  done += count;
  if (done == box_.rows()) {
    BulkGroups::Group& group = groups.group(group_);
    --(reads ? group.reading : group.writing);
    simulation_.wake_all(groups.sleepers);
  }
  return written_ < box_.rows();
}

Work TmaStore::work() const {
  const auto [rows, bytes] = box_.extent_inside();
  Work work{.kind = read_ < box_.rows() ? Work::Kind::store_read : Work::Kind::store_write,
            .cta = &warp_.cta};
  work.bytes = box_.bytes();
  work.inside_bytes = rows * bytes;
  work.straddles = box_.starts_off_a_line();
  return work;
}

}  // namespace bwgemm::vgpu
