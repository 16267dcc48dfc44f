// SPDX-License-Identifier: Apache-2.0
// PtxCase: a few lines of PTX in a kernel with everything declared, run on the virtual GPU. The
// body finds: %r0 thread, %rd0 address of `out` (a word per thread, zero), %rd1 address of a tensor
// map in the parameters, and 16 KiB of shared memory `smem`.
#pragma once

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "vgpu/machine.h"
#include "vgpu/tensor_map.h"

namespace bwgemm::vgpu {

inline std::string ptx_with_body(const std::string& body) {
  return R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])
{
.reg .pred %p<16>;
.reg .b16 %rs<16>;
.reg .b32 %r<128>;
.reg .f32 %f<32>;
.reg .b64 %rd<32>;
.shared .align 1024 .b8 smem[16384];
ld.param.u64 %rd0, [out];
mov.b64 %rd1, map;
cvta.param.u64 %rd1, %rd1;
mov.u32 %r0, %tid.x;
)" + body +
         "\nret;\n}\n";
}
inline constexpr int body_line = 16;  // of the text above: the body's first line

// (g++ 12 warns of additions of literals and strings for no reason.)
inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all.append(part);
  return all;
}

struct PtxCase {
  static constexpr std::size_t words = 4096;
  std::uint32_t threads = 32, ctas = 1, cluster = 1;
  std::uint64_t seed = 1;
  RunOptions options = {};
  TensorMapFields map = {};  // rank 0: none
  GlobalMemory memory = {};

  std::vector<Finding> findings = {};
  std::vector<std::uint32_t> out = {};

  // Of a kernel with this body, and a new `out` at `address`.
  LaunchRequest request_of(const std::string& body, std::uint64_t& address) {
    address = memory.allocate(words * 4);
    std::memset(memory.host(address, words * 4), 0, words * 4);
    memory.mark_initialised(address, words * 4);
    LaunchRequest request;
    request.module = Module::parse(ptx_with_body(body), "test");
    request.kernel = std::string("k");
    request.grid = {ctas};
    request.block = {threads};
    request.cluster_size = cluster;
    request.seed = seed;
    request.parameters.resize(192);
    std::memcpy(request.parameters.data(), &address, sizeof address);
    const TensorMapBytes map_bytes = encode(map);
    std::memcpy(request.parameters.data() + 64, map_bytes.data(), map_bytes.size());
    return request;
  }
  PtxCase& run(const std::string& body) {
    std::uint64_t address = 0;
    const LaunchRequest request = request_of(body, address);
    findings = vgpu::run(request, memory, options);
    out.resize(words);
    std::memcpy(out.data(), memory.host(address, words * 4), words * 4);
    return *this;
  }
  // Kinds of the findings, each once, in one string for short assertions.
  std::string kinds() const {
    std::set<std::string> kinds;
    for (const Finding& finding : findings) kinds.insert(finding.kind);
    std::string all;
    for (const std::string& kind : kinds) all += (all.empty() ? "" : " ") + kind;
    return all;
  }
};

inline std::string kinds_of(const std::string& body, std::uint32_t threads = 64) {
  PtxCase test;
  test.threads = threads;
  return test.run(body).kinds();
}

// The word that a thread of a body stores from %r9.
inline std::vector<std::uint32_t> words_of(const std::string& body, std::uint32_t threads = 32) {
  PtxCase test;
  test.threads = threads;
  test.run(body + R"(
    mul.wide.u32 %rd9, %r0, 4;
    add.s64 %rd9, %rd0, %rd9;
    st.global.u32 [%rd9], %r9;)");
  EXPECT_EQ(test.kinds(), "") << (test.findings.empty() ? "" : to_string(test.findings[0]));
  return test.out;
}

}  // namespace bwgemm::vgpu
