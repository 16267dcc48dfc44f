# SPDX-License-Identifier: Apache-2.0
# What the virtual GPU needs of a project around it, where there is none.
#
#   CUDA_INCLUDE           the folder of cuda.h (CUDA 12.8 or newer); searched for where it is not set
#   VGPU_WARNINGS_AS_ERRORS
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

find_program(_vgpu_nvcc nvcc NO_CACHE)
cmake_path(GET _vgpu_nvcc PARENT_PATH _vgpu_nvcc_folder)
file(GLOB _vgpu_toolkits "/usr/local/cuda" "/usr/local/cuda-*")
find_path(CUDA_INCLUDE cuda.h
  HINTS ENV BWGEMM_CUDA_ROOT ENV CUDA_HOME ENV CUDA_PATH
  PATHS "${CMAKE_CURRENT_LIST_DIR}/../../build/cuda" "${_vgpu_nvcc_folder}/.." ${_vgpu_toolkits}
  PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include
  DOC "Folder of cuda.h"
)
if(NOT CUDA_INCLUDE)
  message(FATAL_ERROR "No cuda.h was found: name its folder, as in -DCUDA_INCLUDE=<toolkit>/include")
endif()
set(BWGEMM_CUDA_INCLUDE_DIR "${CUDA_INCLUDE}")

option(VGPU_WARNINGS_AS_ERRORS "Fail on compiler warnings" ON)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
include(GoogleTest)
enable_testing()

add_library(bwgemm_options INTERFACE)
target_compile_options(bwgemm_options INTERFACE
  -Wall -Wextra $<$<BOOL:${VGPU_WARNINGS_AS_ERRORS}>:-Werror>
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
)
