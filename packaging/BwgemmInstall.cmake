# SPDX-License-Identifier: Apache-2.0
# Installation in two components: runtime (the library and its notices) and devel (header, link
# name, CMake package, pkg-config file). Everything is relocatable.
include(CMakePackageConfigHelpers)

install(TARGETS bwgemm EXPORT bwgemmTargets
  LIBRARY
    DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    COMPONENT runtime
    NAMELINK_COMPONENT devel
)
install(FILES LICENSE packaging/THIRD-PARTY-NOTICES
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT runtime
)
install(FILES include/bwgemm/bwgemm.h
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/bwgemm"
  COMPONENT devel
)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bwgemm")
install(EXPORT bwgemmTargets NAMESPACE bwgemm:: DESTINATION "${package_dir}" COMPONENT devel)
configure_package_config_file(packaging/bwgemmConfig.cmake.in bwgemmConfig.cmake
  INSTALL_DESTINATION "${package_dir}"
)
write_basic_package_version_file(bwgemmConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/bwgemmConfig.cmake" "${PROJECT_BINARY_DIR}/bwgemmConfigVersion.cmake"
  DESTINATION "${package_dir}"
  COMPONENT devel
)

# bwgemm.pc finds the prefix from where it lies, so libdir must be below the prefix.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${pc_dir}" OUTPUT_VARIABLE BWGEMM_PC_PREFIX
)
configure_file(packaging/bwgemm.pc.in bwgemm.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/bwgemm.pc" DESTINATION "${pc_dir}" COMPONENT devel)
