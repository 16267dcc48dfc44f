# SPDX-License-Identifier: Apache-2.0
"""bwgemm for PyTorch 2.10 and newer.

    y = bwgemm.torch.linear(x, w, bias, "gelu")      # one kernel; gradients are computed
    with bwgemm.torch.enabled():                     # torch's own products of 16 bits, too
        loss = model(batch)

mm, bmm, addmm, linear and swiglu_linear take tensors of bfloat16 or float16 on CUDA devices, of any
strides. They have gradients, also of second order, run under autocast, torch.compile and CUDA graphs, and
use the current stream. enabled() is for models that are written for torch: it routes torch's mm, addmm,
bmm and baddbmm, and thereby linear and matmul."""

try:
    import torch as _torch
except ImportError as error:
    raise ImportError("bwgemm.torch needs torch, which is not installed") from error
if not (hasattr(_torch.Tensor, "__dlpack_c_exchange_api__") and hasattr(_torch.library, "get_kernel")):
    raise ImportError(f"bwgemm.torch needs torch 2.10 or newer, but this is {_torch.__version__}")

from bwgemm.torch import _gradients  # noqa: E402, F401: registers itself
from bwgemm.torch._functions import addmm, bmm, linear, mm, swiglu_linear  # noqa: E402
from bwgemm.torch._routing import disable, enable, enabled, is_enabled  # noqa: E402

__all__ = ["addmm", "bmm", "disable", "enable", "enabled", "is_enabled", "linear", "mm",
           "swiglu_linear"]
