# SPDX-License-Identifier: Apache-2.0
"""The preset aarch64 in a folder of this build, and programs for 64-bit Arm hosts: made by a compiler that
runs here, and run by qemu over the false driver."""

import functools
import os
import shutil
import sys
import unittest

import environment
from environment import output

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
SYSTEM = "/usr/aarch64-linux-gnu"
BUILD = os.path.join(environment.BUILD, "aarch64")
LIB = os.path.join(BUILD, "lib")
TESTS = os.path.join(environment.SOURCE, "tests")
SUPPORT = ["fake_libcuda.cpp", "fake_libcuda_events.cpp", "fake_libcuda_graphs.cpp",
           "fake_libcuda_kernels.cpp", "fake_libcuda_streams.cpp"]
DOUBLES = {"libcublasLt.so.13": ("fake_cublaslt.cpp", "fake_lt_multiply.cpp", "fake_cublaslt.map"),
           "libcublas.so.13": ("fake_cublas.cpp", "fake_products.cpp", "fake_multiply.cpp",
                               "fake_cublas.map")}


def build(*targets):
    """Builds them. What is packaged later is what tests have built."""
    output(environment.CMAKE, "-S", environment.SOURCE, "-B", BUILD, "--preset", "aarch64",
           "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0", "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON",
           f"-DBWGEMM_CUDA_ROOT={environment.CUDA_ROOT}",
           f"-DBWGEMM_KERNEL_ARCHIVE={os.path.join(environment.KERNELS, 'kernels.archive')}")
    output(environment.CMAKE, "--build", BUILD, "--target", *targets)


def compiled(name, sources, *flags, include=os.path.join(environment.SOURCE, "include")):
    """The path of a program or a library of the tests. Sources in C are compiled as C."""
    path = os.path.join(LIB, name)
    folders = (include, TESTS, os.path.join(environment.SOURCE, "src"))
    is_c = sources[0].endswith(".c")
    output(COMPILER[:-2] + "cc" if is_c else COMPILER, *([] if is_c else ["-std=c++20"]), "-O0", "-fPIC",
           "-fvisibility=hidden", *(f"-I{folder}" for folder in folders), "-isystem",
           environment.CUDA_INCLUDE, "-o", path, *(os.path.join(TESTS, source) for source in sources),
           *flags, "-ldl", "-lpthread")
    return path


@functools.cache
def false_driver():
    return compiled("libbwgemm_fake_libcuda.so", [f"support/{name}" for name in SUPPORT], "-shared")


@functools.cache
def doubles():
    """Those of cuBLASLt and cuBLAS, as a program is linked to them."""
    made = []
    for name, (*sources, symbols) in DOUBLES.items():
        made.append(compiled(name, [f"dropin/{source}" for source in sources], "-shared",
                             f"-Wl,-soname,{name}", "-Wl,--version-script=" +
                             os.path.join(TESTS, "dropin", symbols), *made))
    return made[::-1]


def emulated(*program, root=SYSTEM, libraries=LIB, **variables):
    """The command that runs it. `root` has the system's libraries."""
    variables = {"LD_LIBRARY_PATH": libraries, "BWGEMM_LIBCUDA": false_driver(), **variables}
    named = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
    return [EMULATOR, "-L", root, *named, *program]


def run(*program, **options):
    return output(*emulated(*program, **options))


def main():
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            print(f"NO {tool}: packaging/setup.sh installs it")
            sys.exit(0)
    unittest.main()
