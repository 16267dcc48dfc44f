# SPDX-License-Identifier: Apache-2.0
"""torch.ops.bwgemm: the operators, each with its kernel for CUDA, its results as fake tensors and its
types under autocast. _gradients registers their gradients. They take matrices only; _functions reshapes
operands of more dimensions."""

import torch

from bwgemm.torch import _kernels, _shapes

library = torch.library.Library("bwgemm", "DEF")


def _under_autocast(operator):
    """The operator with its tensors cast to the type of autocast, as torch.mm casts its own."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)

    def cast(value, dtype):
        is_cast = (isinstance(value, torch.Tensor) and value.is_cuda and value.is_floating_point()
                   and value.dtype != torch.float64)
        return value.to(dtype) if is_cast else value

    def run(*arguments, **named):
        dtype = torch.get_autocast_dtype("cuda")
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return operator(*(cast(argument, dtype) for argument in arguments), **named)

    return run


def _define(signature, kernel, fake):
    name = signature.split("(")[0]
    library.define(signature, tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(name, kernel, "CUDA")
    torch.library.register_fake(f"bwgemm::{name}", fake, lib=library)
    operator = getattr(torch.ops.bwgemm, name).default
    library.impl(name, _under_autocast(operator), "AutocastCUDA")
    return operator


mm = _define("mm(Tensor a, Tensor b) -> Tensor", _kernels.mm,
             lambda a, b: a.new_empty(_shapes.mm(a, b)))

bmm = _define("bmm(Tensor a, Tensor b) -> Tensor", _kernels.bmm,
              lambda a, b: a.new_empty(_shapes.bmm(a, b)))

addmm = _define("addmm(Tensor input, Tensor a, Tensor b, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                _kernels.addmm,
                lambda input, a, b, *, beta=1, alpha=1: a.new_empty(_shapes.addmm(input, a, b)))

linear = _define("linear(Tensor x, Tensor w, Tensor? bias, str? activation) -> Tensor",
                 _kernels.linear,
                 lambda x, w, bias, activation: x.new_empty(_shapes.linear(x, w, bias)))

# The second result of an operator "kept" is what the activation or the gate is applied to.
linear_kept = _define(
    "linear_kept(Tensor x, Tensor w, Tensor? bias, str activation) -> (Tensor, Tensor)",
    _kernels.linear_kept,
    lambda x, w, bias, activation: tuple(x.new_empty(_shapes.linear(x, w, bias)) for _ in range(2)))

swiglu_linear = _define(
    "swiglu_linear(Tensor x, Tensor w, Tensor? bias, str gate) -> Tensor", _kernels.swiglu_linear,
    lambda x, w, bias, gate: x.new_empty(_shapes.swiglu_linear(x, w, bias)))

swiglu_linear_kept = _define(
    "swiglu_linear_kept(Tensor x, Tensor w, Tensor? bias, str gate) -> (Tensor, Tensor)",
    _kernels.swiglu_linear_kept,
    lambda x, w, bias, gate: (x.new_empty(_shapes.swiglu_linear(x, w, bias)),
                              x.new_empty(_shapes.linear(x, w, bias))))

activation_gradient = _define(
    "activation_gradient(Tensor dy, Tensor z, str activation) -> Tensor",
    _kernels.activation_gradient,
    lambda dy, z, activation: z.new_empty(_shapes.activation_gradient(dy, z)))

weight_gradients = _define(
    "weight_gradients(Tensor dz, Tensor x) -> (Tensor, Tensor)", _kernels.weight_gradients,
    lambda dz, x: (x.new_empty(_shapes.weight_gradients(dz, x)), dz.new_empty([dz.shape[1]])))
