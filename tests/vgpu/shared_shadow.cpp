// SPDX-License-Identifier: Apache-2.0
#include "vgpu/shared_shadow.h"

#include <algorithm>

#include "vgpu/simulation.h"

namespace bwgemm::vgpu {

using Severity = Finding::Severity;

SharedShadow::SharedShadow(std::uint32_t bytes, std::uint32_t granule_bytes)
    : granule_bytes_(granule_bytes),
      granules_(bytes / granule_bytes + 1),
      async_readers_(bytes / line_bytes + 1) {}

SharedShadow::Epoch SharedShadow::epoch(const Access& access) const {
  const auto& code = access.warp.simulation.program().code;
  const auto index = static_cast<std::uint32_t>(access.instruction - code.data());
  return {access.warp.time, access.warp.entity, access.warp.synchronisations, index & 0xffffff,
          static_cast<std::uint32_t>(access.lane) & 0xff};
}

bool SharedShadow::ordered(const Access& access, const Epoch& before) const {
  return access.warp.knows(access.lane % warp_lanes, before.entity, before.time);
}

bool SharedShadow::hazard(const Access& access, const Epoch& before) const {
  return before.entity == access.warp.entity &&
         before.synchronisations == access.warp.synchronisations &&
         (static_cast<int>(before.lane) != access.lane || access.lane == Access::collective);
}

void SharedShadow::complain(const Access& access, std::uint32_t granule, const char* kind,
                            const std::string& text) const {
  access.warp.simulation.findings().report(Severity::error, kind,
                                           std::string(access.what) + " by " + access.warp.name() +
                                               " at shared " +
                                               hexadecimal(granule * granule_bytes_) + " " + text,
                                           access.instruction);
}

void SharedShadow::race(const Access& access, std::uint32_t granule, const char* kind,
                        const char* relation, const Epoch& before, Severity severity) const {
  Simulation& simulation = access.warp.simulation;
  const Instruction& other = simulation.program().code[before.code];
  simulation.findings().report(severity, kind,
                               std::string(access.what) + " by " + access.warp.name() +
                                   " at shared " + hexadecimal(granule * granule_bytes_) + " " +
                                   relation + " " + simulation.program().opcode(other) +
                                   " (ptx:" + std::to_string(other.line) + ") by " +
                                   simulation.entity_name(access.warp, before.entity),
                               access.instruction);
}

void SharedShadow::remember_read(const Access& access, Granule& granule) {
  // The slot of this warp, else a free one, else one that this read comes after.
  Epoch* slot = &granule.reads[1];
  for (Epoch& read : granule.reads)
    if (read.entity == access.warp.entity || read.entity == 0 || ordered(access, read)) {
      slot = &read;
      break;
    }
  const bool same = slot->entity == access.warp.entity &&
                    slot->synchronisations == access.warp.synchronisations &&
                    static_cast<int>(slot->lane) != access.lane;
  *slot = epoch(access);
  if (same) slot->lane = Access::collective;  // by several lanes
}

void SharedShadow::read(const Access& access, std::uint32_t offset, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= access.lane < warp_lanes ? 1u << access.lane : all_lanes;
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, bytes); ++i) {
    Granule& granule = granules_[i];
    switch (granule.state) {
      case State::unwritten:
        return complain(access, i, "uninitialised-shared", "of bytes that were never written");
      case State::async_writing:
        return race(access, i, "race", "while they are written by", granule.write);
      case State::barrier: return complain(access, i, "barrier-access", "of a live mbarrier");
      case State::generic:
        if (hazard(access, granule.write))
          return race(access, i, "lane-race", "with no warp synchronisation since", granule.write);
        [[fallthrough]];
      case State::async_written:
        if (!ordered(access, granule.write))
          return race(access, i, "race", "not ordered after", granule.write);
    }
    remember_read(access, granule);
  }
}

bool SharedShadow::check_write(const Access& access, std::uint32_t i) {
  const Granule& granule = granules_[i];
  const Epoch& before = granule.write;
  if (granule.state == State::async_writing) {
    race(access, i, "race", "while they are written by", before);
    return false;
  }
  if (granule.state == State::barrier) {
    complain(access, i, "barrier-access", "over a live mbarrier");
    return false;
  }
  if (granule.state == State::generic && hazard(access, before)) {
    race(access, i, "lane-race", "with no warp synchronisation since", before);
    return false;
  }
  if (granule.state != State::unwritten && !ordered(access, before)) {
    race(access, i, "race", "not ordered after", before);
    return false;
  }
  for (const Epoch& read : granule.reads) {
    if (read.entity == 0) continue;
    if (hazard(access, read)) {
      race(access, i, "lane-race", "with no warp synchronisation since", read, Severity::strict);
      return false;
    }
    if (!ordered(access, read)) {
      race(access, i, "race", "not ordered after", read);
      return false;
    }
  }
  return true;
}

