// SPDX-License-Identifier: Apache-2.0
// Graph: work with its order, to be submitted again and again. Nodes keep everything they need by
// value, as captured kernel parameters do.
#pragma once

#include <memory>
#include <vector>

#include "vgpu/driver/api.h"
#include "vgpu/driver/handles.h"
#include "vgpu/driver/schedule.h"
#include "vgpu/driver/user_object.h"

namespace bwgemm::vgpu::driver {

struct Stream;

struct Node {
  CUgraphNode handle() const { return reinterpret_cast<CUgraphNode>(const_cast<Node*>(this)); }

  CUgraphNodeType type;
  Work work;
  std::vector<Node*> after;

  // The edge to the one node that it comes after lets it begin early.
  bool is_programmatic() const;
};

struct Graph {
  Node& add(CUgraphNodeType type, Work work, std::vector<Node*> after);
  std::shared_ptr<Graph> clone() const;

  std::vector<std::unique_ptr<Node>> nodes;  // each behind those it comes after
  GraphReferences references;
};

// An instantiated graph. Launches of one never overlap.
struct GraphExec {
  std::shared_ptr<const Graph> graph;
  Ticket last_launch;
};

using Graphs = Handles<Graph, CUgraph>;
using GraphExecs = Handles<GraphExec, CUgraphExec>;

void launch(const std::shared_ptr<GraphExec>& exec, Stream& stream);

}  // namespace bwgemm::vgpu::driver
