# SPDX-License-Identifier: Apache-2.0
# Finds the CUDA 13 compiler: nvcc, ptxas, fatbinary and the folder of cuda.h.
# The CUDA language is not enabled: nvcc is called by custom commands.
#
#   find_package(CudaCompiler REQUIRED)   (or include(FindCudaCompiler))
#
# Searched in this order (that of packaging/setup.sh: keep the two alike):
# BWGEMM_CUDA_ROOT (cache, then environment: this toolkit and no other), the nvcc
# of an earlier configure, CUDACXX (environment), build/cuda, PATH,
# /usr/local/cuda, /usr/local/cuda-13*.
#
# Sets CudaCompiler_FOUND and
#   BWGEMM_NVCC, BWGEMM_PTXAS, BWGEMM_FATBINARY  the programs (BWGEMM_NVCC: cached)
#   BWGEMM_CUDA_INCLUDE_DIR                      the folder of cuda.h
#   BWGEMM_CUDA_VERSION                          nvcc's, such as 13.0.88

set(BWGEMM_CUDA_ROOT "" CACHE PATH "Root of the CUDA 13 toolkit to use (empty: search for one)")
set(BWGEMM_NVCC "" CACHE FILEPATH "The CUDA compiler of the last configure")

# Sets the result variables in the caller's scope if this nvcc is of major version
# 13 and its toolkit is whole. nvcc itself is asked where that is, for it may be a
# wrapper or a link.
function(_bwgemm_try_nvcc nvcc)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT text MATCHES "release 13\\.[0-9]+, V(13[0-9.]+)")
    return()
  endif()
  set(version "${CMAKE_MATCH_1}")
  execute_process(
    COMMAND "${nvcc}" --dryrun -E -x cu /dev/null
    OUTPUT_VARIABLE text
    ERROR_VARIABLE text
  )
  if(NOT text MATCHES "#\\$ TOP=([^\n]+)")
    return()
  endif()
  file(REAL_PATH "${CMAKE_MATCH_1}" root)
  file(GLOB includes "${root}/include" "${root}/targets/*/include")
  foreach(include IN LISTS includes)
    if(NOT EXISTS "${include}/cuda.h" OR NOT EXISTS "${include}/cuda_bf16.h")
      continue()
    endif()
    foreach(tool nvcc ptxas fatbinary)
      if(NOT EXISTS "${root}/bin/${tool}")
        return()
      endif()
    endforeach()
    set(BWGEMM_NVCC "${root}/bin/nvcc" CACHE FILEPATH "" FORCE)
    set(BWGEMM_PTXAS "${root}/bin/ptxas" PARENT_SCOPE)
    set(BWGEMM_FATBINARY "${root}/bin/fatbinary" PARENT_SCOPE)
    set(BWGEMM_CUDA_INCLUDE_DIR "${include}" PARENT_SCOPE)
    set(BWGEMM_CUDA_VERSION "${version}" PARENT_SCOPE)
    set(CudaCompiler_FOUND TRUE PARENT_SCOPE)
    return()
  endforeach()
endfunction()

if(BWGEMM_CUDA_ROOT)
  set(_bwgemm_candidates "${BWGEMM_CUDA_ROOT}/bin/nvcc")
elseif(NOT "$ENV{BWGEMM_CUDA_ROOT}" STREQUAL "")
  set(_bwgemm_candidates "$ENV{BWGEMM_CUDA_ROOT}/bin/nvcc")
else()
  # find_program here only looks a name up, in PATH alone, and keeps nothing.
  unset(_bwgemm_cudacxx)
  if(NOT "$ENV{CUDACXX}" STREQUAL "")
    find_program(_bwgemm_cudacxx "$ENV{CUDACXX}" NO_CACHE)
  endif()
  unset(_bwgemm_path_nvcc)
  find_program(_bwgemm_path_nvcc nvcc NO_CACHE NO_DEFAULT_PATH PATHS ENV PATH)
  file(GLOB _bwgemm_local /usr/local/cuda/bin/nvcc /usr/local/cuda-13*/bin/nvcc)
  set(_bwgemm_candidates
    "${BWGEMM_NVCC}" "${_bwgemm_cudacxx}" "${CMAKE_SOURCE_DIR}/build/cuda/bin/nvcc"
    "${_bwgemm_path_nvcc}" ${_bwgemm_local}
  )
endif()

set(CudaCompiler_FOUND FALSE)
foreach(_bwgemm_candidate IN LISTS _bwgemm_candidates)
  if(EXISTS "${_bwgemm_candidate}")
    _bwgemm_try_nvcc("${_bwgemm_candidate}")
  endif()
  if(CudaCompiler_FOUND)
    break()
  endif()
endforeach()

if(CudaCompiler_FOUND)
  message(STATUS "CUDA compiler: ${BWGEMM_NVCC} (${BWGEMM_CUDA_VERSION})")
else()
  set(_bwgemm_mode FATAL_ERROR)
  if(CMAKE_FIND_PACKAGE_NAME STREQUAL "CudaCompiler" AND NOT CudaCompiler_FIND_REQUIRED)
    set(_bwgemm_mode STATUS)
  endif()
  message(${_bwgemm_mode}
    "No whole CUDA 13 compiler (nvcc, ptxas, fatbinary, cuda.h) was found; run "
    "packaging/setup.sh, which installs one, or name one's root in BWGEMM_CUDA_ROOT."
  )
endif()
