# SPDX-License-Identifier: Apache-2.0
"""The formulas of backward passes. `calls` computes the products: it is the module _operators, or the
module _kernels below it, whose functions have the same names. `needed` says which gradients are needed.

If gradients of gradients may be asked for, a backward pass uses operators that have gradients, and torch's
derivatives of activations, which have gradients too. Otherwise it fuses: one kernel computes the derivative
of an activation, and the gradient of a bias comes with that of the weights."""

import torch

aten = torch.ops.aten


def transposed(matrix):
    return matrix.transpose(-2, -1)


def product(multiply, gradient, a, b, needed):
    """The gradients of a and b in multiply(a, b)."""
    return (multiply(gradient, transposed(b)) if needed[0] else None,
            multiply(transposed(a), gradient) if needed[1] else None)


def addmm(calls, gradient, a, b, beta, alpha, needed):
    """The gradients of input, a and b in addmm. Autograd adds up that of an input that was broadcast."""
    scaled = gradient if alpha == 1 or not any(needed[1:3]) else gradient * alpha
    return (gradient * beta if needed[0] else None,
            *product(calls.mm, scaled, a, b, needed[1:3]))


def activation(calls, dy, z, name):
    """dy times the derivative at z."""
    if name is None:
        return dy
    if not torch.is_grad_enabled():
        return calls.activation_gradient(dy, z, name)
    if name == "relu":
        return aten.threshold_backward(dy, z, 0)
    if name == "silu":
        sigmoid = torch.sigmoid(z)
        return dy * sigmoid * (1 + z * (1 - sigmoid))
    if name == "sigmoid":
        sigmoid = torch.sigmoid(z)
        return dy * sigmoid * (1 - sigmoid)
    return aten.gelu_backward(dy, z, approximate="none" if name == "gelu" else "tanh")


def gate(calls, dy, z, kind):
    """The gradient of z, if dy is that of silu(x) * y for the pairs (x, y) in the rows of z."""
    half = z.shape[1] // 2
    dimension = 1 if kind == "stacked" else 2
    pairs = z.unflatten(1, (2, half) if kind == "stacked" else (half, 2))
    x, y = pairs.select(dimension, 0), pairs.select(dimension, 1)
    dx = activation(calls, dy * y, x.contiguous(), "silu")
    return torch.stack((dx, dy * torch.nn.functional.silu(x)), dimension).flatten(1)


def linear(calls, dz, x, w, needed):
    """The gradients of x, w and bias in z = x @ w.T + bias, if dz is that of z."""
    dx = calls.mm(dz, w) if needed[0] else None
    if needed[1] and needed[2] and not torch.is_grad_enabled():
        return dx, *calls.weight_gradients(dz, x)
    return (dx, calls.mm(transposed(dz), x) if needed[1] else None, dz.sum(0) if needed[2] else None)
