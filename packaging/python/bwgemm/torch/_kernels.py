# SPDX-License-Identifier: Apache-2.0
"""Products of tensors below torch's dispatcher: no gradients, no modes, any strides."""

import torch

from bwgemm import _native
from bwgemm._library import ACTIVATION, BIAS_GRADIENT, GATE
from bwgemm.torch import _shapes

NO_AUX, STORE, DERIVATIVE = 0, 1, 2  # of bwgemmAuxMode_t
NO_CARE, MODES = 0, 2  # values of Care, the care that _native.product takes
TYPES = (torch.bfloat16, torch.float16)


def check(**tensors):
    """Raises if an operator cannot take these tensors: they must have one 16-bit type and one device."""
    first = next(iter(tensors.values()))
    for name, tensor in tensors.items():
        if tensor is None:
            continue
        if tensor.dtype not in TYPES or tensor.device.type != "cuda" or tensor.layout != torch.strided:
            raise TypeError(f"{name} is a {tensor.layout} tensor of {tensor.dtype} on {tensor.device}, "
                            "but must be a strided one of bfloat16 or float16 on a CUDA device")
        if tensor.dtype != first.dtype or tensor.device != first.device:
            raise ValueError(f"{name} is {tensor.dtype} on {tensor.device}, but {next(iter(tensors))} "
                             f"is {first.dtype} on {first.device}")


def _has_layout(tensor):
    """Whether the library can express the strides: rows or columns are contiguous and do not overlap."""
    *_, rows, columns = tensor.shape
    *_, row_stride, column_stride = tensor.stride()
    return ((columns <= 1 or column_stride == 1) and (rows <= 1 or row_stride >= max(1, columns))
            or (rows <= 1 or row_stride == 1) and (columns <= 1 or column_stride >= max(1, rows)))


def _expressible(tensor):
    if tensor is None or tensor.dim() < 2:
        return tensor if tensor is None else tensor.contiguous()
    # A tensor of no elements is its own contiguous(), whatever its strides are.
    return tensor if _has_layout(tensor) else tensor.clone(memory_format=torch.contiguous_format)


def product(a, b, fit, transa=False, transb=False, alpha=1.0, beta=0.0, c=None, bias=None,
            activation=None, gate=None, aux=None, aux_mode=NO_AUX, bias_gradient=None,
            bias_gradient_of=None, rank=2):
    """A new tensor of activation(alpha * op(a) @ op(b) + bias + beta * c); bwgemmMatmul says more. fit()
    raises if something is wrong with the operands. It is called only if they cannot be used as they are."""
    rest = (ACTIVATION[activation], GATE[gate], aux, aux_mode, bias_gradient,
            BIAS_GRADIENT.get(bias_gradient_of, 0), None, None, None, NO_CARE, rank)
    result = _native.product(a, b, transa, transb, alpha, beta, c, bias, *rest)
    if result is not None:
        return result
    fit()
    result = _native.product(_expressible(a), _expressible(b), transa, transb, alpha, beta,
                             _expressible(c), _expressible(bias), *rest)
    if result is None:
        raise RuntimeError("bwgemm cannot multiply these tensors: "
                           f"{[(type(x), x.dtype, x.shape) for x in (a, b, c, bias) if x is not None]}")
    return result


def mm(a, b):
    def fit():
        check(a=a, b=b)
        _shapes.mm(a, b)

    return product(a, b, fit)


def bmm(a, b):
    def fit():
        check(a=a, b=b)
        _shapes.bmm(a, b)

    return product(a, b, fit, rank=3)


def addmm(input, a, b, *, beta=1, alpha=1):
    check(input=input, a=a, b=b)
    shape = _shapes.addmm(input, a, b)

    def fit():
        """The operands were checked above."""

    if beta == 0:
        return product(a, b, fit, alpha=alpha)
    if beta == 1 and list(input.shape) == shape[1:]:
        return product(a, b, fit, alpha=alpha, bias=input)
    return product(a, b, fit, alpha=alpha, beta=beta, c=input.expand(shape))


def _linear(x, w, bias, activation, gate=None, kept=None):
    def fit():
        check(x=x, w=w, bias=bias)
        (_shapes.linear if gate is None else _shapes.swiglu_linear)(x, w, bias)

    return product(x, w, fit, transb=True, bias=bias, activation=activation, gate=gate, aux=kept,
                   aux_mode=NO_AUX if kept is None else STORE)


def linear(x, w, bias, activation):
    return _linear(x, w, bias, activation)


def linear_kept(x, w, bias, activation):
    kept = x.new_empty(_shapes.linear(x, w, bias))
    return _linear(x, w, bias, activation, kept=kept), kept


def swiglu_linear(x, w, bias, gate):
    return _linear(x, w, bias, "silu", gate)


def swiglu_linear_kept(x, w, bias, gate):
    kept = x.new_empty(_shapes.linear(x, w, bias))
    return _linear(x, w, bias, "silu", gate, kept), kept


def activation_gradient(dy, z, activation):
    """dy times the derivative at z: the epilogue of a product whose k is 0."""
    rows, columns = z.shape

    def fit():
        check(dy=dy, z=z)
        _shapes.activation_gradient(dy, z)

    return product(z.new_empty((rows, 0)), z.new_empty((0, columns)), fit, beta=1.0, c=dy,
                   activation=activation, aux=z.contiguous(), aux_mode=DERIVATIVE)


def weight_gradients(dz, x):
    """(dz.T @ x, the sums of the columns of dz). The product's own second kernel computes the sums."""
    def fit():
        check(dz=dz, x=x)
        _shapes.weight_gradients(dz, x)

    sums = dz.new_zeros(dz.shape[1])  # nothing writes them if the product is empty
    return product(dz, x, fit, transa=True, bias_gradient=sums, bias_gradient_of="a"), sums
