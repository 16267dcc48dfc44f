// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <utility>

#include "api/bench_command.h"
#include "api/handle.h"
#include "api/log.h"
#include "api/program.h"
#include "api/tune.h"

namespace bwgemm {
namespace {

// A call that cannot be remembered is launched all the same.
void remember(Handle& handle, const CallKey& key, Program program, std::uint64_t generation) {
  try {
    handle.programs.insert(key, std::move(program), generation);
  } catch (const std::bad_alloc&) {
    log(Level::info, "no memory to remember a program");
  }
}

// A choice that a measurement may change is not remembered.
void multiply_unknown(Handle& handle, Arguments& arguments, std::uint64_t generation) {
  const ValidProblem problem = validated(arguments, handle.pointer_mode);
  if (problem.empty()) return;
  const CallSettings call = call_settings(handle, arguments);
  const ContextScope scope(handle.context);
  const bool is_final = tune(handle, problem, call);
  Program program = built(handle, problem, handle.choose(problem, call), call);
  run(handle, program, arguments.values, call.workspace.data);
  if (is_final) remember(handle, arguments.key, std::move(program), generation);
}

}  // namespace

// A call without a key is not legal, or launches nothing.
void multiply(Handle& handle, Arguments arguments) {
  log(Level::info, [&] { return bench_command(validated(arguments, handle.pointer_mode)); });
  const std::uint64_t generation = handle.programs.generation();
  if (keyed(arguments, handle.pointer_mode)) {
    if (auto found = handle.programs.find(arguments.key); found.program != nullptr) {
      const ContextScope scope(handle.context);
      return run(handle, found, arguments.values, call_settings(handle, arguments).workspace.data);
    }
  }
  multiply_unknown(handle, arguments, generation);
}

CallSettings call_settings(const Handle& handle, const Arguments& arguments) {
  if (!arguments.has(group::settings)) return {handle.workspace, -1};
  void* const data = const_cast<void*>(arguments.values.address(Argument::workspace));
  const Workspace own{data, arguments.workspace_size};
  return {own.data != nullptr || own.size != 0 ? own : handle.workspace, arguments.algo};
}

}  // namespace bwgemm
