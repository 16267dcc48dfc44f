# SPDX-License-Identifier: Apache-2.0
"""Gradients of the operators.

Where gradients of gradients may be asked for, backward passes are made of operators that have gradients,
and of torch's derivatives of activations, which have their own. Else they fuse what can be fused: the
derivative of an activation, and the gradient of a bias, which comes with that of the weights."""

import torch

from bwgemm.torch import _operators as operators

aten = torch.ops.aten


def _register(name, backward, setup_context):
    torch.library.register_autograd(f"bwgemm::{name}", backward, setup_context=setup_context,
                                    lib=operators.library)


def _transposed(matrix):
    return matrix.transpose(-2, -1)


def _keep_operands(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _of_product(multiply):
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        needs_a, needs_b = ctx.needs_input_grad[:2]
        return (multiply(gradient, _transposed(b)) if needs_a else None,
                multiply(_transposed(a), gradient) if needs_b else None)

    return backward


_register("mm", _of_product(operators.mm), _keep_operands)
_register("bmm", _of_product(operators.bmm), _keep_operands)


def _keep_addmm(ctx, inputs, keyword_only_inputs, output):
    input, a, b = inputs
    ctx.save_for_backward(a, b)
    ctx.shape = input.shape
    ctx.alpha, ctx.beta = keyword_only_inputs["alpha"], keyword_only_inputs["beta"]


def _addmm_backward(ctx, gradient):
    a, b = ctx.saved_tensors
    needs_input, needs_a, needs_b = ctx.needs_input_grad[:3]
    scaled = gradient if ctx.alpha == 1 or not (needs_a or needs_b) else gradient * ctx.alpha
    return ((gradient * ctx.beta).sum_to_size(ctx.shape) if needs_input else None,
            operators.mm(scaled, _transposed(b)) if needs_a else None,
            operators.mm(_transposed(a), scaled) if needs_b else None)


_register("addmm", _addmm_backward, _keep_addmm)


def _activation_gradient(dy, z, activation):
    """dy times the derivative at z."""
    if not torch.is_grad_enabled():
        return operators.activation_gradient(dy, z, activation)
    if activation == "relu":
        return aten.threshold_backward(dy, z, 0)
    if activation == "silu":
        sigmoid = torch.sigmoid(z)
        return dy * sigmoid * (1 + z * (1 - sigmoid))
    return aten.gelu_backward(dy, z, approximate="none" if activation == "gelu" else "tanh")


def _linear_gradients(ctx, dz, x, w):
    """Of x, w and bias."""
    needs_x, needs_w, needs_bias = ctx.needs_input_grad[:3]
    dx = operators.mm(dz, w) if needs_x else None
    if needs_w and needs_bias and not torch.is_grad_enabled():
        return dx, *operators.weight_gradients(dz, x)
    return (dx, operators.mm(_transposed(dz), x) if needs_w else None,
            dz.sum(0) if needs_bias else None)


def _keep_linear(ctx, inputs, output):
    x, w, bias, activation = inputs
    ctx.save_for_backward(x, w, bias)
    ctx.activation = activation


def _linear_backward(ctx, dy):
    x, w, bias = ctx.saved_tensors
    if ctx.activation is not None:  # linear_kept would have kept z
        dy = _activation_gradient(dy, operators.linear(x, w, bias, None), ctx.activation)
    return *_linear_gradients(ctx, dy, x, w), None


_register("linear", _linear_backward, _keep_linear)


def _keep_kept(ctx, inputs, output):
    x, w, _, ctx.mode = inputs
    ctx.save_for_backward(x, w, output[1])
    ctx.set_materialize_grads(False)


def _sum(first, second):
    """Of two gradients, of which there may be none."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _linear_kept_backward(ctx, dy, dz):
    x, w, z = ctx.saved_tensors
    if dy is not None:
        dz = _sum(_activation_gradient(dy, z, ctx.mode), dz)
    if dz is None:
        return None, None, None, None
    return *_linear_gradients(ctx, dz, x, w), None


_register("linear_kept", _linear_kept_backward, _keep_kept)


def _gate_gradient(dy, z, gate):
    """Of z, of whose pairs (gate, up) silu(gate) * up was made."""
    half = z.shape[1] // 2
    dimension = 1 if gate == "stacked" else 2
    pairs = z.unflatten(1, (2, half) if gate == "stacked" else (half, 2))
    gated, up = pairs.select(dimension, 0), pairs.select(dimension, 1)
    d_gated = _activation_gradient(dy * up, gated.contiguous(), "silu")
    return torch.stack((d_gated, dy * torch.nn.functional.silu(gated)), dimension).flatten(1)


def _swiglu_backward(ctx, dy):
    x, w, bias = ctx.saved_tensors
    dz = _gate_gradient(dy, operators.linear(x, w, bias, None), ctx.activation)
    return *_linear_gradients(ctx, dz, x, w), None


_register("swiglu_linear", _swiglu_backward, _keep_linear)


def _swiglu_kept_backward(ctx, dy, dz):
    x, w, z = ctx.saved_tensors
    if dy is not None:
        dz = _sum(_gate_gradient(dy, z, ctx.mode), dz)
    if dz is None:
        return None, None, None, None
    return *_linear_gradients(ctx, dz, x, w), None


_register("swiglu_linear_kept", _swiglu_kept_backward, _keep_kept)
