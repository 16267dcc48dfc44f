# SPDX-License-Identifier: Apache-2.0
"""What CTest tells the tests of the build: folders and compilers; and how these run programs."""

import os
import re
import subprocess
import sys

SOURCE = os.environ["SOURCE_DIR"]
BUILD = os.environ["BUILD_DIR"]
KERNELS = os.environ["KERNEL_DIR"]
CUDA_ROOT = os.environ["CUDA_ROOT"]
CUDA_INCLUDE = os.environ["CUDA_INCLUDE"]
CMAKE = os.environ["CMAKE"]
LIBRARY = os.path.join(BUILD, "lib", "libbwgemm.so.1")

NVCC, PTXAS, FATBINARY = (
    os.path.join(CUDA_ROOT, "bin", tool) for tool in ("nvcc", "ptxas", "fatbinary"))

# glibc 2.34 and the libstdc++ of GCC 11: the oldest that the libraries run with; README states them.
NEWEST_SYMBOLS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}
# Without any variable that could lead a program back to the build.
PLAIN = {name: value for name, value in os.environ.items()
         if not name.startswith("BWGEMM_") and name != "LD_LIBRARY_PATH"}

sys.path.insert(0, os.path.join(SOURCE, "packaging"))


def output(*command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**PLAIN, **(env or {})}, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def check_oldest_systems(case, path):
    """The file, of any machine, asks for no newer symbols."""
    needs = output("readelf", "-VW", path)
    for node, newest in NEWEST_SYMBOLS.items():
        versions = re.findall(rf"\b{node}_([0-9.]+)", needs)
        used = max((tuple(map(int, version.split("."))) for version in versions), default=(0,))
        case.assertLessEqual(used, newest, f"{path}: {node}")


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


def index():
    """[(sha256 of the blob, path of its PTX)] of kernels.index."""
    lines = read(os.path.join(KERNELS, "kernels.index")).splitlines()
    return [(digest, os.path.join(KERNELS, ptx)) for digest, ptx in map(str.split, lines)]
