// SPDX-License-Identifier: Apache-2.0
// The PTX instructions that the calibration kernels use, one a function, spelled as PTX spells
// them. Shared addresses are 32-bit.
#pragma once

#include <cstdint>

#define VGPU_DEVICE __device__ __forceinline__

namespace bwgemm {

// The 128 opaque bytes that cuTensorMapEncodeTiled writes.
struct alignas(64) TensorMap {
  std::uint64_t opaque[16];
};

}  // namespace bwgemm

namespace bwgemm::ptx {

// ---- mbarriers ----------------------------------------------------------------------------------

VGPU_DEVICE void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

VGPU_DEVICE void mbarrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

VGPU_DEVICE void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

VGPU_DEVICE bool mbarrier_try_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t done;
  asm volatile(
      "{\n"
      " .reg .pred done;\n"
      " mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%1], %2;\n"
      " selp.u32 %0, 1, 0, done;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// The address of the same shared variable in CTA `rank` of the cluster.
VGPU_DEVICE std::uint32_t mapa(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

// ---- shared memory ------------------------------------------------------------------------------

VGPU_DEVICE std::uint32_t ld_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

VGPU_DEVICE void ld_shared_v4(std::uint32_t address, std::uint32_t (&value)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

VGPU_DEVICE void st_shared(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

VGPU_DEVICE void st_shared_v4(std::uint32_t address, std::uint32_t v0, std::uint32_t v1,
                              std::uint32_t v2, std::uint32_t v3) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v0), "r"(v1), "r"(v2),
               "r"(v3)
               : "memory");
}

VGPU_DEVICE void stmatrix_m8n8_x2_trans(std::uint32_t address, std::uint32_t v0, std::uint32_t v1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(v0), "r"(v1)
               : "memory");
}

VGPU_DEVICE void stmatrix_m8n8_x4(std::uint32_t address, std::uint32_t v0, std::uint32_t v1,
                                  std::uint32_t v2, std::uint32_t v3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(v0), "r"(v1), "r"(v2), "r"(v3)
               : "memory");
}

VGPU_DEVICE void stmatrix_m8n8_x4_trans(std::uint32_t address, std::uint32_t v0, std::uint32_t v1,
                                        std::uint32_t v2, std::uint32_t v3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(v0), "r"(v1), "r"(v2), "r"(v3)
      : "memory");
}

// ---- fences and barriers ------------------------------------------------------------------------

VGPU_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

VGPU_DEVICE void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

VGPU_DEVICE void barrier_cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

VGPU_DEVICE void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

VGPU_DEVICE std::uint32_t cluster_ctarank() {
  std::uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// ---- TMA ----------------------------------------------------------------------------------------

VGPU_DEVICE void cp_async_bulk_tensor_3d(std::uint32_t destination, const TensorMap& map, int c0,
                                         int c1, int c2, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(barrier)
      : "memory");
}

VGPU_DEVICE void cp_async_bulk_tensor_3d_multicast(std::uint32_t destination, const TensorMap& map,
                                                   int c0, int c1, int c2, std::uint32_t barrier,
                                                   std::uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(destination),
      "l"(&map), "r"(c0), "r"(c1), "r"(c2), "r"(barrier), "h"(cta_mask)
      : "memory");
}

// How long L2 keeps lines: as others, or, of what streams by, no longer than it must.
VGPU_DEVICE std::uint64_t l2_policy(bool streams_by) {
  std::uint64_t first, normal;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(normal));
  return streams_by ? first : normal;
}

VGPU_DEVICE void cp_async_bulk_tensor_3d_store(const TensorMap& map, int c0, int c1, int c2,
                                               std::uint32_t source, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint "
      "[%0, {%1, %2, %3}], [%4], %5;" ::"l"(&map),
      "r"(c0), "r"(c1), "r"(c2), "r"(source), "l"(policy)
      : "memory");
}

VGPU_DEVICE void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// ---- matrices of a warp -------------------------------------------------------------------------

VGPU_DEVICE void ldmatrix_m8n8_x2_trans(std::uint32_t address, std::uint32_t (&value)[2]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(value[0]), "=r"(value[1])
               : "r"(address)
               : "memory");
}

