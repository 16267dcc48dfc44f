// SPDX-License-Identifier: Apache-2.0
// Streams and events: what callers order their work by. enqueue() is the only way into a stream; it
// knows the rules of the legacy default stream and of streams being captured.
#pragma once

#include <memory>
#include <vector>

#include "vgpu/driver/capture.h"
#include "vgpu/driver/handles.h"
#include "vgpu/driver/schedule.h"

namespace bwgemm::vgpu::driver {

struct Context;

inline constexpr int most_urgent_priority = -5;

struct Stream {
  enum class Kind { created, legacy, per_thread };

  Stream(Context& of, Kind kind_of, unsigned flags_of, int priority_of);
  CUstream handle() const { return reinterpret_cast<CUstream>(const_cast<Stream*>(this)); }
  // Implicitly ordered with the legacy stream.
  bool is_blocking() const { return kind != Kind::legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }

  Context* context;
  Kind kind;
  unsigned flags;
  int priority;
  unsigned long long id;
  Ticket last;                       // what was put into it last
  std::shared_ptr<Capture> capture;  // null: it is not being captured
  std::vector<Node*> tail;           // in a capture: what the next node comes after
};

struct Event {
  Context* context;
  unsigned flags;
  bool is_recorded = false;
  Ticket ticket;                   // of the last record outside of a capture
  std::weak_ptr<Capture> capture;  // of the last record, if inside of one
  bool was_captured = false;       // the last record went into a capture, maybe ended since
  std::vector<Node*> nodes;        // what it stands for in that capture
};

using Streams = Handles<Stream, CUstream>;
using Events = Handles<Event, CUevent>;

// The stream of a handle as the calling thread sees it: null and the special handles belong to the
// current context.
Stream& stream_of(CUstream handle);

// While one lives on a thread, a null handle means its per-thread default stream.
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
};

// Puts work into the stream, or into the graph if it is being captured.
void enqueue(Stream& stream, CUgraphNodeType type, Work work);
// Submits behind all that the stream is ordered after, and behind `after`.
Ticket submit(Stream& stream, Work work, std::vector<Ticket> after = {});
// The same, behind `after` alone; the stream does not come to wait for it.
Ticket submit_unordered(Stream& stream, Work work, const std::vector<Ticket>& after);
void synchronize(Stream& stream);

void record(Event& event, Stream& stream);
void wait(Stream& stream, Event& event);

}  // namespace bwgemm::vgpu::driver
