// SPDX-License-Identifier: Apache-2.0
// LineStores: the output role where TMA cannot store D, because its lines start or end anywhere: a
// warp that copies slices from staging buffers to D, line by line, with ordinary stores. To the
// epilogue it is what the role of kernels/output.h is; it loads no C.
#pragma once

#include "kernels/epilogue.h"
#include "kernels/output.h"
#include "kernels/ptx/global_memory.h"
#include "kernels/ptx/shared_memory.h"
#include "kernels/sm90/cta.h"
#include "kernels/tiles.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class LineStores {
 public:
  BWGEMM_DEVICE LineStores(const KernelParams& params, const StagingBuffers& staging,
                           const OutputWindow& window)
      : staging_(staging),
        window_(window),
        trace_(params, trace_output + threadIdx.x / 32 % 3, ptx::laneid() == 0) {
    Cursor offered;
    for (int i = 0; i < staging_.count; ++i, offered.advance(staging_.count)) offer(offered);
  }

  template <class Walk>
  BWGEMM_DEVICE void store(const KernelParams& params, const Walk& tiles) {
    OutputSlices<Walk> slice(params, window_, tiles);
    for (; slice.valid(); slice.advance(params)) {
      trace_(TraceEvent::wait_slice);
      staging_.ring.empty(at_).wait(at_.phase);  // the epilogue's writes before the reads
      trace_(TraceEvent::store);
      copy(params, slice);
      pass_on();
    }
  }

  // As that of kernels/output.h.
  BWGEMM_DEVICE std::uint32_t read_message(std::uint32_t address) {
    staging_.ring.empty(at_).wait(at_.phase);  // the message before its read
    const std::uint32_t message = ptx::ld_shared(address + 4 * at_.stage);
    pass_on();
    return message;
  }

  BWGEMM_DEVICE void finish() const {}

 private:
  static constexpr int line_bytes = staging_line_bytes(config);
  static constexpr int words = line_bytes / 4;
  static constexpr int lines_per_access = 32 / words;
  // At once, as registers allow. Lines that start alike may be every second one of a buffer.
  static constexpr int most_accesses =
      can_sum_in_cluster(config) && moves_registers(config) ? 2 : 8;
  static constexpr int accesses =
      largest_divisor(staging_lines(config) / (2 * lines_per_access), most_accesses);

  BWGEMM_DEVICE void pass_on() {
    __syncwarp();  // all lanes' reads before the arrival of one
    offer(at_);
    at_.advance(staging_.count);
  }
  BWGEMM_DEVICE void offer(const Cursor& at) const {
    if (ptx::laneid() == 0) ptx::mbarrier_arrive(staging_.ring.full(at).address);
    __syncwarp();
  }

  // What a line starts with: a word of f32, a pair of 16-bit elements in an aligned word, or the
  // second element of one.
  enum class Start { word, pair, half };

  // Lines that start alike: `to` the first of them, what every step-th is behind the first.
  struct Lines {
    char* to;
    std::int64_t pitch;  // bytes from one to the next
    int first, step, end;
    int left;  // elements that D has
  };

  template <class Slices>
  BWGEMM_DEVICE void copy(const KernelParams& params, const Slices& slice) const {
    const StridedMatrix& d = params.d;
    const std::int64_t bytes = size_bytes(params.d_type);
    const std::int64_t lines_of_d = window_.inner_is_m ? params.n : params.m,
                       line_length = window_.inner_is_m ? params.m : params.n;
    const int end = clipped(lines_of_d - slice.outer(), window_.slice_outer);
    const int left = clipped(line_length - slice.inner(), line_bytes / static_cast<int>(bytes));
    if (left <= 0) return;
    const std::int64_t pitch = bytes * d.outer_stride;
    char* line = static_cast<char*>(const_cast<void*>(d.data)) + bytes * slice.inner() +
                 slice.outer() * pitch + bytes * d.batch_stride * slice.batch();
    const int step = (pitch & 2) != 0 ? 2 : 1;
#pragma unroll 1
    for (int first = 0; first < step && first < end; ++first, line += pitch) {
      const Lines lines{line, step * pitch, first, step, end, left};
      if (bytes == 4)
        copy_lines<Start::word>(lines);
      else if ((reinterpret_cast<std::uintptr_t>(line) & 2) == 0)
        copy_lines<Start::pair>(lines);
      else
        copy_lines<Start::half>(lines);
    }
  }

  template <Start start>
  BWGEMM_DEVICE void copy_lines(const Lines& lines) const {
    constexpr int at_once = accesses * lines_per_access;
    const Elements<start> own(lines.left);
    char* to = lines.to + own.line * lines.pitch + own.bytes_before;
    int line = lines.first;
#pragma unroll 1
    for (; line + (at_once - 1) * lines.step < lines.end; line += at_once * lines.step)
      copy_some<accesses>(own, lines, line, true, to);
#pragma unroll 1
    for (; line < lines.end; line += lines_per_access * lines.step)
      copy_some<1>(own, lines, line, line + own.line * lines.step < lines.end, to);
  }

  // Of a lane in one line: an element of f32, or two that lie in one word of D. Where lines start
  // in the middle of one, these are its word's second and the next word's first; the line's first
  // element is alone.
  template <Start start>
  struct Elements {
    static constexpr bool are_two = start != Start::word;
    int word, line;
    int bytes_before;
    bool are_whole, is_cut;  // all of them exist, or one of two

    BWGEMM_DEVICE explicit Elements(int left)
        : word(ptx::laneid() % words), line(ptx::laneid() / words) {
      const int first = are_two ? 2 * word + (start == Start::half ? 1 : 0) : word;
      const int last = are_two ? first + 1 : first;
      bytes_before = first * (are_two ? 2 : 4);
      are_whole = last < left;
      is_cut = are_two && last == left;
    }
  };

  template <int count, Start start>
  BWGEMM_DEVICE void copy_some(const Elements<start>& own, const Lines& lines, int line,
                               bool exists, char*& to) const {
    const std::uint32_t buffer = staging_.buffer(at_);
    std::uint32_t staged[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int from = line + (i * lines_per_access + own.line) * lines.step;
      // Of lines that do not exist there is some other: all lanes shuffle.
      staged[i] = ptx::ld_shared(
          buffer + swizzled((exists ? from : line) * line_bytes + own.word * 4, line_bytes));
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      std::uint32_t value = staged[i];
      if constexpr (start == Start::half) {
        value = __byte_perm(value, __shfl_down_sync(0xffffffff, value, 1), 0x5432);
        ptx::st_global_u16_if(exists && own.word == 0, to - 2, staged[i]);
      }
      ptx::st_global_if(exists && own.are_whole, to, value);
      if constexpr (own.are_two) ptx::st_global_u16_if(exists && own.is_cut, to, value);
      to = ptx::add_s64(to, lines_per_access * lines.pitch);
    }
  }

  BWGEMM_DEVICE static int clipped(std::int64_t left, int most) {
    return left < most ? static_cast<int>(left) : most;
  }

  StagingBuffers staging_;
  OutputWindow window_;
  Cursor at_;
  Trace trace_;
};

}  // namespace bwgemm::sm90
