# SPDX-License-Identifier: Apache-2.0
"""The functions that users call. A call that needs no gradient, under no mode of torch, goes straight to
the compiled module. A call that needs gradients, under no mode of torch, goes to _eager. All other calls,
and all that torch.compile traces, are calls of torch.ops.bwgemm."""

import torch

from bwgemm import _native
from bwgemm._library import ACTIVATION, GATE
from bwgemm.torch import _eager
from bwgemm.torch import _operators as operators
from bwgemm.torch._kernels import MODES, NO_AUX

_is_compiling = torch.compiler.is_compiling
_GATES = ("interleaved", "stacked")


def _product(a, b, rank, transb=False, alpha=1.0, beta=0.0, c=None, bias=None, activation=0, gate=0):
    """None if the call must go another way."""
    return _native.product(a, b, False, transb, alpha, beta, c, bias, activation, gate, None, NO_AUX,
                           None, 0, None, None, None, MODES, rank)


def _is_eager(*tensors):
    return torch.is_grad_enabled() and _native.is_eager(*tensors)


def mm(a, b):
    """a @ b, of two matrices."""
    if not _is_compiling():
        result = _product(a, b, 2)
        if result is not None:
            return result
        if _is_eager(a, b):
            return _eager.mm(a, b)
    return operators.mm(a, b)


def bmm(a, b):
    """a[i] @ b[i] for each i, of two batches."""
    if not _is_compiling():
        result = _product(a, b, 3)
        if result is not None:
            return result
        if _is_eager(a, b):
            return _eager.bmm(a, b)
    return operators.bmm(a, b)


def addmm(input, a, b, *, beta=1, alpha=1):
    """beta * input + alpha * a @ b. input is broadcast to the result; if beta is 0, it is not read."""
    if not _is_compiling():
        if input.dim() == 2 and beta != 0 and input.dtype == a.dtype:
            result = _product(a, b, 2, False, alpha, beta, input)
            if result is not None:
                return result
        if _is_eager(input, a, b):
            return _eager.addmm(input, a, b, beta, alpha)
    return operators.addmm(input, a, b, beta=beta, alpha=alpha)


def _needs_gradients(*tensors):
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def _checked(name, value, allowed):
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, but must be one of {list(allowed)}")


def _linear(x, w, bias, activation):
    if not _is_compiling():
        result = _product(x, w, 2, True, 1.0, 0.0, None, bias, ACTIVATION[activation])
        if result is not None:
            return result
        if _is_eager(x, w, bias):
            return _eager.linear(x, w, bias, activation)
    if activation is not None and _needs_gradients(x, w, bias):
        return operators.linear_kept(x, w, bias, activation)[0]
    return operators.linear(x, w, bias, activation)


def _matrix(x):
    """x, with one dimension for all but the last."""
    return x.flatten(0, -2) if x.dim() > 1 else x.unsqueeze(0)


def linear(x, w, bias=None, activation=None):
    """activation(x @ w.T + bias) in one kernel. x may have any number of dimensions; w has a row for
    each output, as in torch.nn.Linear. activation: None, "relu", "gelu", "gelu_tanh", "silu" or
    "sigmoid"."""
    _checked("activation", activation, ACTIVATION)
    if x.dim() == 2:
        return _linear(x, w, bias, activation)
    result = _linear(_matrix(x), w, bias, activation)
    return result.view(*x.shape[:-1], w.shape[0])


def _swiglu_linear(x, w, bias, gate):
    if not _is_compiling():
        result = _product(x, w, 2, True, 1.0, 0.0, None, bias, ACTIVATION["silu"], GATE[gate])
        if result is not None:
            return result
        if _is_eager(x, w, bias):
            return _eager.swiglu_linear(x, w, bias, gate)
    if _needs_gradients(x, w, bias):
        return operators.swiglu_linear_kept(x, w, bias, gate)[0]
    return operators.swiglu_linear(x, w, bias, gate)


def swiglu_linear(x, w, bias=None, gate="stacked"):
    """silu(x @ gate.T) * (x @ up.T) in one kernel. w holds the rows of both: those of gate and then
    those of up if gate is "stacked", one of each in turn if it is "interleaved". bias is as long as w."""
    _checked("gate", gate, _GATES)
    if x.dim() == 2:
        return _swiglu_linear(x, w, bias, gate)
    result = _swiglu_linear(_matrix(x), w, bias, gate)
    return result.view(*x.shape[:-1], w.shape[0] // 2)
