// SPDX-License-Identifier: Apache-2.0
// Plan: everything a launch needs except the stream: grid, cluster, and the parameters with their
// tensor maps. A value that holds no pointer into a handle. launch/ resolves the row to a function
// and launches it. With its Origin a plan can be moved to other operands of the same kind.
#pragma once

#include <cstdint>

#include "core/device_facts.h"
#include "core/kernel_config.h"
#include "core/problem.h"
#include "kernels/residues.h"
#include "kernels/shape.h"
#include "plan/tensor_map_cache.h"
#include "select/select.h"

namespace bwgemm {

// Device memory for a choice with splits or copies: see select's workspace_bytes() and
// arrival_count().
struct Scratch {
  float* partials = nullptr;
  std::uint32_t* arrivals = nullptr;
  CUevent last_use = nullptr;  // to be recorded behind the launches that use it; null: none
};

struct PlanContext {
  DeviceFacts facts;
  int sm_limit = 0;  // multiprocessors the call may occupy; 0: all
  // On the whole device: this kernel's clusters, and clusters of a CTA for each slice, where the
  // choice adds slices in clusters; 0 of the latter also where the driver does not say.
  int resident_clusters = 0, resident_slice_clusters = 0;
  TensorMapCache* maps = nullptr;
  Scratch scratch;
};

struct Plan {
  int row;
  KernelShape shape;
  int grid;     // CTAs
  int cluster;  // CTAs per cluster
  std::size_t params_bytes;
  ResidueParams params;  // without residues: only its KernelParams are filled

  Plan() = default;
  Plan(const Plan& other) { *this = other; }
  Plan& operator=(const Plan& other);  // copies what is filled
};

// Where the operands of a problem lie whose C is its D.
struct Addresses {
  const void *a = nullptr, *b = nullptr, *d = nullptr;
  bool operator==(const Addresses&) const = default;
};

// Bytes between addresses of one call.
struct Distances {
  std::uintptr_t a = 0, b = 0, d = 0;
};

inline Distances distances(const Addresses& from, const Addresses& to) {
  const auto between = [](const void* one, const void* other) {
    return reinterpret_cast<std::uintptr_t>(other) - reinterpret_cast<std::uintptr_t>(one);
  };
  return {between(from.a, to.a), between(from.b, to.b), between(from.d, to.d)};
}

inline Addresses operator+(const Addresses& from, const Distances& by) {
  const auto moved = [](const void* one, std::uintptr_t bytes) {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(one) + bytes);
  };
  return {moved(from.a, by.a), moved(from.b, by.b), moved(from.d, by.d)};
}

// What a plan was made from, as far as moving it takes.
struct Origin {
  Addresses addresses;           // as the kernel sees the problem
  bool is_transposed;            // the kernel sees it so
  bool is_movable;               // neither residues nor a C apart from D
  TensorMapKey a, b, d;          // of the plan's maps; rank 0: it has none
  std::uint32_t a_rest, b_rest;  // rows in the boxes of the rest maps; 0: they are a's and b's own
};

// Throws NOT_SUPPORTED if not even one cluster fits the device, INTERNAL_ERROR if a tensor map
// cannot be encoded. `config` is the row that `choice` names, the problem one it can serve.
Plan make_plan(const Problem& problem, const KernelConfig& config, const Choice& choice,
               const PlanContext& context, Origin* origin = nullptr);

// Makes it the plan of the problem at other addresses, aligned alike to 16 bytes; false, and
// nothing has happened, if only make_plan can. What it throws leaves the plan usable.
bool move_plan(Plan& plan, Origin& origin, const Addresses& to, TensorMapCache& maps);

}  // namespace bwgemm
