// SPDX-License-Identifier: Apache-2.0
// What work costs: each operation's way through the resources of its SM and of the chip.
#include <algorithm>
#include <cmath>

#include "vgpu/operations/memory_access.h"
#include "vgpu/timing/timeline.h"

namespace bwgemm::vgpu {
namespace {

constexpr double line_bytes = 128;

// Of columns, between measured numbers of them.
double between(double columns, double at_64, double at_128, double at_256) {
  if (columns <= 64) return at_64;
  if (columns <= 128) return at_64 + (at_128 - at_64) * (columns - 64) / 64;
  return at_128 + (at_256 - at_128) * (columns - 128) / 128;
}

}  // namespace

// The cycle at which it is done.
double Timeline::due(const Work& work) {
  switch (work.kind) {
    case Work::Kind::load: return load(work);
    case Work::Kind::store_read: {
      const double cycles = work.bytes / constants_.store_bytes_per_cycle;
      return sm(*work.cta).store.take(now, cycles) + cycles;
    }
    case Work::Kind::store_write: {
      const double bytes =
          work.inside_bytes * weight_ * (work.straddles ? constants_.write_straddle : 1);
      const double cycles = bytes / constants_.l2_bytes_per_cycle;
      hbm_.take(now, bytes * constants_.write_factor / constants_.hbm_bytes_per_cycle);
      return l2_.take(now, cycles) + cycles + constants_.store_latency;
    }
    case Work::Kind::multiply: return multiply(work);
    case Work::Kind::tensor_multiply: return tensor_multiply(work);
    case Work::Kind::commit: return now;
    case Work::Kind::copies: return work.issuer->timing->copies_ready;
    case Work::Kind::message: return now + constants_.shared_latency;
  }
  return now;
}

// Two SMs of a TPC that ask for the same at about the same time are served by one read of L2.
bool Timeline::merges(const Work& work) {
  if (cluster_size_ > 1) return false;
  Request& last = requests_[work.box + work.cta->place / 2];
  const bool is_neighbour =
      last.place == (work.cta->place ^ 1) + 1 && now - last.at < constants_.l2_merge_cycles;
  last = {is_neighbour ? 0 : work.cta->place + 1, now};
  return is_neighbour;
}

double Timeline::load(const Work& work) {
  Sm& of = sm(*work.cta);
  const double straddle = work.straddles ? constants_.l2_straddle : 1;
  const double box = std::max({constants_.tma_box_cycles, work.rows / constants_.tma_rows_per_cycle,
                               work.inside_bytes * straddle / constants_.tma_bytes_per_cycle}) +
                     work.outside_rows * constants_.tma_row_cycles;
  const double begin = of.tma.take(now, box);
  double arrival = begin + box;
  for_each_lane(work.destinations, [&](int rank) {
    const double cycles = work.inside_bytes / constants_.port_bytes_per_cycle;
    Sm& to = sm(*work.cta->cluster.ctas[rank]);
    arrival = std::max(arrival, to.port.take(begin, cycles) + cycles);
  });
  if (work.tensor == 0) return arrival + constants_.shared_latency;
  if (work.outside_rows > 0) {
    const double cycles = work.outside_rows * weight_ / constants_.outside_rows_per_cycle;
    arrival = std::max(arrival, outside_.take(begin, cycles) + cycles);
  }
  const double asked = work.inside_bytes * weight_;
  const double l2 = merges(work) ? 0 : asked * straddle / constants_.l2_bytes_per_cycle;
  arrival = std::max(arrival, l2_.take(begin, l2) + l2);
  double miss = 0;
  if (counts()) {
    Tensor& tensor = tensors_[work.tensor];
    tensor.asked += asked;
    tensor.bytes = static_cast<double>(work.tensor_bytes);
  } else if (const auto known = misses_->find(work.tensor); known != misses_->end()) {
    miss = known->second;
  }
  if (miss > 0) {
    const double hbm = asked * miss / constants_.hbm_bytes_per_cycle;
    arrival = std::max(arrival, hbm_.take(begin, hbm) + hbm);
  }
  return arrival + constants_.tma_latency + miss * constants_.hbm_latency;
}

void Timeline::note_product(Sm& of, const Work& work, double start, double free) {
  WarpTime& warp = *work.issuer->timing;
  if (of.first_product < 0) {
    of.first_product = start;
  } else if (start > free) {
    const auto most = std::max_element(warp.since_product.begin(), warp.since_product.end());
    if (*most > (start - free) / 2)
      of.idle_by_cause[most - warp.since_product.begin()] += start - free;
    else
      of.idle_computing += start - free;
  }
  warp.since_product.fill(0);
}

// Operands come from shared memory each time: 32 bytes of each row.
double Timeline::multiply(const Work& work) {
  const double read = ((work.a_in_shared ? work.rows : 0) + work.columns) * 32.0;
  const double cycles = std::max(work.columns * constants_.wgmma_column_cycles,
                                 read / constants_.shared_bytes_per_cycle);
  Sm& of = sm(*work.cta);
  const double free = of.tensor.free, start = of.tensor.take(now, cycles);
  note_product(of, work, start, free);
  return start + cycles;
}

double Timeline::tensor_multiply(const Work& work) {
  const bool pair = work.peer != nullptr;
  const double cycles = pair ? between(work.columns, constants_.pair_64_cycles,
                                       constants_.pair_128_cycles, constants_.pair_256_cycles)
                             : between(work.columns, constants_.tensor_64_cycles,
                                       constants_.tensor_128_cycles, constants_.tensor_256_cycles);
  Sm& of = sm(*work.cta);
  // It may have been issued, and have begun, before the operation in front of it was seen to end.
  const double free = of.tensor.free, start = of.tensor.take(work.issued, cycles);
  note_product(of, work, start, free);
  if (pair) {
    Sm& other = sm(*work.peer);
    other.tensor.take(start, cycles);
    if (other.first_product < 0) other.first_product = start;
  }
  return start + cycles;
}

// Lines that no thread has touched come from memory; what TMA wrote or read does not count.
double Timeline::global_access(Split& split, const Instruction& instruction, LaneMask mask,
                               bool loads) {
  Warp& warp = *split.warp;
  const bool copies = instructions_[split.pc].kind == InstructionTime::copy;
  const double vector = copies || instruction.list < 0
                            ? 1
                            : static_cast<double>(program_.lists[instruction.list].size());
  double lines = 0, fresh = 0;
  std::uint64_t last = ~0ull;
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address =
        copies ? lanes<std::uint64_t>(warp, instruction.b)[lane] +
                     static_cast<std::uint64_t>(std::int64_t{instruction.source_displacement})
               : address_of(warp, instruction, instruction.a, lane);
    const std::uint64_t line = address / static_cast<std::uint64_t>(line_bytes);
    if (line == last) return;
    last = line;
    ++lines;
    if (touched_.insert(line).second) ++fresh;
  });
  const double all = instruction.size * vector * __builtin_popcount(mask);
  const double bytes = std::min(all, lines * line_bytes), part = fresh / std::max(lines, 1.0);
  Sm& of = sm(warp.cta);
  const double l2 = bytes * weight_ / constants_.l2_bytes_per_cycle;
  const double hbm = bytes * part * weight_ / constants_.hbm_bytes_per_cycle;
  double done = l2_.take(now, l2) + l2;
  if (loads) {
    const double port = lines * line_bytes / constants_.port_bytes_per_cycle;
    done = std::max(done, of.port.take(now, port) + port);
  } else {
    // A line at a time leaves the SM; warps do not run ahead of their stores.
    const double cycles = std::max(lines, bytes / constants_.store_bytes_per_cycle);
    split.time = std::max(split.time, of.store.take(now, cycles));
  }
  if (part > 0) done = std::max(done, hbm_.take(now, hbm) + hbm);
  return done + constants_.global_latency + (loads && part > 0 ? constants_.hbm_latency : 0);
}

