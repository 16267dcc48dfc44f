# SPDX-License-Identifier: Apache-2.0
# python_includes: the headers for the compiled module of another machine. Empty: there are none.
# They are those of this machine's Python, because packages of the other machine's could not be
# installed beside them. Of pyconfig.h the limited interface uses sizes of types. These are the same
# on all 64-bit machines, and native/python.h asserts that.
set(python_includes "")
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('include'))"
  OUTPUT_VARIABLE include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
)
if(EXISTS "${include}/Python.h")
  # Debian's pyconfig.h includes a file named after the machine, here one that leads to this machine's.
  cmake_path(GET include FILENAME version)
  set(ours "${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/${version}/pyconfig.h")
  set(theirs "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/${version}/pyconfig.h")
  cmake_path(GET include PARENT_PATH of_all)
  if(EXISTS "${of_all}/${ours}" AND NOT EXISTS "${of_all}/${theirs}")
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/include/${theirs}"
      CONTENT "#include \"${of_all}/${ours}\"\n"
    )
  endif()
  set(python_includes "${include}" "${CMAKE_CURRENT_BINARY_DIR}/include")
endif()
