# SPDX-License-Identifier: Apache-2.0
"""torch's own products on bwgemm: aten::mm, addmm, bmm and baddbmm of bfloat16 and float16 on CUDA
devices, with an argument "out" and without. linear and matmul call these. Calls that bwgemm does not serve
go to the kernel that was there before, which also raises the errors."""

import threading
import warnings

import torch

from bwgemm import _native
from bwgemm._library import DATA_TYPE
from bwgemm.torch._kernels import NO_AUX, NO_CARE

_TYPES = {torch.bfloat16: DATA_TYPE["bfloat16"], torch.float16: DATA_TYPE["float16"]}

_lock = threading.Lock()
_library = None  # made by the first enable() and kept, because other threads may be inside a route
_count = 0


def _product(a, b, rank, out, c=None, bias=None, alpha=1.0, beta=0.0):
    """The result, or None if the call is not served. An out must have the type of a."""
    out_type = None if out is None else _TYPES.get(a.dtype, -1)
    return _native.product(a, b, False, False, alpha, beta, c, bias, 0, 0, None, NO_AUX, None, 0, out,
                           out_type, None, NO_CARE, rank)


def _can_be_broadcast(input, a, b, rank):
    """Whether input can be broadcast to a @ b."""
    if not a.dim() == b.dim() == rank >= input.dim():
        return False
    sizes = (b.shape[-1], *reversed(a.shape[:-1]))
    return all(size in (1, other) for size, other in zip(reversed(input.shape), sizes))


def _sum(input, a, b, rank, beta, alpha, out=None):
    """The same of beta * input + alpha * a @ b. input must have the type of a. It must be as large as the
    result, or be one row that beta is 1 for. If beta is 0, it may be anything that torch takes."""
    if input.dtype != a.dtype:
        return None
    if beta == 0:
        return _product(a, b, rank, out, alpha=alpha) if _can_be_broadcast(input, a, b, rank) else None
    if input.dim() == rank:
        return _product(a, b, rank, out, input, alpha=alpha, beta=beta)
    if rank == 2 and input.dim() == 1 and beta == 1:
        return _product(a, b, rank, out, bias=input, alpha=alpha)
    return None


class _Kernels:
    """The kernels of an operator's overloads, plain and with "out", that are registered for a key now. They
    are of one backend, and so do not ask for the keys of a call: routes without keys take half the time."""

    def __init__(self, name, key):
        self.keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
        self.plain = torch.library.get_kernel(f"aten::{name}", key).call_boxed
        self.into = torch.library.get_kernel(f"aten::{name}.out", key).call_boxed


def _routes_of_products(name, rank, key):
    """{overload: a kernel in front of the one that is registered now}, for mm or bmm."""
    before = _Kernels(name, key)

    def route(a, b):
        if _count:
            result = _native.product(a, b, False, False, 1.0, 0.0, None, None, 0, 0, None, NO_AUX, None, 0,
                                     None, None, None, NO_CARE, rank)
            if result is not None:
                return result
        return before.plain(before.keys, a, b)

    def route_into(a, b, *, out):
        if _count and _product(a, b, rank, out) is not None:
            return out
        return before.into(before.keys, a, b, out=out)

    return {name: route, f"{name}.out": route_into}


def _routes_of_sums(name, rank, key):
    """The same for addmm or baddbmm."""
    before = _Kernels(name, key)

    def route(input, a, b, *, beta=1, alpha=1):
        if _count:
            result = _sum(input, a, b, rank, beta, alpha)
            if result is not None:
                return result
        return before.plain(before.keys, input, a, b, beta=beta, alpha=alpha)

    def route_into(input, a, b, *, beta=1, alpha=1, out):
        if _count and _sum(input, a, b, rank, beta, alpha, out) is not None:
            return out
        return before.into(before.keys, input, a, b, beta=beta, alpha=alpha, out=out)

    return {name: route, f"{name}.out": route_into}


def _install(key):
    library = torch.library.Library("aten", "IMPL")
    routes = {**_routes_of_products("mm", 2, key), **_routes_of_products("bmm", 3, key),
              **_routes_of_sums("addmm", 2, key), **_routes_of_sums("baddbmm", 3, key)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that a kernel is replaced, which is the purpose
        for name, route in routes.items():
            library.impl(name, route, key, allow_override=True)
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
