// SPDX-License-Identifier: Apache-2.0
#include "vgpu/machine/cta.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "vgpu/asynchronous/wgmma.h"
#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {

Warp::Warp(Simulation& simulation, Cta& cta, std::uint32_t index)
    : simulation(simulation),
      cta(cta),
      index(index),
      registers(std::make_unique_for_overwrite<std::byte[]>(simulation.program().register_bytes)),
      predicates(simulation.program().predicates),
      entity(cta.cluster.new_entity(Cluster::EntityKind::warp, cta.rank, index)),
      tensor_entity(cta.cluster.new_entity(Cluster::EntityKind::tensor_loads, cta.rank, index)),
      register_count(simulation.program().launch_registers) {
  blocks = {registers.get(), cta.constants.data()};
  simulation.junk().fill(registers.get(), simulation.program().junk_bytes);
  simulation.junk().fill(reinterpret_cast<std::byte*>(predicates.data()),
                         predicates.size() * sizeof predicates[0]);
}

BulkGroups& Warp::bulk_groups(int lane) {
  if (!bulk[lane]) {
    bulk[lane] = std::make_unique<BulkGroups>();
    bulk[lane]->reads = cta.cluster.new_entity(Cluster::EntityKind::bulk, cta.rank, index);
    bulk[lane]->writes = cta.cluster.new_entity(Cluster::EntityKind::bulk, cta.rank, index);
  }
  return *bulk[lane];
}

void Warp::synchronise() {
  ++synchronisations;
  synchronised_at = time;
  accessed = 0;
  ++time;
  knowledge.share();
  fenced_at = knowledge.common().view.async.at(entity);
  tensor_fenced_at = knowledge.common().view.generic.at(tensor_entity);
  fenced_together = false;
}

View Warp::release(LaneMask mask) {
  View view = knowledge.gathered_view(mask);
  view.generic.raise(entity, time);
  if (accessed & ~mask) {
    // A few lanes do not publish what the others did since all were together.
    view.generic.lower(entity, synchronised_at);
    view.lower_async(entity, synchronised_at);
  }
  forget_fences_of_others(mask, view);
  ++time;
  return view;
}

void Warp::forget_fences_of_others(LaneMask mask, View& view) const {
  if (!fenced_together || mask == live) return;
  view.lower_async(entity, fenced_at);
  view.generic.lower(tensor_entity, tensor_fenced_at);
}

std::string Warp::name() const {
  return "CTA " + std::to_string(cta.index) + " warp " + std::to_string(index);
}

Cta::Cta(Simulation& simulation, Cluster& cluster, std::uint32_t rank, std::uint64_t index,
         std::uint32_t shared_bytes, std::uint32_t threads)
    : cluster(cluster),
      rank(rank),
      index(index),
      constants(simulation.program().constants),
      // NaN shows in every sum; what looks like an address, a count or a message is found by junk.
      shared(shared_bytes, simulation.request().seed % 2 != 0 ? simulation.junk().next() : nullptr),
      live_threads(threads),
      live_warps((threads + warp_lanes - 1) / warp_lanes) {
  const Dim3& grid = simulation.request().grid;
  position = {static_cast<std::uint32_t>(index % grid.x),
              static_cast<std::uint32_t>(index / grid.x % grid.y),
              static_cast<std::uint32_t>(index / grid.x / grid.y)};
  if (simulation.options().clocks)
    shadow = SharedShadow(shared_bytes, simulation.program().shared_granule);
  for (const auto& [offset, bytes] : simulation.program().shared_constants)
    for (int lane = 0; lane < warp_lanes; ++lane)
      constants[offset + lane * bytes + rank_shift / 8] = static_cast<std::byte>(rank);
  for (std::uint32_t warp = 0; warp < live_warps; ++warp) {
    warps.push_back(std::make_unique<Warp>(simulation, *this, warp));
    const std::uint32_t rest = threads - warp * warp_lanes;
    if (rest < warp_lanes) warps.back()->live = (1u << rest) - 1;
    if (warp % Warpgroup::warps == 0)
      warpgroups.push_back(std::make_unique<Warpgroup>(simulation, *this, warp));
    warps.back()->warpgroup = warpgroups.back().get();
  }
}

Cta::~Cta() = default;

Cluster::Cluster(std::uint32_t index, std::uint32_t size) : index(index), entities(3) {
  entities[barriers].kind = EntityKind::cluster_barrier;
  ctas.reserve(size);
}

Cluster::~Cluster() = default;

Entity Cluster::new_entity(EntityKind kind, std::uint32_t rank, std::uint32_t number) {
  entities.push_back({kind, rank, number});
  return static_cast<Entity>(entities.size() - 1);
}

void Cluster::forget_warps(Clock& clock, int except_rank) const {
  auto& times = clock.times();
  for (std::size_t i = 1; i < times.size(); ++i)
    if ((entities[i].kind == EntityKind::warp || entities[i].kind == EntityKind::copies) &&
        static_cast<int>(entities[i].rank) != except_rank)
      times[i] = 0;
  clock.forget_foreign();
}

}  // namespace bwgemm::vgpu
