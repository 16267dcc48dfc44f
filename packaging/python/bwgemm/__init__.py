# SPDX-License-Identifier: Apache-2.0
"""Matrix multiplication on Hopper and Blackwell GPUs, for arrays of any library.

    c = bwgemm.matmul(a, b)                                # a @ b
    c = bwgemm.matmul(a, b, bias=v, activation="gelu")     # gelu(a @ b + v), in one kernel
    bwgemm.gemm(a, b, c, alpha=2, beta=1, transb=True)     # c = 2 * a @ b.T + c, in place

Arrays are torch tensors, or anything in the memory of a GPU that has the DLPack protocol or the CUDA
array interface: bfloat16 or float16 (c may also be float32), two dimensions, or three with a batch
in front; one of the last two strides must be 1 (so transposed views are fine, and cost nothing).
Calls are asynchronous, on `stream`, by default the current stream of torch where the first array is
a torch tensor, else the legacy default stream. Sums are formed in float32.

What fails raises: TypeError and ValueError for arguments that are no such arrays or do not go
together, Error for everything else. In the library's own sentences A and B are a and b, C is the
residual or c, and D is c or out. Gradients are not computed here, but in bwgemm.torch: tensors that
require them are refused unless torch.no_grad() is in force.

What is written must overlap nothing else, and its library must say that it may be: by DLPack 1.0, or
beside an older DLPack by the CUDA array interface. So arrays of JAX, which never change, are refused
as c and out. Without them a new array is made, by torch, CuPy, JAX and libraries like it.
"""

import importlib

from bwgemm._gemm import explain, gemm, matmul
from bwgemm._library import Error, build_info, kernel_names, version

__all__ = ["Error", "build_info", "explain", "gemm", "kernel_names", "matmul", "version"]


def __getattr__(name):
    """bwgemm.torch, for those who use it: torch is imported by nothing else here."""
    if name == "torch":
        return importlib.import_module("bwgemm.torch")
    raise AttributeError(f"module 'bwgemm' has no attribute {name!r}")
