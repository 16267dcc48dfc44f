// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/graph.h"

#include <unordered_map>

#include "vgpu/driver/launch.h"
#include "vgpu/driver/stream.h"

namespace bwgemm::vgpu::driver {

Node& Graph::add(CUgraphNodeType type, Work work, std::vector<Node*> after) {
  nodes.push_back(std::make_unique<Node>(Node{type, std::move(work), std::move(after)}));
  return *nodes.back();
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : nodes) {
    std::vector<Node*> after;
    for (const Node* earlier : node->after) after.push_back(copies.at(earlier));
    copies[node.get()] = &copy->add(node->type, node->work, std::move(after));
  }
  copy->references.add(references);
  return copy;
}

bool Node::is_programmatic() const {
  return work.kernel && work.kernel->is_programmatic && after.size() == 1 && after[0]->work.kernel;
}

void launch(const std::shared_ptr<GraphExec>& exec, Stream& stream) {
  forbid_implicit_dependency(stream);
  forbid_captured(stream);
  const Ticket begin = submit(stream, nullptr, {exec->last_launch});
  std::unordered_map<const Node*, Ticket> tickets;
  std::vector<Ticket> all{begin};
  for (const auto& node : exec->graph->nodes) {
    std::vector<Ticket> after{begin};
    for (const Node* earlier : node->after) after.push_back(tickets.at(earlier));
    all.push_back(tickets[node.get()] = submit_unordered(stream, node->work, after));
  }
  // What the graph refers to lives until the launch is over, even if the graph goes before.
  exec->last_launch = submit(
      stream, [graph = exec->graph] {}, all);
}

}  // namespace bwgemm::vgpu::driver
