// SPDX-License-Identifier: Apache-2.0
// The registers that a kernel only reads: who and where a thread is, and clocks. Time is the number
// of instructions that ran.
#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {
namespace {

using Lane = std::uint32_t;

std::uint32_t thread_of(const Warp& warp, Lane lane) {
  return warp.index * warp_lanes + lane;
}
const Dim3& block(const Warp& warp) {
  return warp.simulation.request().block;
}
const Dim3& grid(const Warp& warp) {
  return warp.simulation.request().grid;
}
std::uint32_t cluster_size(const Warp& warp) {
  return warp.simulation.cluster_size();
}

constexpr SpecialRegister table[] = {
    {"%tid.x", [](const Warp& w, Lane l) -> std::uint64_t { return thread_of(w, l) % block(w).x; }},
    {"%tid.y",
     [](const Warp& w, Lane l) -> std::uint64_t {
       return thread_of(w, l) / block(w).x % block(w).y;
     }},
    {"%tid.z",
     [](const Warp& w, Lane l) -> std::uint64_t {
       return thread_of(w, l) / block(w).x / block(w).y;
     }},
    {"%ntid.x", [](const Warp& w, Lane) -> std::uint64_t { return block(w).x; }},
    {"%ntid.y", [](const Warp& w, Lane) -> std::uint64_t { return block(w).y; }},
    {"%ntid.z", [](const Warp& w, Lane) -> std::uint64_t { return block(w).z; }},
    {"%ctaid.x", [](const Warp& w, Lane) -> std::uint64_t { return w.cta.position.x; }},
    {"%ctaid.y", [](const Warp& w, Lane) -> std::uint64_t { return w.cta.position.y; }},
    {"%ctaid.z", [](const Warp& w, Lane) -> std::uint64_t { return w.cta.position.z; }},
    {"%nctaid.x", [](const Warp& w, Lane) -> std::uint64_t { return grid(w).x; }},
    {"%nctaid.y", [](const Warp& w, Lane) -> std::uint64_t { return grid(w).y; }},
    {"%nctaid.z", [](const Warp& w, Lane) -> std::uint64_t { return grid(w).z; }},
    {"%laneid", [](const Warp&, Lane l) -> std::uint64_t { return l; }},
    {"%warpid", [](const Warp& w, Lane) -> std::uint64_t { return w.index; }},
    {"%smid", [](const Warp& w, Lane) -> std::uint64_t { return w.cta.index; }},
    {"%lanemask_lt", [](const Warp&, Lane l) -> std::uint64_t { return (1u << l) - 1; }},
    {"%lanemask_le", [](const Warp&, Lane l) -> std::uint64_t { return (2ull << l) - 1; }},
    {"%lanemask_eq", [](const Warp&, Lane l) -> std::uint64_t { return 1u << l; }},
    {"%cluster_ctarank", [](const Warp& w, Lane) -> std::uint64_t { return w.cta.rank; }},
    {"%cluster_nctarank", [](const Warp& w, Lane) -> std::uint64_t { return cluster_size(w); }},
    {"%cluster_ctaid.x", [](const Warp& w, Lane) -> std::uint64_t { return w.cta.rank; }},
    {"%cluster_nctaid.x", [](const Warp& w, Lane) -> std::uint64_t { return cluster_size(w); }},
    {"%clusterid.x",
     [](const Warp& w, Lane) -> std::uint64_t { return w.cta.position.x / cluster_size(w); }},
    {"%nclusterid.x",
     [](const Warp& w, Lane) -> std::uint64_t { return grid(w).x / cluster_size(w); }},
    {"%globaltimer",
     [](const Warp& w, Lane) -> std::uint64_t { return w.simulation.instructions(); }},
    {"%clock64", [](const Warp& w, Lane) -> std::uint64_t { return w.simulation.instructions(); }},
    {"%clock", [](const Warp& w, Lane) -> std::uint64_t { return w.simulation.instructions(); }},
};

}  // namespace

std::span<const SpecialRegister> special_registers() {
  return table;
}

}  // namespace bwgemm::vgpu
