// SPDX-License-Identifier: Apache-2.0
#include "support/captured_kernels.h"

#include <dlfcn.h>
#include <set>
#include <stdexcept>

namespace bwgemm::test {
namespace {

// Beside those of Driver, for the test double has none of them.
template <class Function>
Function* entry(const char* symbol) {
  static void* const library = dlopen(driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = library != nullptr ? dlsym(library, symbol) : nullptr;
  if (found == nullptr) throw std::runtime_error(driver_path() + " lacks the symbol " + symbol);
  return reinterpret_cast<Function*>(found);
}

// The name of an entry point as <cuda.h> has it, suffix and all.
#define CU_SYMBOL(name) #name
#define CU(name) (entry<decltype(::name)>(CU_SYMBOL(name)))

CapturedKernel kernel_of(CUgraphNode node) {
  CUgraphNodeType type{};
  check(CU(cuGraphNodeGetType)(node, &type), "cuGraphNodeGetType");
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS params{};
  check(CU(cuGraphKernelNodeGetParams)(node, &params), "cuGraphKernelNodeGetParams");
  const char* name = nullptr;
  check(CU(cuFuncGetName)(&name, params.func), "cuFuncGetName");
  return {name, static_cast<int>(params.gridDimX * params.gridDimY * params.gridDimZ)};
}

}  // namespace

CapturedKernels captured_kernels(CUgraph graph) {
  std::size_t count = 0;
  check(CU(cuGraphGetNodes)(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  check(CU(cuGraphGetNodes)(graph, nodes.data(), &count), "cuGraphGetNodes");
  CapturedKernels captured{{}, true, false};
  for (const CUgraphNode node : nodes) captured.kernels.push_back(kernel_of(node));

  std::size_t edges = nodes.size();  // there are fewer in a chain
  std::vector<CUgraphNode> from(edges), to(edges);
  std::vector<CUgraphEdgeData> data(edges);
  check(CU(cuGraphGetEdges)(graph, from.data(), to.data(), data.data(), &edges), "cuGraphGetEdges");
  const std::set<CUgraphNode> before(from.begin(),
                                     from.begin() + static_cast<std::ptrdiff_t>(edges));
  const std::set<CUgraphNode> behind(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(edges));
  captured.is_chain = edges + 1 == nodes.size() && before.size() == edges && behind.size() == edges;
  for (std::size_t i = 0; i < edges; ++i)
    if (data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) captured.may_run_at_once = true;
  return captured;
}

}  // namespace bwgemm::test
