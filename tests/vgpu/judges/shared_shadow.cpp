// SPDX-License-Identifier: Apache-2.0
#include "vgpu/judges/shared_shadow.h"

#include <algorithm>

#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {

using Severity = Finding::Severity;

SharedShadow::SharedShadow(std::uint32_t bytes, std::uint32_t granule_bytes)
    : granule_bytes_(granule_bytes),
      granule_shift_(__builtin_ctz(granule_bytes)),
      lines_(new Line[bytes / line_bytes + 1]) {}

template <class Visit>
void SharedShadow::for_each_granule(std::uint32_t offset, std::uint32_t bytes, bool replaces,
                                    Visit visit) {
  vgpu::for_each_granule(
      first_granule(offset), end_granule(offset, bytes), granule_shift_, replaces,
      [&](std::uint32_t i) -> Line& { return line_of(i); },
      [&](Granule& granule, std::uint32_t i, std::uint32_t) { visit(granule, i); });
}

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

void SharedShadow::remember_read(const Access& access, const Epoch& now, Granule& granule) {
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
  *slot = now;
  if (same) slot->lane = Access::collective;  // by several lanes
}

bool SharedShadow::check_read(const Access& access, const Granule& granule, std::uint32_t i) {
  switch (granule.state) {
    case State::unwritten:
      complain(access, i, "uninitialised-shared", "of bytes that were never written");
      return false;
    case State::async_writing:
      race(access, i, "race", "while they are written by", granule.write);
      return false;
    case State::barrier: complain(access, i, "barrier-access", "of a live mbarrier"); return false;
    case State::generic:
      if (hazard(access, granule.write)) {
        race(access, i, "lane-race", "with no warp synchronisation since", granule.write);
        return false;
      }
      [[fallthrough]];
    case State::async_written:
    case State::reduced:
    case State::async_reduced:
      if (!ordered(access, granule.write)) {
        race(access, i, "race", "not ordered after", granule.write);
        return false;
      }
  }
  return true;
}

// Neighbouring granules are mostly alike: what was judged just now needs no second look. So below.
void SharedShadow::read(const Access& access, std::uint32_t offset, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= access.lane < warp_lanes ? 1u << access.lane : all_lanes;
  const Epoch now = epoch(access);
  if (Granule* const only = just(offset, bytes)) {
    if (check_read(access, *only, first_granule(offset))) remember_read(access, now, *only);
    return;
  }
  Judged judged;
  bool fine = true;
  for_each_granule(offset, bytes, false, [&](Granule& granule, std::uint32_t i) {
    if (fine && !judged.is(granule)) {
      fine = check_read(access, granule, i);
      judged = {granule.write, granule.state, true};
    }
    if (fine) remember_read(access, now, granule);
  });
}

bool SharedShadow::check_write(const Access& access, const Granule& granule, std::uint32_t i) {
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
  return check_reads(access, granule, i);
}

bool SharedShadow::check_reads(const Access& access, const Granule& granule, std::uint32_t i) {
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
  const auto is_over = [&](const AsyncReader& reader, std::uint32_t line) {
    if (reader.entity == 0 ||
        access.warp.knows(access.lane % warp_lanes, reader.entity, reader.time))
      return true;
    complain(access, line * line_bytes / granule_bytes_, "race",
             "over bytes that may still be read by " +
                 access.warp.simulation.entity_name(access.warp, reader.entity));
    return false;
  };
  for (std::uint32_t i = offset / line_bytes; i <= (offset + bytes - 1) / line_bytes; ++i) {
    const Line& line = lines_[i];
    if (!is_over(line.reader, i)) return false;
    for (const AsyncReader& reader : line.readers)
      if (!is_over(reader, i)) return false;
  }
  return true;
}

void SharedShadow::write(const Access& access, std::uint32_t offset, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= access.lane < warp_lanes ? 1u << access.lane : all_lanes;
  bool fine = check_async_readers(access, offset, bytes);
  const Granule now{epoch(access), {}, State::generic};
  if (Granule* const only = just(offset, bytes)) {
    if (fine) check_write(access, *only, first_granule(offset));
    if (only->state != State::barrier) *only = now;
    return;
  }
  Granule judged{};  // as nobody has touched it
  for_each_granule(offset, bytes, false, [&](Granule& granule, std::uint32_t i) {
    if (fine && granule != judged) {
      fine = check_write(access, granule, i);
      judged = granule;
    }
    if (granule.state != State::barrier) granule = now;
  });
}

void SharedShadow::reduce(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                          const Epoch& now, State to) {
  bool fine = check_async_readers(access, offset, bytes);
  for_each_granule(offset, bytes, false, [&](Granule& granule, std::uint32_t i) {
    const bool is_one_sum =
        granule.state == to && (to == State::reduced || (granule.write.entity == now.entity &&
                                                         granule.write.time == now.time));
    if (granule.state == State::unwritten) {
      if (fine) complain(access, i, "uninitialised-shared", "of bytes that were never written");
      fine = false;
    } else if (fine) {
      fine = is_one_sum ? check_reads(access, granule, i) : check_write(access, granule, i);
    }
    if (granule.state != State::barrier) granule = {now, {}, to};
  });
}

