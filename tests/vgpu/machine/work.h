// SPDX-License-Identifier: Apache-2.0
// Work: what an asynchronous operation is about to do next, as the timing mode sees it. Operations
// describe themselves; what it costs is the business of timing/timeline.cpp.
#pragma once

#include <cstdint>

namespace bwgemm::vgpu {

struct Cta;
struct Warp;

struct Work {
  enum class Kind : std::uint8_t {
    message,          // a few bytes, or a request, that travel
    load,             // TMA, global or shared memory to shared memory
    store_read,       // TMA: out of shared memory
    store_write,      // and to where they go
    multiply,         // wgmma of a warpgroup
    tensor_multiply,  // tcgen05.mma
    commit,           // behind all multiplications before
    copies,           // cp.async
  };
  Kind kind = Kind::message;
  Cta* cta = nullptr;              // the SM that does it
  Cta* peer = nullptr;             // and the one that helps (pairs of CTAs)
  const Warp* issuer = nullptr;    // null: nobody in particular
  double issued = 0;               // cycle; of operations that queue
  std::uint32_t destinations = 1;  // loads: a bit per rank of the cluster
  std::uint32_t bytes = 0;         // of all it moves for one destination, padding included
  std::uint32_t outside_rows = 0;  // loads: rows that lie outside of the tensor
  std::uint32_t inside_bytes = 0;  // what comes from, or goes to, global memory
  bool straddles = false;          // its rows begin in the middle of lines of L2
  std::uint64_t tensor = 0;        // address of the tensor in global memory; 0: shared memory
  std::uint64_t tensor_bytes = 0;
  std::uint64_t box = 0;                // loads: equal for equal parts of a tensor
  std::uint32_t rows = 0, columns = 0;  // of a box; multiplications: of D
  bool a_in_shared = true;
};

}  // namespace bwgemm::vgpu
