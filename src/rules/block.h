// SPDX-License-Identifier: Apache-2.0
// Block: what one k block of one CTA asks for, of the families that load operands by TMA.
#pragma once

namespace bwgemm {

struct Block {
  double flop;
  double bytes;        // of operands that arrive in shared memory, multicast ones included
  double sm_bytes;     // the same by the time that it takes an SM
  double l2_bytes;     // the same by L2's time; what CTAs of a cluster, or neighbours, share once
  double l2_delivers;  // and as bytes
  double line_requests = 0;  // for one line of L2, at about the same time, where that is many
};

// What predictions for a tile have in common, however many splits there are: a good part of the
// work. Empty for kernels without tensor maps.
struct WithoutSplits {
  double slowdown = 0;
  Block block = {};
};

}  // namespace bwgemm
