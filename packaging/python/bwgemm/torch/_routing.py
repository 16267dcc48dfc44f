# SPDX-License-Identifier: Apache-2.0
"""torch's own products on bwgemm: aten::mm, addmm, bmm and baddbmm of bfloat16 and float16 on CUDA
devices, and so linear and matmul, which are made of them. What bwgemm does not serve goes to the kernel
that was there before, and comes back from it as ever, errors too."""

import threading
import warnings

import torch

from bwgemm import _native
from bwgemm.torch._kernels import NO_AUX, NO_CARE

_lock = threading.Lock()
_library = None  # made by the first call of enable(), and kept: other threads may be inside of it
_count = 0


def _product(a, b, rank, c=None, bias=None, alpha=1.0, beta=0.0):
    return _native.product(a, b, False, False, alpha, beta, c, bias, 0, 0, None, NO_AUX, None, 0, None,
                           None, None, NO_CARE, rank)


def _added(input, a, b, rank, beta, alpha):
    """None if input is neither a row for all rows of the result nor as large as that."""
    if beta == 0:
        return _product(a, b, rank, alpha=alpha)
    if input.dim() == rank:
        return _product(a, b, rank, input, alpha=alpha, beta=beta)
    if rank == 2 and input.dim() == 1 and beta == 1:
        return _product(a, b, rank, bias=input, alpha=alpha)
    return None


def _routes(key):
    """{name of an operator: its kernel}, in front of those that are registered now."""
    mm, bmm, addmm, baddbmm = (torch.library.get_kernel(f"aten::{name}", key)
                               for name in ("mm", "bmm", "addmm", "baddbmm"))

    def route_mm(keys, a, b):
        result = _product(a, b, 2) if _count else None
        return mm.call_boxed(keys, a, b) if result is None else result

    def route_bmm(keys, a, b):
        result = _product(a, b, 3) if _count else None
        return bmm.call_boxed(keys, a, b) if result is None else result

    def route_addmm(keys, input, a, b, *, beta=1, alpha=1):
        result = _added(input, a, b, 2, beta, alpha) if _count else None
        return addmm.call_boxed(keys, input, a, b, beta=beta, alpha=alpha) if result is None else result

    def route_baddbmm(keys, input, a, b, *, beta=1, alpha=1):
        result = _added(input, a, b, 3, beta, alpha) if _count else None
        return baddbmm.call_boxed(keys, input, a, b, beta=beta, alpha=alpha) if result is None else result

    return {"mm": route_mm, "bmm": route_bmm, "addmm": route_addmm, "baddbmm": route_baddbmm}


def _install(key):
    library = torch.library.Library("aten", "IMPL")
    routes = _routes(key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced is what is wanted
        for name, route in routes.items():
            library.impl(name, route, key, with_keyset=True, allow_override=True)
    return library


def enable():
    """Routes torch's products of bfloat16 and float16 to bwgemm, in the whole process, until disable()
    has been called as often."""
    global _library, _count
    with _lock:
        if _library is None:
            _library = _install("CUDA")
        _count += 1


def disable():
    """Ends what enable() began."""
    global _count
    with _lock:
        if _count == 0:
            raise RuntimeError("disable() was called more often than enable()")
        _count -= 1


def is_enabled():
    return _count > 0


class enabled:
    """with enabled(): torch's products of bfloat16 and float16 are bwgemm's. All threads of the process
    have them, backward passes too."""

    def __enter__(self):
        enable()
        return self

    def __exit__(self, *_):
        disable()
