// SPDX-License-Identifier: Apache-2.0
// The ladder: its kernels by name. ladder/steps.h is their table; a step's file says what it adds.
#include "ladder/v1b.cuh"
#include "ladder/v3.cuh"
#include "ladder/v7.cuh"

using namespace bwgemm::ladder;

extern "C" __global__ void __launch_bounds__(v1a::shape.threads, 1)
    ladder_v1a(const __grid_constant__ Params params) {
  v1a::gemm<v1a::shape, v1a::Technique>(params);
}
extern "C" __global__ void __launch_bounds__(v1b::shape.threads, 1)
    ladder_v1b(const __grid_constant__ Params params) {
  v1a::gemm<v1b::shape, v1b::Technique>(params);
}
extern "C" __global__ void __launch_bounds__(v2a::shape.threads, 1)
    ladder_v2a(const __grid_constant__ Params params) {
  v1a::gemm<v2a::shape, v2a::Technique>(params);
}
extern "C" __global__ void __launch_bounds__(v2b::shape.threads, 1)
    ladder_v2b(const __grid_constant__ Params params) {
  v1a::gemm<v2b::shape, v2b::Technique>(params);
}
extern "C" __global__ void __launch_bounds__(v3::shape.threads, 1)
    ladder_v3(const __grid_constant__ Params params) {
  v3::gemm<v3::shape, v2b::Technique>(params);
}
extern "C" __global__ void __launch_bounds__(v4::shape.threads, 1)
    ladder_v4(const __grid_constant__ Params params) {
  v4::gemm<v4::shape, v2b::Technique>(params);
}
extern "C" __global__ void __cluster_dims__(v5::shape.ctas, 1, 1)
    __launch_bounds__(v5::shape.threads, 1) ladder_v5(const __grid_constant__ Params params) {
  v4::gemm<v5::shape, v5::Technique>(params);
}
extern "C" __global__ void __cluster_dims__(v6::shape.ctas, 1, 1)
    __launch_bounds__(v6::shape.threads, 1) ladder_v6(const __grid_constant__ Params params) {
  v6::gemm<v6::shape, v5::Technique>(params);
}
extern "C" __global__ void __cluster_dims__(v7::shape.ctas, 1, 1)
    __launch_bounds__(v7::shape.threads, 1) ladder_v7(const __grid_constant__ Params params) {
  v7::gemm<v7::shape, v7::Technique>(params);
}
