# SPDX-License-Identifier: Apache-2.0
# What cpack makes of the components of BwgemmInstall.cmake: an archive and a Debian package of
# each.
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_PACKAGE_VENDOR "bwgemm")
set(CPACK_PACKAGE_CONTACT "the bwgemm developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES OFF)  # the library is installed as it was tested
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL runtime dev)
if(TARGET bwgemm_cublas)
  list(APPEND CPACK_COMPONENTS_ALL dropin)
endif()
if(TARGET bwgemm_vgpu_driver)
  list(APPEND CPACK_COMPONENTS_ALL vgpu)
endif()

# ---- archives: to be unpacked into any prefix ----------------------------------------------------
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
foreach(component runtime dropin dev vgpu)
  string(TOUPPER ${component} key)
  set(CPACK_ARCHIVE_${key}_FILE_NAME "bwgemm-${component}-${PROJECT_VERSION}-${system}")
endforeach()

# ---- Debian packages -----------------------------------------------------------------------------
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING)  # else dpkg knows
  string(REPLACE aarch64 arm64 CPACK_DEBIAN_PACKAGE_ARCHITECTURE "${CMAKE_SYSTEM_PROCESSOR}")
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION "libs")
set(runtime_package "libbwgemm${PROJECT_VERSION_MAJOR}")
# The oldest systems that the tests hold the libraries to.
set(system_libraries "libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 11)")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "${runtime_package}")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "The library. It opens the CUDA driver, 12.8 or newer, when it is first used."
)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${system_libraries}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libcuda1")
# Packages that link to the library learn from these what to depend on, and ldconfig learns of it.
set(control "${PROJECT_BINARY_DIR}/debian")
file(WRITE "${control}/shlibs"
  "libbwgemm ${PROJECT_VERSION_MAJOR} ${runtime_package} (>= ${PROJECT_VERSION})\n"
)
file(WRITE "${control}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${control}/shlibs;${control}/triggers")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# It is made for the library of its own build.
set(CPACK_DEBIAN_DROPIN_PACKAGE_NAME "libbwgemm-cublas")
set(CPACK_COMPONENT_DROPIN_DESCRIPTION
  "A library to preload in front of cuBLAS, which computes 16-bit products by bwgemm."
)
set(CPACK_DEBIAN_DROPIN_PACKAGE_DEPENDS
  "${runtime_package} (= ${PROJECT_VERSION}), ${system_libraries}"
)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME "libbwgemm-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION "libdevel")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers for C and C++, CMake package and pkg-config file.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")

# Its PTX is that of this build's kernels: the library must be of the same build.
set(CPACK_DEBIAN_VGPU_PACKAGE_NAME "bwgemm-vgpu")
set(CPACK_DEBIAN_VGPU_PACKAGE_SECTION "devel")
set(CPACK_COMPONENT_VGPU_DESCRIPTION
  "A CUDA driver that executes the kernels of bwgemm on the CPU, for tests without a GPU."
)
set(CPACK_DEBIAN_VGPU_PACKAGE_DEPENDS
  "${runtime_package} (= ${PROJECT_VERSION}), ${system_libraries}"
)
include(CPack)
