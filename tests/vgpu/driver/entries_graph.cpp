// SPDX-License-Identifier: Apache-2.0
// Entry points: stream capture and graphs.
#include <algorithm>
#include <unordered_map>

#include "vgpu/driver/driver.h"
#include "vgpu/driver/launch.h"

using namespace bwgemm::vgpu::driver;

namespace {

bool is_mode(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->is_valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                  : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

// Asking about the legacy stream is refused, but does no harm.
void check_askable(Driver& driver, const Stream& stream) {
  if (stream.kind != Stream::Kind::legacy) return;
  for (const auto& capture : driver.captures)
    for (const Stream* other : capture->streams)
      require(other->context != stream.context || !other->is_blocking(),
              CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

CUresult capture_info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                      CUgraph* graph, const CUgraphNode** dependencies,
                      const CUgraphEdgeData** edges, std::size_t* count) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(status != nullptr);
    Stream& stream = stream_of(handle);
    check_askable(driver, stream);
    *status = status_of(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    if (id != nullptr) *id = stream.capture->id;
    if (graph != nullptr) *graph = Graphs::handle_of(*stream.capture->graph);
    if (dependencies != nullptr)
      *dependencies = reinterpret_cast<const CUgraphNode*>(stream.tail.data());
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = stream.tail.size();
  });
}

// Fills as many as there is room for, the rest with null; says how many there are if nobody asks
// for them.
template <class Element>
void list(const std::vector<Element>& all, Element* into, std::size_t* count) {
  require_value(count != nullptr);
  if (into != nullptr)
    for (std::size_t i = 0; i < *count; ++i) into[i] = i < all.size() ? all[i] : nullptr;
  *count = into != nullptr ? std::min(*count, all.size()) : all.size();
}

const Node& node_of(const Driver& driver, CUgraphNode handle) {
  const Node* found = nullptr;
  driver.graphs.for_each([&](const Graph& graph) {
    for (const auto& node : graph.nodes)
      if (node->handle() == handle) found = node.get();
  });
  require_value(found != nullptr);
  return *found;
}

const KernelWork& kernel_of(const Driver& driver, CUgraphNode handle) {
  const Node& node = node_of(driver, handle);
  require_value(node.work.kernel != nullptr);
  return *node.work.kernel;
}

CUresult instantiate(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
  return call(Needs::working_context, [&](Driver& driver) {
    constexpr unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                         CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    require_value(exec != nullptr && (flags & ~known) == 0);
    const Graph& graph = driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
    forbid_during_capture();
    auto executable = std::make_shared<GraphExec>();
    executable->graph = graph.clone();
    *exec = driver.graph_execs.add(std::move(executable));
  });
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(is_mode(mode));
    begin_capture(stream_of(stream), mode);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (graph != nullptr) *graph = nullptr;
  return call(Needs::working_context, [&](Driver& driver) {
    std::shared_ptr<Graph> captured = end_capture(stream_of(stream));
    if (graph != nullptr) *graph = driver.graphs.add(std::move(captured));
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(status != nullptr);
    const Stream& stream = stream_of(handle);
    check_askable(driver, stream);
    *status = status_of(stream);
  });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                CUgraph* graph, const CUgraphNode** dependencies,
                                const CUgraphEdgeData** edges, std::size_t* count) {
  return capture_info(stream, status, id, graph, dependencies, edges, count);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   std::size_t* count) {
  return capture_info(stream, status, id, graph, dependencies, nullptr, count);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call(Needs::driver, [&](Driver&) {
    require_value(mode != nullptr && is_mode(*mode));
    *mode = exchange_thread_mode(*mode);
  });
}

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(graph != nullptr && flags == 0);
    *graph = driver.graphs.add(std::make_shared<Graph>());
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return call(Needs::driver, [&](Driver& driver) {
    static_cast<void>(driver.graphs.take(graph, CUDA_ERROR_INVALID_VALUE));
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(clone != nullptr);
    *clone = driver.graphs.add(driver.graphs.get(original, CUDA_ERROR_INVALID_VALUE).clone());
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return call(Needs::driver, [&](Driver& driver) {
    std::vector<CUgraphNode> all;
    for (const auto& node : driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE).nodes)
      all.push_back(node->handle());
    list(all, nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  return call(Needs::driver, [&](Driver& driver) {
    std::vector<CUgraphNode> roots;
    for (const auto& node : driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE).nodes)
      if (node->after.empty()) roots.push_back(node->handle());
    list(roots, nodes, count);
  });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                         std::size_t* count) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(count != nullptr && (from == nullptr) == (to == nullptr));
    std::vector<CUgraphNode> begins, ends;
    std::vector<CUgraphEdgeData> kinds;
    for (const auto& node : driver.graphs.get(graph, CUDA_ERROR_INVALID_VALUE).nodes)
      for (const Node* earlier : node->after) {
        begins.push_back(earlier->handle());
        ends.push_back(node->handle());
        CUgraphEdgeData& kind = kinds.emplace_back();
        if (!node->is_programmatic()) continue;
        kind.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        kind.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
        require(from == nullptr || data != nullptr, CUDA_ERROR_LOSSY_QUERY);
      }
    if (data != nullptr) std::copy_n(kinds.begin(), std::min(*count, kinds.size()), data);
    std::size_t same = *count;
    list(begins, from, &same);
    list(ends, to, count);
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(type != nullptr);
    *type = node_of(driver, handle).type;
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* params) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(params != nullptr);
    const KernelWork& kernel = kernel_of(driver, handle);
    const bwgemm::vgpu::LaunchRequest& request = kernel.request;
    *params = {};
    params->func = kernel.function;
    params->gridDimX = request.grid.x;
    params->gridDimY = request.grid.y;
    params->gridDimZ = request.grid.z;
    params->blockDimX = request.block.x;
    params->blockDimY = request.block.y;
    params->blockDimZ = request.block.z;
    params->sharedMemBytes = request.dynamic_shared_bytes;
    params->kernelParams = const_cast<void**>(kernel.values.data());  // not to be written to
  });
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue* value) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(value != nullptr);
    const KernelWork& kernel = kernel_of(driver, handle);
    // An H100's driver tells no more than this of what its launch was given (580.159).
    require_value(attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    *value = {};
    value->clusterDim.x = kernel.request.cluster_size;
    value->clusterDim.y = value->clusterDim.z = 1;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  parameters->hErrNode_out = nullptr;
  const CUresult result = instantiate(exec, graph, parameters->flags);
  parameters->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return call(Needs::working_context, [&](Driver& driver) {
    const std::shared_ptr<GraphExec> executable = driver.graph_execs.find(exec);
    require_value(executable != nullptr);
    launch(executable, stream_of(stream));
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return call(Needs::working_context, [&](Driver& driver) {
    require_value(driver.graph_execs.find(exec) != nullptr);
    static_cast<void>(stream_of(stream));
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return call(Needs::driver, [&](Driver& driver) {
    forbid_during_capture();
    static_cast<void>(driver.graph_execs.take(exec, CUDA_ERROR_INVALID_VALUE));
  });
}
