# SPDX-License-Identifier: Apache-2.0
"""bwgemm.torch on a machine without a GPU: its operators, gradients, fake tensors, compilation and
routes, over products that torch computes on the CPU. Run by wheel_test.py; skipped where there is no
torch that bwgemm.torch can use."""

import sys
import unittest
from unittest import mock

try:
    import torch
    import bwgemm.torch
except ImportError as error:
    print(f"NO TORCH: {error}")
    sys.exit(0)

import reference
from bwgemm import _arrays, _native
from bwgemm.torch import _functions, _kernels, _operators, _routing

ACTIVATIONS = (None, "relu", "gelu", "gelu_tanh", "silu", "sigmoid")
OPERATORS = ("mm", "bmm", "addmm", "linear", "linear_kept", "swiglu_linear", "swiglu_linear_kept",
             "activation_gradient", "weight_gradients")
calls = []  # of _native.product
check = _kernels.check  # which wants a GPU


def counted(*arguments):
    result = reference.product(*arguments)
    if result is not None:
        calls.append(arguments)
    return result


def setUpModule():
    _native.product, _kernels.check = counted, lambda **tensors: None
    for name in OPERATORS:
        _operators.library.impl(name, getattr(_kernels, name), "CPU")


def random(*shape, requires_grad=True):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=requires_grad)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        calls.clear()

    def same(self, got, want):
        torch.testing.assert_close(got, want)

    def twice_differentiable(self, function, *inputs):
        self.assertTrue(torch.autograd.gradcheck(function, inputs))
        self.assertTrue(torch.autograd.gradgradcheck(function, inputs))


class Results(Case):
    def test_are_those_of_torch(self):
        x, w, b = random(5, 6), random(6, 4), random(4)
        self.same(bwgemm.torch.mm(x, w), x @ w)
        self.same(bwgemm.torch.bmm(random(2, 5, 6).detach(), w.expand(2, 6, 4)).shape, (2, 5, 4))
        for input in (b, random(5, 4), random(5, 1), random(1)):
            for alpha, beta in ((1, 1), (2, 0.5), (1, 0)):
                self.same(bwgemm.torch.addmm(input, x, w, alpha=alpha, beta=beta),
                          torch.addmm(input, x, w, alpha=alpha, beta=beta))

    def test_linear(self):
        w, b = random(4, 6), random(4)
        for shape in ((5, 6), (2, 5, 6), (6,), (0, 6), (2, 0, 6)):
            x = random(*shape)
            for bias in (None, b):
                self.same(bwgemm.torch.linear(x, w, bias), torch.nn.functional.linear(x, w, bias))
        x, w = random(2, 3, 0), random(4, 0)
        self.same(bwgemm.torch.linear(x, w, b), torch.nn.functional.linear(x, w, b))
        with self.assertRaisesRegex(ValueError, "activation is 'tanh'"):
            bwgemm.torch.linear(random(5, 6), w, b, "tanh")

    def test_swiglu(self):
        x, w, b = random(3, 5, 6), random(8, 6), random(8)
        z = torch.nn.functional.linear(x, w, b)
        stacked = torch.nn.functional.silu(z[..., :4]) * z[..., 4:]
        self.same(bwgemm.torch.swiglu_linear(x, w, b), stacked)
        turns = torch.nn.functional.silu(z[..., 0::2]) * z[..., 1::2]
        self.same(bwgemm.torch.swiglu_linear(x, w, b, "interleaved"), turns)

    def test_what_does_not_fit(self):
        for text, call in (
                ("the inner sizes differ", lambda: bwgemm.torch.mm(random(5, 6), random(5, 6))),
                ("b has 3 dimensions", lambda: bwgemm.torch.mm(random(5, 6), random(1, 6, 5))),
                ("a has 2 matrices, b has 3", lambda: bwgemm.torch.bmm(random(2, 5, 6), random(3, 6, 5))),
                ("bias is of", lambda: bwgemm.torch.linear(random(5, 6), random(4, 6), random(5))),
                ("must be even", lambda: bwgemm.torch.swiglu_linear(random(5, 6), random(3, 6)))):
            with self.assertRaisesRegex(RuntimeError, text):
                call()


