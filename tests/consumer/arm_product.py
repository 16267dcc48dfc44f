# SPDX-License-Identifier: Apache-2.0
"""One product by the package, on the false driver of BWGEMM_LIBCUDA: which machine and which package it
was, and how often a kernel was launched. Run by arm_test.py under qemu."""

import os
import platform

import bwgemm
from fake_arrays import CUDA, Dlpack

a, b, c = (Dlpack(shape) for shape in ((128, 64), (64, 256), (128, 256)))
CUDA.fake_cuda_reset()
bwgemm.matmul(a, b, c)
print(platform.machine(), os.path.dirname(bwgemm.__file__), CUDA.fake_cuda_launches(), "launch")
