# SPDX-License-Identifier: Apache-2.0
# Configures (once, or after the arguments changed) and builds packaging/kernels in the folder that
# all presets share. The lock lets several presets build at the same time.
#
#   cmake -D BUILD=folder -D CUDA_ROOT=folder -D PYTHON=program [-D ONLY=regex] -P build_kernels.cmake
file(MAKE_DIRECTORY "${BUILD}")
file(LOCK "${BUILD}/lock" GUARD PROCESS)

set(configure
  "${CMAKE_COMMAND}" --fresh -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/kernels" -B "${BUILD}"
  "-DBWGEMM_CUDA_ROOT=${CUDA_ROOT}" "-DPython3_EXECUTABLE=${PYTHON}" "-DBWGEMM_ONLY=${ONLY}"
)
set(stamp "${BUILD}/configured")
set(configured "")
if(EXISTS "${stamp}" AND EXISTS "${BUILD}/build.ninja")
  file(READ "${stamp}" configured)
endif()
if(NOT configured STREQUAL "${configure}")
  file(REMOVE "${stamp}")
  execute_process(COMMAND ${configure} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The kernels could not be configured")
  endif()
  file(WRITE "${stamp}" "${configure}")
endif()

execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "The kernels could not be built")
endif()
