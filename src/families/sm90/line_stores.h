// SPDX-License-Identifier: Apache-2.0
// LineStores: the output role where TMA cannot store D, because rows of D start or end at any
// address. One warp copies boxes from the staging buffers to D, row by row, with ordinary stores.
// The epilogue uses the same ring and interface as with the output role of device/output.h. This
// role does not load C.
#pragma once

#include "device/epilogue.h"
#include "device/output.h"
#include "device/ptx/global_memory.h"
#include "device/ptx/shared_memory.h"
#include "families/sm90/cta.h"

namespace bwgemm::sm90 {

template <KernelConfig config>
class LineStores {
 public:
  BWGEMM_DEVICE LineStores(const KernelParams& params, const StagingBuffers& staging,
                           const OutputWindow& window, int number)
      : staging_(staging),
        window_(window),
        trace_(params, TraceRole::output, number, ptx::laneid() == 0) {
    Cursor offered;
    for (int i = 0; i < staging_.count; ++i, offered.advance(staging_.count)) offer(offered);
  }

  template <class Walk>
  BWGEMM_DEVICE void store(const KernelParams& params, const Walk& tiles) {
    OutputBoxes<Walk> box(params, window_, tiles);
    for (; box.valid(); box.advance(params)) {
      trace_(TraceEvent::wait_box);
      staging_.ring.empty(at_).wait(at_.phase);  // the epilogue's writes before the reads
      trace_(TraceEvent::store);
      copy(params, box);
      pass_on();
    }
  }

  // As that of device/output.h.
  BWGEMM_DEVICE std::uint32_t read_message(std::uint32_t address) {
    trace_(TraceEvent::wait_box);
    staging_.ring.empty(at_).wait(at_.phase);  // the message before its read
    const std::uint32_t message = ptx::ld_shared(address + 4 * at_.stage);
    pass_on();
    return message;
  }

  BWGEMM_DEVICE void finish() const {}

 private:
  static constexpr int line_bytes = staged_boxes(config).line_bytes;
  static constexpr int words = line_bytes / 4;
  static constexpr int lines_per_access = 32 / words;
  // At once: a power of two, so that the swizzle repeats. Lines that start alike may be every
  // second one of a buffer.
  static constexpr int most_accesses = 8;
  static constexpr int divisible = staged_boxes(config).lines / (2 * lines_per_access);
  static constexpr int accesses =
      (divisible & -divisible) < most_accesses ? divisible & -divisible : most_accesses;

  BWGEMM_DEVICE void pass_on() {
    __syncwarp();  // all lanes' reads before the arrival of one
    offer(at_);
    at_.advance(staging_.count);
  }
  BWGEMM_DEVICE void offer(const Cursor& at) const {
    if (ptx::laneid() == 0) ptx::mbarrier_arrive(staging_.ring.full(at).address);
    __syncwarp();
  }

  // What a box has of D, or every second of its lines.
  struct Lines {
    char* to;            // the first of them
    std::int64_t pitch;  // bytes from one to the next
    int first, end;      // in the buffer
    int left;            // elements that D has of each
  };

  // What a line starts with: a word of f32, a pair of 16-bit elements in an aligned word, or the
  // second element of one.
  enum class Start { word, pair, half };

  template <class Boxes>
  BWGEMM_DEVICE void copy(const KernelParams& params, const Boxes& box) const {
    const StridedMatrix& d = params.d;
    const std::int64_t bytes = size_bytes(params.d_type);
    const std::int64_t lines_of_d = window_.inner_is_m ? params.n : params.m,
                       line_length = window_.inner_is_m ? params.m : params.n;
    const int end = clipped(lines_of_d - box.outer(), window_.box_outer);
    const int left = clipped(line_length - box.inner(), line_bytes / static_cast<int>(bytes));
    if (left <= 0) return;
    const std::int64_t pitch = bytes * d.outer_stride;
    char* const to = static_cast<char*>(const_cast<void*>(d.data)) + bytes * box.inner() +
                     box.outer() * pitch + bytes * d.batch_stride * box.batch();
    const Lines lines{to, pitch, 0, end, left};
    if (bytes == 4) return copy_lines<Start::word, 1>(lines);
    const bool all_alike = (pitch & 2) == 0, starts_with_half = starts_in_a_word(to);
    if (!all_alike) {
      const Lines halves{starts_with_half ? to : to + pitch, 2 * pitch, starts_with_half ? 0 : 1,
                         end, left};
      const Lines pairs{starts_with_half ? to + pitch : to, 2 * pitch, starts_with_half ? 1 : 0,
                        end, left};
      copy_lines<Start::pair, 2>(pairs);
      copy_lines<Start::half, 2>(halves);
    } else if (starts_with_half) {
      copy_lines<Start::half, 1>(lines);
    } else {
      copy_lines<Start::pair, 1>(lines);
    }
    if (!all_alike || starts_with_half || left % 2 != 0) copy_lone_elements(lines);
  }