// What an instruction of threads asks of memory. Loads are waited for where their values are used.
void Timeline::access(Split& split, const Instruction& instruction, LaneMask mask) {
  Warp& warp = *split.warp;
  WarpTime& time = *warp.timing;
  Sm& of = sm(warp.cta);
  const auto registers = [&] {
    return instruction.list < 0 ? 1.0
                                : static_cast<double>(program_.lists[instruction.list].size());
  };
  const auto shared = [&](double bytes) {
    const double cycles = std::max(1.0, bytes / constants_.shared_bytes_per_cycle);
    return of.shared.take(now, cycles) + cycles + constants_.shared_latency;
  };
  // Of matrix moves the size is not said: 16 bits of 8 x 8 for each register.
  const double bytes =
      (instruction.size ? instruction.size : 4) * registers() * __builtin_popcount(mask);
  switch (instructions_[split.pc].kind) {
    case InstructionTime::atomic: saw_atomics_ = true; [[fallthrough]];
    case InstructionTime::load_global:
      time.loads_ready = std::max(time.loads_ready, global_access(split, instruction, mask, true));
      break;
    case InstructionTime::store_global: global_access(split, instruction, mask, false); break;
    case InstructionTime::copy:
      time.copies_ready =
          std::max(time.copies_ready, global_access(split, instruction, mask, true));
      ++time.loads;
      break;
    case InstructionTime::load_shared:
      time.loads_ready = std::max(time.loads_ready, shared(bytes));
      break;
    case InstructionTime::store_shared: shared(bytes); break;
    case InstructionTime::load_tensor: {
      const double cycles = bytes / constants_.tensor_load_bytes_per_cycle;
      const double start = of.tensor_load[warp.index % Sm::schedulers].take(now, cycles);
      time.tensor_loads_ready = start + cycles + constants_.tensor_load_latency;
      break;
    }
    case InstructionTime::wait_tensor:
      split.time = std::max(split.time, time.tensor_loads_ready);
      break;
    case InstructionTime::mma_sync: {
      const double start = of.tensor.take(now, constants_.mma_sync_cycles);
      time.loads_ready = std::max(time.loads_ready, start + constants_.mma_sync_cycles);
      if (of.first_product < 0) of.first_product = start;
      ++time.products;
      break;
    }
    case InstructionTime::product: ++time.products; break;
    case InstructionTime::bulk_load: ++time.loads; break;
    case InstructionTime::bulk_store: ++time.stores; break;
    default: break;
  }
}

}  // namespace bwgemm::vgpu
