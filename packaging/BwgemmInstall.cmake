# SPDX-License-Identifier: Apache-2.0
# Installation in components: runtime (the library and its notices), dropin (the library that is
# preloaded in front of cuBLAS, its launcher and bwgemm-tune), dev (headers, link name, CMake package, pkg-config
# file, the pages of docs) and, where the tests are built, vgpu (the virtual GPU and what it
# executes). Everything is relocatable.
include(CMakePackageConfigHelpers)

install(TARGETS bwgemm EXPORT bwgemmTargets
  LIBRARY
    DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    COMPONENT runtime
    NAMELINK_COMPONENT dev
)
install(FILES LICENSE packaging/THIRD-PARTY-NOTICES
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT runtime
)
install(DIRECTORY packaging/docs/
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT dev
)
install(DIRECTORY include/bwgemm
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT dev
)

# It finds the library beside itself, and the launcher finds it from its own folder. The build tree
# has both too.
if(TARGET bwgemm_cublas)
  install(TARGETS bwgemm_cublas LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dropin)
  function(bwgemm_configure_launcher to libraries_from_programs)
    set(BWGEMM_LIBRARIES_FROM_PROGRAMS "${libraries_from_programs}")
    configure_file(packaging/bwgemm-run.in "${to}" @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                       WORLD_READ WORLD_EXECUTE
    )
  endfunction()
  bwgemm_configure_launcher("${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bwgemm-run" "../lib")
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
    BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}" OUTPUT_VARIABLE libraries_from_programs
  )
  set(launcher "${PROJECT_BINARY_DIR}/bwgemm-run")
  bwgemm_configure_launcher("${launcher}" "${libraries_from_programs}")
  install(PROGRAMS "${launcher}" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT dropin)
  if(TARGET bwgemm_tune)
    set_target_properties(bwgemm_tune PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries_from_programs}")
    install(TARGETS bwgemm_tune RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT dropin)
  endif()
endif()

# The driver finds its index, and that the PTX, beside itself. In a folder of its own, so that no
# program takes it for the real driver without being told.
set(vgpu_dir "${CMAKE_INSTALL_LIBDIR}/bwgemm/vgpu")
if(TARGET bwgemm_vgpu_driver)
  install(TARGETS bwgemm_vgpu_driver
    LIBRARY
      DESTINATION "${vgpu_dir}"
      COMPONENT vgpu
      NAMELINK_COMPONENT vgpu
  )
  # Which files these are, the index knows; it is written after configuration.
  install(CODE "
    file(STRINGS \"${BWGEMM_KERNEL_DIR}/kernels.index\" lines)
    list(TRANSFORM lines REPLACE \"^[0-9a-f]+  \" \"${BWGEMM_KERNEL_DIR}/\")
    file(INSTALL \"${BWGEMM_KERNEL_DIR}/kernels.index\" \"${BWGEMM_KERNEL_DIR}/kernels.csv\" \${lines}
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${vgpu_dir}\")"
    COMPONENT vgpu
  )
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bwgemm")
install(EXPORT bwgemmTargets NAMESPACE bwgemm:: DESTINATION "${package_dir}" COMPONENT dev)
configure_package_config_file(packaging/bwgemmConfig.cmake.in bwgemmConfig.cmake
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS vgpu_dir
)
write_basic_package_version_file(bwgemmConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/bwgemmConfig.cmake" "${PROJECT_BINARY_DIR}/bwgemmConfigVersion.cmake"
  DESTINATION "${package_dir}"
  COMPONENT dev
)

# bwgemm.pc finds the prefix from where it lies, so libdir must be below the prefix.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${pc_dir}" OUTPUT_VARIABLE BWGEMM_PC_PREFIX
)
configure_file(packaging/bwgemm.pc.in bwgemm.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/bwgemm.pc" DESTINATION "${pc_dir}" COMPONENT dev)