  // Whether a line of 16-bit elements starts at the second half of a word.
  BWGEMM_DEVICE static bool starts_in_a_word(const char* line) {
    return (reinterpret_cast<std::uintptr_t>(line) & 2) != 0;
  }

  // All words of D that lines have to themselves.
  template <Start start, int step>
  BWGEMM_DEVICE void copy_lines(const Lines& lines) const {
    constexpr int lines_at_once = accesses * lines_per_access * step;
    const Words<start> own(lines.left);
    char* to = lines.to + own.line * lines.pitch + own.bytes_before;
    int line = lines.first;
#pragma unroll 1
    for (; line + lines_at_once - step < lines.end; line += lines_at_once)
      copy_some<accesses, step>(own, lines, line, own.is_whole, to);
#pragma unroll 1
    for (; line < lines.end; line += lines_per_access * step)
      copy_some<1, step>(own, lines, line, own.is_whole && line + own.line * step < lines.end, to);
  }

  // What a lane has of each line: a word of D. Where lines start in the middle of one, that is two
  // halves of words of the buffer.
  template <Start start>
  struct Words {
    int word, line;
    int bytes_before;
    bool is_whole;  // D has all of it

    BWGEMM_DEVICE explicit Words(int left)
        : word(ptx::laneid() % words), line(ptx::laneid() / words) {
      constexpr int elements = start == Start::word ? 1 : 2, skipped = start == Start::half ? 1 : 0;
      const int first = elements * word + skipped;
      bytes_before = 4 * word + 2 * skipped;
      is_whole = first + elements <= left;
    }
  };

  // Lines that do not exist are read, and not stored: all lanes shuffle.
  template <int count, int step, Start start>
  BWGEMM_DEVICE void copy_some(const Words<start>& own, const Lines& lines, int line, bool stores,
                               char*& to) const {
    const std::uint32_t from =
        staging_.buffer(at_) +
        swizzled((line + own.line * step) * line_bytes + own.word * 4, line_bytes);
    std::uint32_t staged[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      // Lines that differ in these bits of their number alone: so do what the swizzle makes of
      // them.
      constexpr int distance = lines_per_access * step * line_bytes;
      const int swizzle = swizzled(i * distance, line_bytes) - i * distance;
      staged[i] = ptx::ld_shared((from ^ swizzle) + i * distance);
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      std::uint32_t value = staged[i];
      if constexpr (start == Start::half)
        value = __byte_perm(value, __shfl_down_sync(0xffffffff, value, 1), 0x5432);
      ptx::st_global_if(stores, to, value);
      to = ptx::add_s64(to, lines_per_access * lines.pitch);
    }
  }

  // Copies the 16-bit elements that share a word of D with another line: a line's first element if
  // it is the second of its word, its last element if that is the first of its word. A lane has a
  // line.
  BWGEMM_DEVICE void copy_lone_elements(const Lines& lines) const {
    const std::uint32_t buffer = staging_.buffer(at_);
#pragma unroll 1
    for (int line = ptx::laneid(); line < lines.end; line += 32) {
      char* const to = lines.to + line * lines.pitch;
      const auto copy_element = [&](bool is_alone, int element) {
        const std::uint32_t from = swizzled(line * line_bytes + 2 * element, line_bytes);
        ptx::st_global_u16_if(is_alone, to + 2 * element, ptx::ld_shared_u16(buffer + from));
      };
      const int before = starts_in_a_word(to) ? 1 : 0;
      copy_element(before != 0, 0);
      copy_element((lines.left - before) % 2 != 0, lines.left - 1);
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
