// SPDX-License-Identifier: Apache-2.0
// Capture: a graph under construction by the streams that take part; and the rules about calls that
// must not be made meanwhile. Statuses are those that an H200's driver gave (580, 2026-11-21).
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "vgpu/driver/graph.h"

namespace bwgemm::vgpu::driver {

struct Context;
struct Stream;

struct Capture {
  Stream* origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  unsigned long long id;
  bool is_valid = true;
  std::shared_ptr<Graph> graph;
  std::vector<Stream*> streams;  // that take part
};

void begin_capture(Stream& stream, CUstreamCaptureMode mode);
// Ends it whatever comes; fails if there is no graph to be had.
std::shared_ptr<Graph> end_capture(Stream& stream);
// The stream is going away.
void abandon_capture(Stream& stream);

// Makes the stream part of the capture, behind `nodes`.
void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<Node*>& nodes);
void add_to_capture(Stream& stream, CUgraphNodeType type, Work work);

[[noreturn]] void invalidate(Capture& capture, CUresult result);

// Calls that may disturb a capture open with this: it fails, and ends the captures in question, if
// the calling thread must not make them now.
void forbid_during_capture();
// The stream itself must not be under capture.
void forbid_captured(Stream& stream);
// No stream of the context may be.
void forbid_captured(const Context& context);
// Using the legacy stream would order it with blocking streams, of which none may be under capture.
void forbid_implicit_dependency(const Stream& stream);

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode);

}  // namespace bwgemm::vgpu::driver