class Gradients(Case):
    def test_of_products(self):
        a, b = random(3, 4), random(4, 5)
        for calls_of in (bwgemm.torch, torch.ops.bwgemm):
            self.twice_differentiable(calls_of.mm, a, b)
            self.twice_differentiable(calls_of.bmm, random(2, 3, 4), random(2, 4, 5))
            for input in (random(5), random(3, 5), random(3, 1)):
                for alpha, beta in ((1, 1), (2, 0.5)):
                    self.twice_differentiable(
                        lambda *x: calls_of.addmm(*x, alpha=alpha, beta=beta), input, a, b)

    def test_are_those_of_torch(self):
        """Which are asked for where a mode of torch is in force, of operators, and else in a shorter way."""
        x, w, b = random(3, 4), random(6, 4), random(6)
        for call in (lambda calls_of: calls_of.mm(x, w.t()),
                     lambda calls_of: calls_of.linear(x, w, b, "gelu"),
                     lambda calls_of: calls_of.swiglu_linear(x, w, b, "stacked"),
                     lambda calls_of: calls_of.addmm(b, x, w.t(), beta=2)):
            got, want = call(bwgemm.torch), call(torch.ops.bwgemm)
            self.assertNotEqual(type(got.grad_fn).__name__, type(want.grad_fn).__name__)
            above = torch.randn_like(got)
            for shorter, longer in zip(torch.autograd.grad(got, (x, w, b), above, allow_unused=True),
                                       torch.autograd.grad(want, (x, w, b), above, allow_unused=True)):
                self.assertEqual(shorter is None, longer is None)
                if shorter is not None:
                    self.same(shorter, longer)

    def test_of_linear(self):
        x, w, b = random(3, 4), random(5, 4), random(5)
        for activation in ACTIVATIONS:
            self.twice_differentiable(
                lambda *operands: bwgemm.torch.linear(*operands, activation=activation), x, w, b)
            self.twice_differentiable(
                lambda *operands: bwgemm.torch.linear(*operands, activation=activation), x, w)
            self.twice_differentiable(
                lambda *operands: torch.ops.bwgemm.linear(*operands, activation), x, w, b)
            if activation is not None:
                self.twice_differentiable(
                    lambda *operands: torch.ops.bwgemm.linear_kept(*operands, activation), x, w, b)

    def test_of_swiglu(self):
        x, w, b = random(3, 4), random(6, 4), random(6)
        for gate in ("stacked", "interleaved"):
            self.twice_differentiable(
                lambda *operands: bwgemm.torch.swiglu_linear(*operands, gate=gate), x, w, b)
            self.twice_differentiable(
                lambda *operands: torch.ops.bwgemm.swiglu_linear(*operands, gate), x, w, b)
            self.twice_differentiable(
                lambda *operands: torch.ops.bwgemm.swiglu_linear_kept(*operands, gate), x, w, b)

    def test_are_the_same_on_the_way_to_second_ones(self):
        """Which use other formulas."""
        x, w, b, above = random(3, 4), random(6, 4), random(6), random(3, 6, requires_grad=False)
        calls_of_layers = [(lambda kind=kind: bwgemm.torch.linear(x, w, b, kind), above)
                           for kind in ACTIVATIONS]
        calls_of_layers += [(lambda kind=kind: bwgemm.torch.swiglu_linear(x, w, b, kind), above[:, :3])
                            for kind in ("stacked", "interleaved")]
        for call, gradient in calls_of_layers:
            fused = torch.autograd.grad(call(), (x, w, b), gradient)
            for got, want in zip(torch.autograd.grad(call(), (x, w, b), gradient, create_graph=True),
                                 fused):
                self.same(got, want)

    def test_of_both_results(self):
        """y, and what the activation is applied to."""
        x, w, b = random(3, 4), random(6, 4), random(6)
        y, z = torch.ops.bwgemm.linear_kept(x, w, b, "silu")
        plain = torch.nn.functional.linear(x, w, b)
        got = torch.autograd.grad((y.sin() + z.cos()).sum(), (x, w, b))
        want = torch.autograd.grad((torch.nn.functional.silu(plain).sin() + plain.cos()).sum(), (x, w, b))
        for first, second in zip(got, want):
            self.same(first, second)

    def test_backward_passes_fuse(self):
        """The derivative of the activation, and the gradient of the bias with that of the weights."""
        x, w, b, g = random(3, 4), random(5, 4), random(5), random(3, 5, requires_grad=False)
        bwgemm.torch.linear(x, w, b, "gelu").backward(g)
        modes = [(arguments[11], arguments[13] if arguments[12] is not None else 0)
                 for arguments in calls]
        self.assertEqual(modes, [(reference.STORE, 0), (reference.DERIVATIVE, 0), (0, 0),
                                 (0, reference.OF_A)])
        fused = [operand.grad.clone() for operand in (x, w, b)]
        plain = torch.autograd.grad(
            torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b)), (x, w, b), g)
        for got, want in zip(fused, plain):
            self.same(got, want)

    def test_only_what_is_needed_is_computed(self):
        x, w = random(3, 4, requires_grad=False), random(5, 4)
        bwgemm.torch.linear(x, w).sum().backward()
        self.assertEqual(len(calls), 2)


