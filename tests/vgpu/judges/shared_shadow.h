// SPDX-License-Identifier: Apache-2.0
// The judge of shared memory: knows for every granule of a CTA's window who wrote it last, who read
// it since, and whether an asynchronous operation is at it. Every access is checked against what
// its thread knows; the verdict does not depend on when things happened to run.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/judges/clocks.h"
#include "vgpu/judges/shadow_line.h"
#include "vgpu/machine/warp.h"

namespace bwgemm::vgpu {

// An access under judgement: by whom, and what to call it.
struct Access {
  Warp& warp;
  int lane;  // collective: by all lanes together, such as the rows of stmatrix
  const Instruction* instruction;
  const char* what;

  static constexpr int collective = 32;
};

// What an asynchronous read of bytes that were never written is: a mistake, or poison that may go
// on into results which nobody keeps (junk or, under even seeds, NaN: keeping them shows).
enum class Unwritten { wrong, poison };

class SharedShadow {
 private:
  enum class State : std::uint8_t {
    unwritten,
    generic,
    async_written,
    async_writing,
    reduced,
    async_reduced,
    barrier
  };
  struct Epoch {
    Time time;
    Entity entity;  // 0: none
    std::uint16_t synchronisations;
    std::uint32_t code : 24, lane : 8;  // index of the instruction

    bool operator==(const Epoch&) const = default;
  };
  struct Granule {
    Epoch write;
    Epoch reads[2];  // the latest, of two entities
    State state;

    bool operator==(const Granule&) const = default;
  };

 public:
  // The last granule that one reader was found to come after: another with the same writer needs no
  // second look.
  class Judged {
   public:
    Judged() = default;

   private:
    friend class SharedShadow;
    Judged(const Epoch& write, State state, bool any) : write_(write), state_(state), any_(any) {}
    bool is(const Granule& granule) const {
      return any_ && granule.state == state_ && granule.write == write_;
    }
    Epoch write_{};
    State state_{};
    bool any_ = false;
  };

  SharedShadow() = default;
  SharedShadow(std::uint32_t bytes, std::uint32_t granule_bytes);
  bool enabled() const { return lines_ != nullptr; }
  static constexpr std::uint32_t line_bytes = shadow_line_bytes;
  // Judged in one piece, whatever part of the line is read.
  bool is_whole(std::uint32_t offset) const { return !lines_[offset / line_bytes].parts; }
  // Of such a line: needs no look after the one that was judged.
  bool is_judged(std::uint32_t offset, const Judged& judged) const {
    return judged.is(lines_[offset / line_bytes].whole);
  }

  void read(const Access& access, std::uint32_t offset, std::uint32_t bytes);
  void write(const Access& access, std::uint32_t offset, std::uint32_t bytes);

  // An atomic, which does not race with its like.
  void reduce(const Access& access, std::uint32_t offset, std::uint32_t bytes);
  // red.async: the sum belongs to a phase of a barrier, as what TMA wrote does.
  void reduce_async(const Access& access, std::uint32_t offset, std::uint32_t bytes, Entity barrier,
                    Time phase);

  // A read by the async proxy on behalf of the access's thread; `order` and `async_order` are what
  // it comes after. False: something was found. The bytes stay in use until (reader, time).
  bool async_read(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                  const Clock& order, const Clock& async_order,
                  Unwritten unwritten = Unwritten::wrong);
  bool async_read(const Access& access, std::uint32_t offset, std::uint32_t bytes,
                  const Clock& order, const Clock& async_order, Unwritten unwritten,
                  Judged& judged);
  // Whether it would find nothing, of a line that is_whole. Reports nothing.
  bool may_read_whole(const Access& access, std::uint32_t offset, const Clock& order,
                      const Clock& async_order, Unwritten unwritten, Judged& judged) const;
  void keep_until(std::uint32_t offset, std::uint32_t bytes, Entity reader, Time time) {
    if (!enabled() || bytes == 0) return;
    for (std::uint32_t line = offset / line_bytes; line <= (offset + bytes - 1) / line_bytes;
         ++line)
      keep_until(lines_[line], reader, time);
  }

