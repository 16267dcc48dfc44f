// SPDX-License-Identifier: Apache-2.0
// What the families' facts say of any kernel, in constant expressions: whether a config is valid,
// and the shape of its launches. families/registry.h has what selection and programs ask at run
// time.
#pragma once

#include "core/element.h"
#include "core/kernel_config.h"
#include "core/tiling.h"
#include "families/direct/facts.h"
#include "families/dot/facts.h"
#include "families/sm100/facts.h"
#include "families/sm90/facts.h"
#include "families/stationary/facts.h"
#include "families/warp/facts.h"
#include "rules/shape.h"

namespace bwgemm {

constexpr const FamilyFacts& facts_of(Family family) {
  switch (family) {
    case Family::cooperative: break;
    case Family::pair:
    case Family::single: return sm100::facts;
    case Family::direct: return direct::facts;
    case Family::dot: return dot::facts;
    case Family::warp: return warp::facts;
    case Family::stationary: return stationary::facts;
  }
  return sm90::facts;
}

constexpr const char* invalid_because(const KernelConfig& config) {
  if (!uses_tensor_memory(config) && config.choices != Sm100Choices{})
    return "choices are those of the sm100 families";
  return facts_of(config.family).invalid_because(config);
}

// `b`: the major of B, where the config leaves that to the launch.
constexpr KernelShape kernel_shape(const KernelConfig& config, int tile_n, Dtype d_type,
                                   Major b = Major::k) {
  KernelShape shape{};
  const ClusterTile tile = cluster_tile(config, tile_n);
  shape.tile_n = tile.n / config.cluster.n;
  shape.cluster_tile_m = tile.m;
  shape.cluster_tile_n = tile.n;
  shape.stages = config.stages;
  facts_of(config.family).fill_shape(config, d_type, b, shape);
  return shape;
}

}  // namespace bwgemm
