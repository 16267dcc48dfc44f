// SPDX-License-Identifier: Apache-2.0
#include "vgpu/judges/global_shadow.h"

#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {
namespace {

// Time of (cluster, entity) in a clock that belongs to `own`.
Time time_in(const Clock& clock, std::uint32_t own, std::uint32_t cluster, Entity entity) {
  return cluster == own ? clock.at(entity) : clock.at(cluster, entity);
}

void add_foreign(Clock::Foreign& to, std::uint32_t own, const Clock& clock) {
  Clock::join(to[own], clock.times());
  if (clock.foreign())
    for (const auto& [cluster, times] : *clock.foreign()) Clock::join(to[cluster], times);
}

void take(Clock& to, std::uint32_t own, const Clock::Foreign& from) {
  Clock::Foreign others = from;
  if (const auto mine = others.find(own); mine != others.end()) {
    Clock::join(to.times(), mine->second);
    others.erase(mine);
  }
  if (!others.empty()) to.join_foreign(others);
}

}  // namespace

GlobalShadow::Line& GlobalShadow::line_of(std::uint64_t granule) {
  const std::uint64_t line = line_number(granule), number = line / lines_per_page;
  if (number != last_page_) {
    Page& page = pages_[number];
    if (!page) page = std::make_unique<Line[]>(lines_per_page);
    last_page_ = number;
    last_lines_ = page.get();
  }
  return last_lines_[line % lines_per_page];
}

GlobalShadow::Epoch GlobalShadow::epoch(const GlobalAccess& access, Entity entity, Time time,
                                        bool async) const {
  const Instruction* code = access.warp.simulation.program().code.data();
  Epoch now{};
  now.cluster = access.warp.cta.cluster.index;
  now.entity = entity;
  now.lane = static_cast<std::uint32_t>(access.lane) & 63;
  now.strong = access.strong;
  now.async = async;
  now.time = time;
  now.code = static_cast<std::uint32_t>(access.instruction - code) & 0xffffff;
  now.synchronisations = access.warp.synchronisations;
  return now;
}

bool GlobalShadow::ordered(const Observer& observer, const Epoch& before) {
  const GlobalAccess& access = observer.access;
  const bool same_warp = before.cluster == observer.cluster && before.entity == access.warp.entity;
  if (same_warp && !observer.async)
    return static_cast<int>(before.lane) == access.lane ||
           before.synchronisations != access.warp.synchronisations;
  const Clock& clock =
      observer.async && !before.async ? observer.view.async_global : observer.view.generic;
  return time_in(clock, observer.cluster, before.cluster, before.entity) >= before.time;
}

void GlobalShadow::report(const GlobalAccess& access, std::uint64_t index,
                          const Epoch& before) const {
  Simulation& simulation = access.warp.simulation;
  const Instruction& other = simulation.program().code[before.code];
  simulation.findings().report(Finding::Severity::error, "global-race",
                               std::string(access.what) + " by " + access.warp.name() +
                                   " at global " + hexadecimal(index * granule_bytes_) +
                                   " not ordered after " + simulation.program().opcode(other) +
                                   " (ptx:" + std::to_string(other.line) + ") of cluster " +
                                   std::to_string(before.cluster),
                               access.instruction);
}

// Neighbouring granules are mostly alike: what was judged just now needs no second look.
void GlobalShadow::touch(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes,
                         const Epoch& now, bool writes) {
  const Observer observer{access, access.warp.knowledge.of_lane(access.lane).view, now.cluster,
                          now.async != 0};
  const bool is_early = records_early_ && observer.view.generic.at(Cluster::prerequisites) == 0;
  bool fine = true;  // one finding of an access says it
  Epoch judged{}, ordered_read{};
  const auto judge = [&](const Epoch& before, std::uint64_t index) {
    if (before.entity == 0 || before == judged || !fine) return;
    judged = before;
    if ((before.strong && access.strong) || ordered(observer, before)) return;
    fine = false;
    report(access, index, before);
  };
  const auto may_forget = [&](const Epoch& read) {
    if (read.entity == 0 || (read.cluster == now.cluster && read.entity == now.entity) ||
        read == ordered_read)
      return true;
    if (!ordered(observer, read)) return false;
    ordered_read = read;
    return true;
  };
  const auto visit = [&](Granule& granule, std::uint64_t index, std::uint32_t count) {
    if (is_early)
      for (std::uint64_t i = index; i < index + count; ++i)
        (writes ? early_[i].writes : early_[i].reads) = access.instruction;
    judge(granule.write, index);
    if (writes) {
      for (const Epoch& read : granule.reads) judge(read, index);
      granule = {now, {}};
    } else {
      granule.reads[may_forget(granule.reads[0]) ? 0 : 1] = now;
    }
  };
  const std::uint64_t first = address >> granule_shift_;
  const int shift = std::bit_width(bytes >> granule_shift_) - 1;
  const bool is_power = std::has_single_bit(bytes) && shift >= 0;
  Line& line = line_of(first);
  if (Granule* const only = is_power ? line.just(first, per_line(), shift) : nullptr) {
    // The next lanes' accesses are mostly behind this one.
    constexpr int ahead = 6;
    __builtin_prefetch(only + ahead, 1);
    __builtin_prefetch(&line + 1);
    return visit(*only, first, 1u << shift);
  }
  for_each_granule(
      first, ((address + bytes - 1) >> granule_shift_) + 1, granule_shift_, writes,
      [&](std::uint64_t i) -> Line& { return line_of(i); }, visit);
}

