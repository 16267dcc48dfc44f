# SPDX-License-Identifier: Apache-2.0
"""What CTest tells the tests of the build: folders and compilers."""

import os
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

sys.path.insert(0, os.path.join(SOURCE, "packaging"))


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


def index():
    """[(sha256 of the blob, path of its PTX)] of kernels.index."""
    lines = read(os.path.join(KERNELS, "kernels.index")).splitlines()
    return [(digest, os.path.join(KERNELS, ptx)) for digest, ptx in map(str.split, lines)]