  // A TMA load, from its issue to its last byte; what is written then belongs to a phase.
  void begin_async_write(const Access& access, std::uint32_t offset, std::uint32_t bytes);
  // With `is_generic` it is as if (barrier, phase) were a thread that wrote it.
  void end_async_write(std::uint32_t offset, std::uint32_t bytes, Entity barrier, Time phase,
                       bool is_generic = false);

  void begin_barrier(const Access& access, std::uint32_t offset);
  void end_barrier(const Access& access, std::uint32_t offset);
  // Uses of an mbarrier come after its initialisation; async ones after its fence as well.
  void use_barrier(const Access& access, std::uint32_t offset, bool async);

 private:
  struct AsyncReader {
    Entity entity;
    Time time;
  };

  Epoch epoch(const Access& access) const;
  bool ordered(const Access& access, const Epoch& before) const;
  // Two lanes of one warp, without a warp synchronisation between them.
  bool hazard(const Access& access, const Epoch& before) const;
  void remember_read(const Access& access, const Epoch& now, Granule& granule);
  bool check_read(const Access& access, const Granule& granule, std::uint32_t index);
  void race(const Access& access, std::uint32_t granule, const char* kind, const char* relation,
            const Epoch& before, Finding::Severity severity = Finding::Severity::error) const;
  void complain(const Access& access, std::uint32_t granule, const char* kind,
                const std::string& text) const;
  // What a reduction comes to; `now` is by whom, `to` the state it leaves.
  void reduce(const Access& access, std::uint32_t offset, std::uint32_t bytes, const Epoch& now,
              State to);
  bool check_write(const Access& access, const Granule& granule, std::uint32_t index);
  bool check_reads(const Access& access, const Granule& granule, std::uint32_t index);
  // Why a read is a finding; null: it is none.
  struct Objection {
    const char *kind, *text;
    bool names_writer;
  };
  const Objection* objection_to_async_read(const Access& access, const Granule& granule,
                                           const Clock& order, const Clock& async_order,
                                           Unwritten unwritten) const;
  bool check_async_read(const Access& access, const Granule& granule, std::uint32_t index,
                        const Clock& order, const Clock& async_order, Unwritten unwritten);
  bool check_async_readers(const Access& access, std::uint32_t offset, std::uint32_t bytes) const;
  std::uint32_t first_granule(std::uint32_t offset) const { return offset >> granule_shift_; }
  std::uint32_t end_granule(std::uint32_t offset, std::uint32_t bytes) const {
    return (offset + bytes + granule_bytes_ - 1) >> granule_shift_;
  }
  std::uint32_t per_line() const { return line_bytes >> granule_shift_; }

  struct Line : ShadowLine<Granule> {
    AsyncReader reader{};              // the first one
    std::vector<AsyncReader> readers;  // the others
  };
  static void keep_until(Line& line, Entity reader, Time time) {
    if (line.reader.entity == 0) line.reader.entity = reader;
    if (line.reader.entity == reader) {
      line.reader.time = std::max(line.reader.time, time);
      return;
    }
    for (AsyncReader& known : line.readers)
      if (known.entity == reader) {
        known.time = std::max(known.time, time);
        return;
      }
    line.readers.push_back({reader, time});
  }
  // The part for just these bytes, of a power of two; null: there is none.
  Granule* just(std::uint32_t offset, std::uint32_t bytes) {
    const int shift = std::countr_zero(bytes) - granule_shift_;
    const std::uint32_t first = first_granule(offset);
    return shift < 0 ? nullptr : line_of(first).just(first, per_line(), shift);
  }
  Line& line_of(std::uint32_t index) {
    return lines_[index << granule_shift_ >> shadow_line_shift];
  }
  const Granule& granule(std::uint32_t index) { return line_of(index).at(index, per_line()); }
  // As the function of this name, for the bytes [offset, offset + bytes).
  template <class Visit>
  void for_each_granule(std::uint32_t offset, std::uint32_t bytes, bool replaces, Visit visit);

  std::uint32_t granule_bytes_ = 4;
  int granule_shift_ = 2;
  std::unique_ptr<Line[]> lines_;
};

}  // namespace bwgemm::vgpu
