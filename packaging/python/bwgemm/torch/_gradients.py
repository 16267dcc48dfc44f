# SPDX-License-Identifier: Apache-2.0
"""Gradients of the operators, as they are registered with torch."""

import torch

from bwgemm.torch import _backward
from bwgemm.torch import _operators as operators


def _register(name, backward, setup_context):
    torch.library.register_autograd(f"bwgemm::{name}", backward, setup_context=setup_context,
                                    lib=operators.library)


def _keep_operands(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _of_product(multiply):
    return lambda ctx, gradient: _backward.product(multiply, gradient, *ctx.saved_tensors,
                                                   ctx.needs_input_grad)


_register("mm", _of_product(operators.mm), _keep_operands)
_register("bmm", _of_product(operators.bmm), _keep_operands)


def _keep_addmm(ctx, inputs, keyword_only_inputs, output):
    _, a, b = inputs
    ctx.save_for_backward(a, b)
    ctx.scalars = keyword_only_inputs["beta"], keyword_only_inputs["alpha"]


def _addmm(ctx, gradient):
    return _backward.addmm(operators, gradient, *ctx.saved_tensors, *ctx.scalars, ctx.needs_input_grad)


_register("addmm", _addmm, _keep_addmm)


def _keep_linear(ctx, inputs, output):
    x, w, bias, ctx.kind = inputs
    ctx.save_for_backward(x, w, bias)


def _of_linear(derivative):
    """A backward pass that computes z again. derivative(operators, dy, z, kind) is the gradient of z."""
    def backward(ctx, dy):
        x, w, bias = ctx.saved_tensors
        if ctx.kind is not None:
            dy = derivative(operators, dy, operators.linear(x, w, bias, None), ctx.kind)
        return *_backward.linear(operators, dy, x, w, ctx.needs_input_grad), None

    return backward


_register("linear", _of_linear(_backward.activation), _keep_linear)
_register("swiglu_linear", _of_linear(_backward.gate), _keep_linear)


def _keep_kept(ctx, inputs, output):
    x, w, _, ctx.kind = inputs
    ctx.save_for_backward(x, w, output[1])
    ctx.set_materialize_grads(False)


def _of_kept(derivative):
    """A backward pass of an operator that returns z too. dz is the gradient of that result."""
    def backward(ctx, dy, dz):
        x, w, z = ctx.saved_tensors
        if dy is not None:
            through_y = derivative(operators, dy, z, ctx.kind)
            dz = through_y if dz is None else dz + through_y
        if dz is None:
            return None, None, None, None
        return *_backward.linear(operators, dz, x, w, ctx.needs_input_grad), None

    return backward


_register("linear_kept", _of_kept(_backward.activation), _keep_kept)
_register("swiglu_linear_kept", _of_kept(_backward.gate), _keep_kept)