VGPU_DEVICE void ldmatrix_m8n8_x4(std::uint32_t address, std::uint32_t (&value)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

VGPU_DEVICE void ldmatrix_m8n8_x4_trans(std::uint32_t address, std::uint32_t (&value)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address)
               : "memory");
}

VGPU_DEVICE void mma_m16n8k16_bf16_if(bool condition, float (&d)[4], const std::uint32_t (&a)[4],
                                      std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %10, 0;\n"
      " @condition mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1),
        "r"(static_cast<int>(condition)));
}

VGPU_DEVICE void mma_m16n8k16_f16_if(bool condition, float (&d)[4], const std::uint32_t (&a)[4],
                                     std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "{\n"
      " .reg .pred condition;\n"
      " setp.ne.b32 condition, %10, 0;\n"
      " @condition mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1),
        "r"(static_cast<int>(condition)));
}

// ---- matrices of a warpgroup --------------------------------------------------------------------

VGPU_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

VGPU_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
VGPU_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

template <int transpose_a, int transpose_b>
VGPU_DEVICE void wgmma_mma_async_bf16(float (&d)[4], std::uint64_t a, std::uint64_t b,
                                      bool accumulate) {
  asm volatile(
      "{\n"
      " .reg .pred accumulate;\n"
      " setp.ne.b32 accumulate, %6, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16\n"
      " {%0, %1, %2, %3},\n"
      " %4, %5, accumulate, 1, 1, %7, %8;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(static_cast<std::uint32_t>(accumulate)), "n"(transpose_a),
        "n"(transpose_b));
}

template <int transpose_a, int transpose_b>
VGPU_DEVICE void wgmma_mma_async_f16(float (&d)[4], std::uint64_t a, std::uint64_t b,
                                     bool accumulate) {
  asm volatile(
      "{\n"
      " .reg .pred accumulate;\n"
      " setp.ne.b32 accumulate, %6, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16\n"
      " {%0, %1, %2, %3},\n"
      " %4, %5, accumulate, 1, 1, %7, %8;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b), "r"(static_cast<std::uint32_t>(accumulate)), "n"(transpose_a),
        "n"(transpose_b));
}

template <int transpose_a, int transpose_b>
VGPU_DEVICE void wgmma_mma_async_f16(float (&d)[32], std::uint64_t a, std::uint64_t b,
                                     bool accumulate) {
  asm volatile(
      "{\n"
      " .reg .pred accumulate;\n"
      " setp.ne.b32 accumulate, %34, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n"
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,\n"
      "  %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31},\n"
      " %32, %33, accumulate, 1, 1, %35, %36;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(static_cast<std::uint32_t>(accumulate)), "n"(transpose_a),
        "n"(transpose_b));
}

template <int transpose_a, int transpose_b>
VGPU_DEVICE void wgmma_mma_async_f16(float (&d)[128], std::uint64_t a, std::uint64_t b,
                                     bool accumulate) {
  asm volatile(
      "{\n"
      " .reg .pred accumulate;\n"
      " setp.ne.b32 accumulate, %130, 0;\n"
      " wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16\n"
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,\n"
      "  %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,\n"
      "  %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,\n"
      "  %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,\n"
      "  %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,\n"
      "  %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,\n"
      "  %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "
      "%111,\n"
      "  %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127},\n"
      " %128, %129, accumulate, 1, 1, %131, %132;\n"
      "}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
        "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
        "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
        "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
        "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
        "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
        "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
        "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
        "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"(static_cast<std::uint32_t>(accumulate)), "n"(transpose_a),
        "n"(transpose_b));
}

}  // namespace bwgemm::ptx

namespace bwgemm::calibration {

// The descriptor of a K-major operand of wgmma: rows of 64 k of 16 bits, 128-byte swizzle, so that
// the next 8 rows are 1 KiB further.
constexpr std::uint64_t operand_descriptor(std::uint32_t address) {
  constexpr std::uint64_t swizzle_128b = 1, next_rows = 1024;
  constexpr std::uint32_t offset_in_cta = (1u << 18) - 1;
  return (address & offset_in_cta) >> 4 | next_rows >> 4 << 32 | swizzle_128b << 62;
}

}  // namespace bwgemm::calibration
