# SPDX-License-Identifier: Apache-2.0
"""The operators as functions of torch.autograd, for calls under no mode of torch. A call of the registered
operator computes the same, but takes the host several times as long."""

import torch

from bwgemm import _native
from bwgemm.torch import _backward, _kernels, _operators


def _calls(*tensors):
    """The module that computes the products of a backward pass."""
    is_plain = not torch.is_grad_enabled() and _native.is_eager(*tensors)
    return _kernels if is_plain and not torch.compiler.is_compiling() else _operators


def _product_of(name):
    """The class of mm or bmm."""
    kernel = getattr(_kernels, name)

    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return kernel(a, b)

    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        multiply = getattr(_calls(gradient, a, b), name)
        return _backward.product(multiply, gradient, a, b, ctx.needs_input_grad)

    return type(name.capitalize(), (torch.autograd.Function,),
                {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class Addmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, a, b, beta, alpha):
        ctx.save_for_backward(a, b)
        ctx.scalars = beta, alpha
        return _kernels.addmm(input, a, b, beta=beta, alpha=alpha)

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return *_backward.addmm(_calls(gradient, a, b), gradient, a, b, *ctx.scalars,
                                ctx.needs_input_grad), None, None


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, bias, kind):
        return _forward(ctx, x, w, bias, kind, _kernels.linear_kept)

    @staticmethod
    def backward(ctx, dy):
        return _backward_of(ctx, dy, _backward.activation)


class Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, bias, kind):
        return _forward(ctx, x, w, bias, kind, _kernels.swiglu_linear_kept)

    @staticmethod
    def backward(ctx, dy):
        return _backward_of(ctx, dy, _backward.gate)


def _forward(ctx, x, w, bias, kind, kept):
    """kept: the kernel that also returns z, which the activation or the gate is applied to."""
    ctx.kind = kind
    if kind is None:
        ctx.save_for_backward(x, w, bias, None)
        return _kernels.linear(x, w, bias, None)
    y, z = kept(x, w, bias, kind)
    ctx.save_for_backward(x, w, bias, z)
    return y


def _backward_of(ctx, dy, derivative):
    x, w, bias, z = ctx.saved_tensors
    calls = _calls(dy, x, w)
    if ctx.kind is not None:
        if torch.is_grad_enabled():  # z has no gradient of its own
            z = _operators.linear(x, w, bias, None)
        dy = derivative(calls, dy, z, ctx.kind)
    return *_backward.linear(calls, dy, x, w, ctx.needs_input_grad), None


def _apply_of(function):
    """The apply() that Function.apply() ends with. What that does before is for transforms of torch.func,
    under which no call comes here, and takes as long as the rest."""
    return super(torch.autograd.Function, function).apply


mm, bmm = _apply_of(_product_of("mm")), _apply_of(_product_of("bmm"))
addmm, linear, swiglu_linear = map(_apply_of, (Addmm, Linear, Swiglu))
