// SPDX-License-Identifier: Apache-2.0
// The C functions that set or get what a handle keeps from call to call.
#include "api/guard.h"
#include "api/handle.h"
#include "api/options.h"
#include "api/validate.h"

namespace bwgemm {
namespace {

template <class Value>
void write(const char* name, Value* to, Value value) {
  require(to != nullptr, name, " is null but will be written");
  *to = value;
}

// What the driver answers for what is no stream, and for one whose context is gone. The handle's
// context was found alive.
bool says_no_stream(CUresult result) {
  return result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_VALUE ||
         result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void check_stream(const Handle& handle, CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return;
  CUcontext context = nullptr;
  const CUresult result = handle.driver.cuStreamGetCtx(stream, &context);
  if (says_no_stream(result))
    require(false, "stream is not a stream of this process: ",
            handle.driver.describe(handle.driver.cuStreamGetCtx.name(), result));
  handle.driver.check(handle.driver.cuStreamGetCtx, result);
  require(context == handle.context.get(), "stream belongs to another context than the handle");
}

void set_stream(Handle& handle, CUstream stream) {
  const ContextScope scope(handle.context);
  check_stream(handle, stream);
  handle.stream = StreamIdentity(handle.driver, stream);
}

void set_workspace(Handle& handle, void* workspace, std::size_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  require(address % 256 == 0, "workspace is address ", address,
          " but must be a multiple of 256 bytes");
  const std::size_t usable_before = handle.workspace.usable();
  handle.workspace = {.data = workspace, .size = size};
  if (handle.workspace.usable() != usable_before) handle.programs.clear();
}

}  // namespace
}  // namespace bwgemm

using bwgemm::checked;
using bwgemm::guard;
using bwgemm::Handle;
using bwgemm::require;
using bwgemm::set_stream;
using bwgemm::set_workspace;
using bwgemm::write;

bwgemmStatus_t bwgemmSetStream(bwgemmHandle_t handle, struct CUstream_st* stream) {
  return guard(__func__, [&] { set_stream(checked(handle), stream); });
}

bwgemmStatus_t bwgemmGetStream(bwgemmHandle_t handle, struct CUstream_st** stream) {
  return guard(__func__, [&] { write("stream", stream, checked(handle).stream.stream()); });
}

bwgemmStatus_t bwgemmSetWorkspace(bwgemmHandle_t handle, void* workspace, size_t size) {
  return guard(__func__, [&] { set_workspace(checked(handle), workspace, size); });
}

bwgemmStatus_t bwgemmGetWorkspace(bwgemmHandle_t handle, void** workspace, size_t* size) {
  return guard(__func__, [&] {
    const bwgemm::Workspace& set = checked(handle).workspace;
    require(workspace != nullptr, "workspace is null but will be written");
    write("size", size, set.size);
    *workspace = set.data;
  });
}

bwgemmStatus_t bwgemmSetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t mode) {
  return guard(__func__, [&] {
    Handle& set = checked(handle);
    require(mode == BWGEMM_POINTER_MODE_HOST || mode == BWGEMM_POINTER_MODE_DEVICE, "mode is ",
            static_cast<int>(mode),
            " but must be BWGEMM_POINTER_MODE_HOST (0) or BWGEMM_POINTER_MODE_DEVICE (1)");
    set.pointer_mode = mode;
  });
}

bwgemmStatus_t bwgemmGetPointerMode(bwgemmHandle_t handle, bwgemmPointerMode_t* mode) {
  return guard(__func__, [&] { write("mode", mode, checked(handle).pointer_mode); });
}

bwgemmStatus_t bwgemmSetSmCountTarget(bwgemmHandle_t handle, int smCount) {
  return guard(__func__, [&] {
    Handle& set = checked(handle);
    require(smCount >= 0, "smCount is ", smCount, " but must be at least 0");
    if (smCount != set.sm_count_target) set.programs.clear();
    set.sm_count_target = smCount;
  });
}

bwgemmStatus_t bwgemmGetSmCountTarget(bwgemmHandle_t handle, int* smCount) {
  return guard(__func__, [&] { write("smCount", smCount, checked(handle).sm_count_target); });
}

bwgemmStatus_t bwgemmSetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t mode) {
  return guard(__func__, [&] {
    Handle& set = checked(handle);
    require(
        mode == BWGEMM_DETERMINISM_BITWISE || mode == BWGEMM_DETERMINISM_BATCH_INVARIANT,
        "mode is ", static_cast<int>(mode),
        " but must be BWGEMM_DETERMINISM_BITWISE (0) or BWGEMM_DETERMINISM_BATCH_INVARIANT (1)");
    if (mode != set.determinism) set.programs.clear();
    set.determinism = mode;
  });
}

bwgemmStatus_t bwgemmGetDeterminism(bwgemmHandle_t handle, bwgemmDeterminism_t* mode) {
  return guard(__func__, [&] { write("mode", mode, checked(handle).determinism); });
}

bwgemmStatus_t bwgemmSetTuneMode(bwgemmHandle_t handle, bwgemmTuneMode_t mode) {
  return guard(__func__, [&] {
    Handle& set = checked(handle);
    require(mode == BWGEMM_TUNE_OFF || mode == BWGEMM_TUNE_ON || mode == BWGEMM_TUNE_FROZEN,
            "mode is ", static_cast<int>(mode),
            " but must be BWGEMM_TUNE_OFF (0), BWGEMM_TUNE_ON (1) or BWGEMM_TUNE_FROZEN (2)");
    // What was chosen without a measurement is chosen anew.
    if (mode != set.tune_mode) {
      set.tuning.forget_predicted();
      set.programs.clear();
    }
    set.tune_mode = mode;
  });
}

bwgemmStatus_t bwgemmGetTuneMode(bwgemmHandle_t handle, bwgemmTuneMode_t* mode) {
  return guard(__func__, [&] { write("mode", mode, checked(handle).tune_mode); });
}

bwgemmStatus_t bwgemmSetProgrammaticLaunch(bwgemmHandle_t handle, int enable) {
  return guard(__func__, [&] {
    Handle& set = checked(handle);
    require(enable == 0 || enable == bwgemm::programmatic_launch_always ||
                enable == bwgemm::programmatic_launch_where_faster,
            "enable is ", enable, " but must be 0, 1, or -1 (where it is faster)");
    if (enable != set.programmatic_launch) set.programs.clear();
    set.programmatic_launch = enable;
  });
}

bwgemmStatus_t bwgemmGetProgrammaticLaunch(bwgemmHandle_t handle, int* enable) {
  return guard(__func__, [&] { write("enable", enable, checked(handle).programmatic_launch); });
}