void GlobalShadow::read(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= 1u << access.lane;
  touch(access, address, bytes, epoch(access, access.warp.entity, access.warp.time, false), false);
}

void GlobalShadow::write(const GlobalAccess& access, std::uint64_t address, std::uint32_t bytes) {
  if (!enabled()) return;
  access.warp.accessed |= 1u << access.lane;
  touch(access, address, bytes, epoch(access, access.warp.entity, access.warp.time, false), true);
}

void GlobalShadow::async_read(const GlobalAccess& access, std::uint64_t address,
                              std::uint32_t bytes, Entity entity, Time time) {
  if (enabled()) touch(access, address, bytes, epoch(access, entity, time, true), false);
}

void GlobalShadow::async_write(const GlobalAccess& access, std::uint64_t address,
                               std::uint32_t bytes, Entity entity, Time time) {
  if (enabled()) touch(access, address, bytes, epoch(access, entity, time, true), true);
}

const GlobalShadow::Epoch* GlobalShadow::find(std::uint64_t address, std::uint32_t bytes,
                                              bool only_writes) const {
  for (std::uint64_t i = address >> granule_shift_; i <= (address + bytes - 1) >> granule_shift_;
       ++i) {
    const std::uint64_t number = line_number(i);
    const auto page = pages_.find(number / lines_per_page);
    if (page == pages_.end()) continue;
    const Granule& granule = page->second[number % lines_per_page].at(i, per_line());
    if (granule.write.entity != 0) return &granule.write;
    if (!only_writes && granule.reads[0].entity != 0) return &granule.reads[0];
  }
  return nullptr;
}

void GlobalShadow::judge_early(const GlobalShadow& before, const Program& theirs,
                               Findings& findings) const {
  if (!before.enabled()) return;
  for (const auto& [index, early] : early_)
    for (const Instruction* access : {early.reads, early.writes}) {
      if (!access) continue;
      const std::uint64_t address = index * granule_bytes_;
      const Epoch* theirs_at = before.find(address, granule_bytes_, access == early.reads);
      if (!theirs_at) continue;
      const Instruction& other = theirs.code[theirs_at->code];
      findings.report(Finding::Severity::error, "grid-race",
                      "access to global " + hexadecimal(address) +
                          " without griddepcontrol.wait, which " + theirs.info.name + ", " +
                          theirs.opcode(other) + " (ptx:" + std::to_string(other.line) +
                          "), uses before",
                      access);
    }
}

std::uint64_t GlobalShadow::domain(const Warp& warp, Scope scope) {
  switch (scope) {
    case Scope::cta: return (warp.cta.index + 1) << 2 | 1;
    case Scope::cluster: return std::uint64_t{warp.cta.cluster.index + 1} << 2 | 2;
    case Scope::gpu: return 0;
  }
  return 0;
}

// A wider scope includes the narrower ones of the same thread. So what is published at a scope goes
// to that domain and all smaller ones around the thread, and is looked for likewise.
void GlobalShadow::publish(const Warp& warp, std::uint64_t address, Scope scope, const View& view) {
  if (!enabled()) return;
  const std::uint32_t own = warp.cta.cluster.index;
  for (int narrower = 0; narrower <= static_cast<int>(scope); ++narrower) {
    Published& to = published_[address][domain(warp, static_cast<Scope>(narrower))];
    add_foreign(to.generic, own, view.generic);
    add_foreign(to.async, own, view.async);
    add_foreign(to.async_global, own, view.async_global);
  }
}

View GlobalShadow::published(const Warp& warp, std::uint64_t address, Scope scope) const {
  View view;
  const auto at = published_.find(address);
  if (at == published_.end()) return view;
  const std::uint32_t own = warp.cta.cluster.index;
  for (int narrower = 0; narrower <= static_cast<int>(scope); ++narrower) {
    const auto from = at->second.find(domain(warp, static_cast<Scope>(narrower)));
    if (from == at->second.end()) continue;
    take(view.generic, own, from->second.generic);
    take(view.async, own, from->second.async);
    take(view.async_global, own, from->second.async_global);
  }
  return view;
}

}  // namespace bwgemm::vgpu