void SharedShadow::reduce(const Access& access, std::uint32_t offset, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= 1u << access.lane;
  reduce(access, offset, bytes, epoch(access), State::reduced);
}

void SharedShadow::reduce_async(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                                Entity barrier, Time phase) {
  if (!enabled()) return;
  Epoch now = epoch(access);
  now.entity = barrier;
  now.time = phase;
  reduce(access, offset, bytes, now, State::async_reduced);
}

const SharedShadow::Objection* SharedShadow::objection_to_async_read(const Access& access,
                                                                     const Granule& granule,
                                                                     const Clock& order,
                                                                     const Clock& async_order,
                                                                     Unwritten unwritten) const {
  static constexpr Objection before_phase{"race", "without having waited for the mbarrier phase of",
                                          true},
      during_write{"race", "while they are written by", true},
      unwritten_bytes{"uninitialised-shared", "of bytes that were never written", false},
      of_barrier{"barrier-access", "of a live mbarrier", false},
      between_lanes{"lane-race", "with no warp synchronisation since", true},
      unordered{"race", "not ordered after", true},
      no_fence{"proxy-fence", "with no fence.proxy.async since", true};
  const Epoch& write = granule.write;
  switch (granule.state) {
    case State::async_written:
    case State::async_reduced:
      return order.at(write.entity) >= write.time ? nullptr : &before_phase;
    case State::async_writing: return &during_write;
    case State::unwritten: return unwritten == Unwritten::poison ? nullptr : &unwritten_bytes;
    case State::barrier: return &of_barrier;
    case State::generic:
    case State::reduced:
      if (hazard(access, write)) return &between_lanes;
      if (write.entity != access.warp.entity && order.at(write.entity) < write.time)
        return &unordered;
      if (async_order.at(write.entity) < write.time) return &no_fence;
  }
  return nullptr;
}

bool SharedShadow::check_async_read(const Access& access, const Granule& granule, std::uint32_t i,
                                    const Clock& order, const Clock& async_order,
                                    Unwritten unwritten) {
  const Objection* const objection =
      objection_to_async_read(access, granule, order, async_order, unwritten);
  if (!objection) return true;
  if (objection->names_writer)
    race(access, i, objection->kind, objection->text, granule.write);
  else
    complain(access, i, objection->kind, objection->text);
  return false;
}

bool SharedShadow::may_read_whole(const Access& access, std::uint32_t offset, const Clock& order,
                                  const Clock& async_order, Unwritten unwritten,
                                  Judged& judged) const {
  const Granule& granule = lines_[offset / line_bytes].whole;
  if (objection_to_async_read(access, granule, order, async_order, unwritten)) return false;
  judged = {granule.write, granule.state, true};
  return true;
}

bool SharedShadow::async_read(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                              const Clock& order, const Clock& async_order, Unwritten unwritten) {
  Judged judged;
  return async_read(access, offset, bytes, order, async_order, unwritten, judged);
}

bool SharedShadow::async_read(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                              const Clock& order, const Clock& async_order, Unwritten unwritten,
                              Judged& judged) {
  if (!enabled()) return true;
  const std::uint32_t per_line = this->per_line(), end = end_granule(offset, bytes);
  for (std::uint32_t i = first_granule(offset); i < end;) {
    const Line& line = line_of(i);
    const Granule& granule = line.at(i, per_line);
    if (!judged.is(granule)) {
      if (!check_async_read(access, granule, i, order, async_order, unwritten)) return false;
      judged = {granule.write, granule.state, true};
    }
    i = line.behind(i, per_line);
  }
  return true;
}

void SharedShadow::begin_async_write(const Access& access, std::uint32_t offset,
                                     std::uint32_t bytes) {
  if (!enabled()) return;
  bool fine = check_async_readers(access, offset, bytes);
  const Granule now{epoch(access), {}, State::async_writing};
  Granule judged{};  // as nobody has touched it
  for_each_granule(offset, bytes, true, [&](Granule& granule, std::uint32_t i) {
    if (fine && granule != judged) {
      fine = check_write(access, granule, i);
      judged = granule;
    }
    granule = now;
  });
}

void SharedShadow::end_async_write(std::uint32_t offset, std::uint32_t bytes, Entity barrier,
                                   Time phase, bool is_generic) {
  if (!enabled()) return;
  for_each_granule(offset, bytes, false, [&](Granule& granule, std::uint32_t) {
    granule.write.entity = barrier;
    granule.write.time = phase;
    granule.state = is_generic ? State::generic : State::async_written;
  });
}

void SharedShadow::begin_barrier(const Access& access, std::uint32_t offset) {
  if (!enabled()) return;
  write(access, offset, 8);
  for_each_granule(offset, 8, false,
                   [](Granule& granule, std::uint32_t) { granule.state = State::barrier; });
}

void SharedShadow::end_barrier(const Access& access, std::uint32_t offset) {
  if (!enabled()) return;
  use_barrier(access, offset, false);
  const Granule now{epoch(access), {}, State::generic};
  for_each_granule(offset, 8, false, [&](Granule& granule, std::uint32_t) { granule = now; });
}

void SharedShadow::use_barrier(const Access& access, std::uint32_t offset, bool async) {
  if (!enabled()) return;
  const std::uint32_t i = first_granule(offset);
  const Granule& granule = this->granule(i);
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