class Derived(torch.Tensor):
    """A class that a user derived, and what it was asked."""

    asked = []

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), named=None):
        cls.asked.append(function)
        return super().__torch_function__(function, kinds, arguments, named or {})


class OfDerivedClasses(Case):
    """Classes derived from torch.Tensor are asked, and have the result, as with torch's own functions."""

    def setUp(self):
        super().setUp()
        Derived.asked.clear()

    def test_operators(self):
        plain, w = random(5, 6), random(6, 4)
        x = plain.detach().as_subclass(Derived).requires_grad_()
        result = bwgemm.torch.mm(x, w)
        self.assertIs(type(result), Derived)
        self.assertIn(torch.ops.bwgemm.mm.default, Derived.asked)
        self.same(result.as_subclass(torch.Tensor), plain @ w)
        self.same(torch.autograd.grad(result.sum(), x)[0].as_subclass(torch.Tensor), w.sum(1).expand(5, 6))

    def test_functions_of_arrays(self):
        a, b = torch.ones(2, 3).as_subclass(Derived), torch.ones(3, 2)

        def product(a, b, *_):
            return None if torch.overrides.has_torch_function((a, b)) else torch.mm(a, b)

        with mock.patch.object(_native, "product", product):
            for function in (bwgemm.matmul, bwgemm.gemm):
                self.assertIs(type(function(a, b)), Derived)
            self.assertIs(type(bwgemm.matmul(b, a, activation="relu")), Derived)
        called = [function for function in Derived.asked if function in (bwgemm.matmul, bwgemm.gemm)]
        self.assertEqual(called, [bwgemm.matmul, bwgemm.gemm, bwgemm.matmul])


class Rules(Case):
    def test_an_input_of_another_type_is_refused_with_and_without_gradients(self):
        input, a = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)
        way_past = mock.patch.object(_functions, "_product", side_effect=AssertionError)
        with mock.patch.object(_kernels, "check", check), way_past:
            for needs in (False, True):
                with self.assertRaisesRegex(TypeError, "input is a torch.strided tensor of torch.float32"):
                    bwgemm.torch.addmm(input, a, a.clone().requires_grad_(needs))

    def test_a_backward_pass_that_needs_what_was_overwritten_fails(self):
        z = random(3, 3).exp()
        _arrays.note_written(z, None)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            z.sum().backward()
        with torch.inference_mode():
            _arrays.note_written(torch.ones(2))


class Compiled(Case):
    def test_without_a_break(self):
        def block(x, w, b, v):
            y = bwgemm.torch.linear(x, w, b, "gelu")
            y = bwgemm.torch.swiglu_linear(y, v)
            return bwgemm.torch.mm(y, y.t()).sum()

        operands = random(2, 3, 4), random(6, 4), random(6), random(4, 6)
        flat = (operands[0][0], *operands[1:])
        compiled = torch.compile(block, backend="aot_eager", fullgraph=True)
        want = torch.autograd.grad(block(*flat), flat)
        got = torch.autograd.grad(compiled(*flat), flat)
        for x, y in zip(got, want):
            self.same(x, y)

    def test_of_any_size(self):
        compiled = torch.compile(bwgemm.torch.linear, backend="aot_eager", fullgraph=True, dynamic=True)
        w, b = random(5, 4), random(5)
        for rows in (3, 7, 12):
            x = random(rows, 4)
            self.same(compiled(x, w, b, "relu"), bwgemm.torch.linear(x, w, b, "relu"))

    def test_operators_are_what_torch_expects(self):
        x, w, b, z = random(3, 4), random(6, 4), random(6), random(3, 6)
        tests = ("test_schema", "test_autograd_registration", "test_faketensor",
                 "test_aot_dispatch_dynamic")
        for operator, arguments in (
                (_operators.mm, (x, w.detach().t())), (_operators.bmm, (x[None], w.t()[None])),
                (_operators.addmm, (b, x, w.t())), (_operators.linear, (x, w, b, "silu")),
                (_operators.linear_kept, (x, w, b, "gelu")), (_operators.swiglu_linear, (x, w, b, "stacked")),
                (_operators.swiglu_linear_kept, (x, w, b, "interleaved")),
                (_operators.activation_gradient, (z.detach(), z.detach(), "relu")),
                (_operators.weight_gradients, (z.detach(), x.detach()))):
            arguments = tuple(a.detach().requires_grad_(a.requires_grad) if torch.is_tensor(a) else a
                              for a in arguments)
            torch.library.opcheck(operator, arguments, test_utils=tests)