bool SharedShadow::check_async_readers(const Access& access, std::uint32_t offset,
                                       std::uint32_t bytes) const {
  for (std::uint32_t line = offset / line_bytes; line <= (offset + bytes - 1) / line_bytes; ++line)
    for (const AsyncReader& reader : async_readers_[line])
      if (!access.warp.knows(access.lane % warp_lanes, reader.entity, reader.time)) {
        complain(access, line * line_bytes / granule_bytes_, "race",
                 "over bytes that may still be read by " +
                     access.warp.simulation.entity_name(access.warp, reader.entity));
        return false;
      }
  return true;
}

void SharedShadow::write(const Access& access, std::uint32_t offset, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= access.lane < warp_lanes ? 1u << access.lane : all_lanes;
  bool fine = check_async_readers(access, offset, bytes);
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, bytes); ++i) {
    if (fine) fine = check_write(access, i);
    if (granules_[i].state != State::barrier) granules_[i] = {epoch(access), {}, State::generic};
  }
}

bool SharedShadow::async_read(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                              const Clock& order, const Clock& async_order) {
  if (!enabled()) return true;
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, bytes); ++i) {
    const Granule& granule = granules_[i];
    const Epoch& write = granule.write;
    switch (granule.state) {
      case State::async_written:
        if (order.at(write.entity) >= write.time) continue;
        race(access, i, "race", "without having waited for the mbarrier phase of", write);
        return false;
      case State::async_writing:
        race(access, i, "race", "while they are written by", write);
        return false;
      case State::unwritten:
        complain(access, i, "uninitialised-shared", "of bytes that were never written");
        return false;
      case State::barrier:
        complain(access, i, "barrier-access", "of a live mbarrier");
        return false;
      case State::generic:
        if (hazard(access, write)) {
          race(access, i, "lane-race", "with no warp synchronisation since", write);
          return false;
        }
        if (write.entity != access.warp.entity && order.at(write.entity) < write.time) {
          race(access, i, "race", "not ordered after", write);
          return false;
        }
        if (async_order.at(write.entity) < write.time) {
          race(access, i, "proxy-fence", "with no fence.proxy.async since", write);
          return false;
        }
    }
  }
  return true;
}

void SharedShadow::keep_until(std::uint32_t offset, std::uint32_t bytes, Entity reader, Time time) {
  if (!enabled() || bytes == 0) return;
  for (std::uint32_t line = offset / line_bytes; line <= (offset + bytes - 1) / line_bytes;
       ++line) {
    auto& readers = async_readers_[line];
    const auto known = std::find_if(readers.begin(), readers.end(), [&](const AsyncReader& other) {
      return other.entity == reader;
    });
    if (known == readers.end())
      readers.push_back({reader, time});
    else
      known->time = std::max(known->time, time);
  }
}

void SharedShadow::begin_async_write(const Access& access, std::uint32_t offset,
                                     std::uint32_t bytes) {
  if (!enabled()) return;
  bool fine = check_async_readers(access, offset, bytes);
  const Epoch now = epoch(access);
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, bytes); ++i) {
    if (fine) fine = check_write(access, i);
    granules_[i] = {now, {}, State::async_writing};
  }
}

void SharedShadow::end_async_write(const Instruction* instruction, std::uint32_t offset,
                                   std::uint32_t bytes, Entity barrier, Time phase) {
  if (!enabled()) return;
  (void)instruction;
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, bytes); ++i) {
    Granule& granule = granules_[i];
    granule.write.entity = barrier;
    granule.write.time = phase;
    granule.state = State::async_written;
  }
}

void SharedShadow::begin_barrier(const Access& access, std::uint32_t offset) {
  if (!enabled()) return;
  write(access, offset, 8);
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, 8); ++i)
    granules_[i].state = State::barrier;
}

void SharedShadow::end_barrier(const Access& access, std::uint32_t offset) {
  if (!enabled()) return;
  use_barrier(access, offset, false);
  for (std::uint32_t i = offset / granule_bytes_; i < end_granule(offset, 8); ++i)
    granules_[i] = {epoch(access), {}, State::generic};
}

void SharedShadow::use_barrier(const Access& access, std::uint32_t offset, bool async) {
  if (!enabled()) return;
  const std::uint32_t i = offset / granule_bytes_;
  const Granule& granule = granules_[i];
  const Epoch& init = granule.write;
  const View& view = access.warp.knowledge.of_lane(access.lane % warp_lanes).view;
  if (init.entity != access.warp.entity && !ordered(access, init))
    race(access, i, "race", "not ordered after", init);
  else if (hazard(access, init))
    race(access, i, "lane-race", "with no warp synchronisation since", init);
  else if (async && view.async.at(init.entity) < init.time)
    race(access, i, "barrier-fence", "with no fence.mbarrier_init since", init);
}

}  // namespace bwgemm::vgpu
