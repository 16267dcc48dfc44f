# SPDX-License-Identifier: Apache-2.0
# Writes generated/build_info.h: source revision and compiler version for bwgemmGetBuildInfo. Asked
# of git again after every commit; "unknown" outside a git checkout of this project.
set(BWGEMM_REVISION "${BWGEMM_SOURCE_REVISION}")
if(NOT BWGEMM_REVISION AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(
      COMMAND "${GIT_EXECUTABLE}" -C "${PROJECT_SOURCE_DIR}" rev-parse HEAD
      OUTPUT_VARIABLE BWGEMM_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    )
    execute_process(
      COMMAND "${GIT_EXECUTABLE}" -C "${PROJECT_SOURCE_DIR}" rev-parse --git-path logs/HEAD
      OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    )
    string(SUBSTRING "${BWGEMM_REVISION}" 0 12 BWGEMM_REVISION)
    cmake_path(ABSOLUTE_PATH head_log BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(EXISTS "${head_log}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${head_log}")
    endif()
  endif()
endif()
if(NOT BWGEMM_REVISION)
  set(BWGEMM_REVISION unknown)
endif()
configure_file(packaging/build_info.h.in generated/build_info.h @ONLY)