class Routed(Case):
    @classmethod
    def setUpClass(cls):
        # reference.product calls torch.matmul, which is routed too: these calls are let through.
        def once(*arguments):
            _native.product = lambda *_: None
            try:
                return counted(*arguments)
            finally:
                _native.product = once

        _native.product = once
        cls.addClassCleanup(setattr, _native, "product", counted)
        _routing._TYPES[torch.float64] = 99  # as if it were served
        _routing._library = _routing._install("CPU")

    def test_what_is_served(self):
        x, w, b = random(3, 4), random(5, 4), random(5)
        batch = random(2, 3, 4), random(2, 4, 5)
        cases = (lambda: torch.mm(x, w.t()), lambda: torch.nn.functional.linear(x, w, b),
                 lambda: torch.nn.functional.linear(batch[0], w, b), lambda: torch.bmm(*batch),
                 lambda: torch.addmm(b, x, w.t()), lambda: torch.baddbmm(random(2, 3, 5), *batch),
                 lambda: torch.addmm(random(3, 5), x, w.t(), beta=2, alpha=3),
                 lambda: torch.addmm(b, x, w.t(), beta=0), lambda: torch.matmul(*batch),
                 lambda: torch.baddbmm(random(3, 1), *batch, beta=0))
        for case in cases:
            torch.manual_seed(2)
            want = case()
            self.assertEqual(calls, [])
            torch.manual_seed(2)
            with bwgemm.torch.enabled():
                self.assertTrue(bwgemm.torch.is_enabled())
                got = case()
            self.same(got, want)
            self.assertEqual(len(calls), 1)
            calls.clear()
        self.assertFalse(bwgemm.torch.is_enabled())

    def test_into_a_given_tensor(self):
        """Which is what Inductor's code calls."""
        x, w, b = (random(*shape, requires_grad=False) for shape in ((3, 4), (4, 5), (3, 5)))
        batch, sums = (x[None], w[None]), b[None]
        with bwgemm.torch.enabled(), torch.no_grad():
            for call, of, shape in ((torch.mm, (x, w), (3, 5)), (torch.bmm, batch, (1, 3, 5)),
                                    (torch.addmm, (b, x, w), (3, 5)),
                                    (torch.baddbmm, (sums, *batch), (1, 3, 5))):
                out = torch.zeros(*shape, dtype=torch.float64)
                self.assertIs(call(*of, out=out), out)
                self.assertEqual(len(calls), 1)
                self.same(out, call(*of))
                calls.clear()
                resized = torch.zeros(0, dtype=torch.float64)
                call(*of, out=resized)
                self.same(resized, out)
                self.assertEqual(calls, [])
            with self.assertRaisesRegex(RuntimeError, "dtype"):
                torch.mm(x, w, out=torch.zeros(3, 5))

    def test_what_is_not(self):
        x, w = random(3, 4), random(4, 5)
        batch = random(2, 3, 4), random(2, 4, 5)
        with bwgemm.torch.enabled():
            row = random(5)
            for input in (row, random(1), random(3, 1)):
                self.same(torch.addmm(input, x, w, beta=2), 2 * input + (x[:, :, None] * w).sum(1))
            self.assertEqual(calls, [])
            for call in (lambda: torch.mm(x, x), lambda: torch.addmm(random(4), x, w),
                         lambda: torch.bmm(x, w), lambda: torch.mm(x, w.float()),
                         lambda: torch.addmm(random(3, 5).float(), x, w),
                         lambda: torch.addmm(row.float(), x, w, beta=0),
                         lambda: torch.addmm(random(7), x, w, beta=0),
                         lambda: torch.addmm(random(1, 3, 5), x, w, beta=0),
                         lambda: torch.addmm(row, x, row[0], beta=0),
                         lambda: torch.baddbmm(random(2, 3, 5).float(), *batch),
                         lambda: torch.baddbmm(random(3, 3, 5), *batch, beta=0)):
                with self.assertRaises(RuntimeError) as routed:
                    call()
                self.assertEqual(calls, [])
                bwgemm.torch.disable()
                with self.assertRaises(RuntimeError) as plain:
                    call()
                bwgemm.torch.enable()
                self.assertEqual(str(routed.exception), str(plain.exception))

    def test_backward_passes_too(self):
        x, w = random(3, 4), random(4, 5)
        with bwgemm.torch.enabled():
            torch.mm(x, w).sum().backward()
            self.assertEqual(len(calls), 3)
        self.twice_differentiable(lambda *operands: torch.mm(*operands), x, w)

    def test_the_switch_counts(self):
        with bwgemm.torch.enabled():
            bwgemm.torch.enable()
            bwgemm.torch.disable()
            self.assertTrue(bwgemm.torch.is_enabled())
        with self.assertRaisesRegex(RuntimeError, "more often"):
            bwgemm.torch.disable()


if __name__ == "__main__":
    unittest.main()
