# SPDX-License-Identifier: Apache-2.0
"""The shapes of the operators' results, and the checks that operands fit each other. Tensors may be fake,
with symbols for sizes."""

import torch


def _dimensions(count, **tensors):
    for name, tensor in tensors.items():
        torch._check(tensor.dim() == count,
                     lambda: f"{name} has {tensor.dim()} dimensions, but must have {count}")


def _product(a, b, transb=False):
    inner, columns = (b.shape[-1], b.shape[-2]) if transb else (b.shape[-2], b.shape[-1])
    torch._check(a.shape[-1] == inner, lambda: f"the inner sizes differ: of {tuple(a.shape)} and "
                 f"{tuple(b.shape)}" + (" transposed" if transb else ""))
    return [a.shape[-2], columns]


def mm(a, b):
    _dimensions(2, a=a, b=b)
    return _product(a, b)


def bmm(a, b):
    _dimensions(3, a=a, b=b)
    torch._check(a.shape[0] == b.shape[0],
                 lambda: f"a has {a.shape[0]} matrices, b has {b.shape[0]}")
    return [a.shape[0], *_product(a, b)]


def addmm(input, a, b):
    shape = mm(a, b)
    input.expand(shape)  # raises if it does not fit
    return shape


def linear(x, w, bias):
    _dimensions(2, x=x, w=w)
    if bias is not None:
        torch._check(bias.dim() == 1 and bias.shape[0] == w.shape[0],
                     lambda: f"bias is of {tuple(bias.shape)}, but w has {w.shape[0]} rows")
    return _product(x, w, transb=True)


def swiglu_linear(x, w, bias):
    torch._check(w.shape[0] % 2 == 0, lambda: f"w has {w.shape[0]} rows, but their number must be even")
    rows, columns = linear(x, w, bias)
    return [rows, columns // 2]


def activation_gradient(dy, z):
    _dimensions(2, dy=dy, z=z)
    torch._check(dy.shape == z.shape, lambda: f"dy is of {tuple(dy.shape)}, z of {tuple(z.shape)}")
    return list(z.shape)


def weight_gradients(dz, x):
    _dimensions(2, dz=dz, x=x)
    torch._check(dz.shape[0] == x.shape[0], lambda: f"dz has {dz.shape[0]} rows, x {x.shape[0]}")
    return [dz.shape[1], x.shape[1]]
