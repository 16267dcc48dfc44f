# SPDX-License-Identifier: Apache-2.0
"""bwgemm._native.product in torch's own operators, of tensors on any device and of any type."""

import torch

RELU, GELU_TANH, GELU, SILU, SIGMOID = 1, 2, 3, 4, 5  # of bwgemmActivation_t
STORE, DERIVATIVE = 1, 2  # of bwgemmAuxMode_t
STACKED = 2  # of bwgemmGate_t
OF_COLUMNS, OF_A, OF_B = 2, 3, 4  # of bwgemmBiasGradient_t

functional, aten = torch.nn.functional, torch.ops.aten


def activated(x, activation):
    return {0: lambda: x, RELU: lambda: functional.relu(x), SILU: lambda: functional.silu(x),
            GELU: lambda: functional.gelu(x), SIGMOID: lambda: torch.sigmoid(x),
            GELU_TANH: lambda: functional.gelu(x, approximate="tanh")}[activation]()


def derived(dy, z, activation):
    """dy times the derivative at z."""
    return {0: lambda: dy, RELU: lambda: aten.threshold_backward(dy, z, 0),
            SILU: lambda: aten.silu_backward(dy, z),
            SIGMOID: lambda: aten.sigmoid_backward(dy, torch.sigmoid(z)),
            GELU: lambda: aten.gelu_backward(dy, z),
            GELU_TANH: lambda: aten.gelu_backward(dy, z, approximate="tanh")}[activation]()


def gated(x, activation, gate):
    if gate == STACKED:
        first, second = x.chunk(2, -1)
    else:
        first, second = x[..., 0::2], x[..., 1::2]
    return activated(first, activation) * second


def fits(a, b, rank):
    return a.dim() == b.dim() == rank and a.shape[-1] == b.shape[-2] and (
        rank == 2 or a.shape[0] == b.shape[0])


def product(a, b, transa, transb, alpha, beta, c, bias, activation, gate, aux, aux_mode, bias_gradient,
            bias_gradient_of, out, out_type, stream, care, rank):
    """None where _native.product returns it: for what goes another way, or fits nowhere."""
    a, b = (x.transpose(-2, -1) if flag else x for x, flag in ((a, transa), (b, transb)))
    if care == 2 or not fits(a, b, rank) or a.dtype != b.dtype or (gate and b.shape[-1] % 2):
        return None
    x = alpha * torch.matmul(a, b)
    if bias is not None:
        if bias.shape != x.shape[-1:]:
            return None
        x = x + bias
    if c is not None:
        if c.shape != x.shape:
            return None
        x = x + beta * c
    if aux_mode == STORE:
        aux.copy_(x)
    if gate:
        x = gated(x, activation, gate)
    else:
        x = derived(x, aux, activation) if aux_mode == DERIVATIVE else activated(x, activation)
    if bias_gradient is not None:
        bias_gradient.copy_({OF_A: lambda: a.sum(1), OF_B: lambda: b.sum(0),
                             OF_COLUMNS: lambda: x.sum(0)}[bias_gradient_of]())
    if out is None:
        return x
    is_float = out.dtype == torch.float32 and out_type is None
    return out.copy_(x) if out.shape == x.shape and (is_float or out.dtype == x.dtype) else None
