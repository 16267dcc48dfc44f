# SPDX-License-Identifier: Apache-2.0
# bwgemm_options: how host code is compiled, for the library, its tests and the bench.
# bwgemm_spdlog: the logging library, header-only, with the fmt it was packaged with.
# bwgemm_take_headers(target): the target's sources find the standard library's headers compiled.
include(CheckCXXCompilerFlag)

add_library(bwgemm_options INTERFACE)
target_compile_options(bwgemm_options INTERFACE
  -Wall -Wextra $<$<BOOL:${BWGEMM_WARNINGS_AS_ERRORS}>:-Werror>
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
  # No path of this build in any output: the build is the same from every folder.
  "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build" "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=."
)
# A unique symbol would keep the library in memory after dlclose.
check_cxx_compiler_flag(-fno-gnu-unique BWGEMM_HAS_NO_GNU_UNIQUE)
if(BWGEMM_HAS_NO_GNU_UNIQUE)
  target_compile_options(bwgemm_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
endif()
if(BWGEMM_SANITIZE)
  # C callers may pass any int as an enumerator, and tests do: the enum check is off.
  target_compile_options(bwgemm_options INTERFACE
    "-fsanitize=${BWGEMM_SANITIZE}" -fno-sanitize=enum -fno-sanitize-recover=all
    -fno-omit-frame-pointer
  )
  target_link_options(bwgemm_options INTERFACE "-fsanitize=${BWGEMM_SANITIZE}")
endif()

find_path(BWGEMM_SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED DOC "Folder of spdlog/spdlog.h")
find_package(Threads REQUIRED)
add_library(bwgemm_spdlog INTERFACE)
# Thread-local storage in a library that is opened late would need the dynamic linker by name.
target_compile_definitions(bwgemm_spdlog INTERFACE SPDLOG_NO_TLS)
target_include_directories(bwgemm_spdlog SYSTEM INTERFACE "${BWGEMM_SPDLOG_INCLUDE_DIR}")
target_link_libraries(bwgemm_spdlog INTERFACE Threads::Threads)
if(NOT EXISTS "${BWGEMM_SPDLOG_INCLUDE_DIR}/spdlog/fmt/bundled/core.h")
  find_path(BWGEMM_FMT_INCLUDE_DIR fmt/core.h REQUIRED DOC "Folder of fmt/core.h")
  target_include_directories(bwgemm_spdlog SYSTEM INTERFACE "${BWGEMM_FMT_INCLUDE_DIR}")
  target_compile_definitions(bwgemm_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
endif()

# Reading these headers was a third of the time of a file, and all take one compilation of them. Files
# include what they use all the same: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without it. -fPIC is
# that of libraries; programs take it too, because the compilation serves only files with its flags.
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/headers.cpp" CONTENT "")
add_library(bwgemm_headers OBJECT "${CMAKE_CURRENT_BINARY_DIR}/headers.cpp")
target_link_libraries(bwgemm_headers PRIVATE bwgemm_options)
target_precompile_headers(bwgemm_headers PRIVATE
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstdio> <cstdlib> <cstring>
  <filesystem> <fstream> <functional> <iostream> <limits> <map> <memory> <mutex> <numeric> <optional>
  <random> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <unordered_map>
  <utility> <variant> <vector>
)
function(bwgemm_compile_as_library target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()
bwgemm_compile_as_library(bwgemm_headers)
function(bwgemm_take_headers target)
  bwgemm_compile_as_library(${target})
  target_precompile_headers(${target} REUSE_FROM bwgemm_headers)
endfunction()
