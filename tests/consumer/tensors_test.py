# SPDX-License-Identifier: Apache-2.0
"""The short way that tensors of torch take, with a module that passes for torch, on the driver of
BWGEMM_LIBCUDA. Run by wheel_test.py, as arrays_test.py is."""

import random
import sys
import unittest
from unittest import mock

import arrays_rules_test
import arrays_test
import bwgemm
from arrays_test import Case, new_stream, of_a, of_b
from bwgemm import _arrays, _native
from fake_arrays import Dlpack
from fake_torch import Derived, Parameter, Tensor, torch

NONE, GRADIENTS, MODES = range(3)  # of Care
STORE, DERIVATIVE = 1, 2
RELU = 1


def product(a, b, transa=False, transb=False, alpha=1.0, beta=0.0, c=None, bias=None, activation=0,
            gate=0, aux=None, aux_mode=0, sums=None, sums_of=0, out=None, out_type=None, stream=None,
            care=NONE, rank=0):
    return _native.product(a, b, transa, transb, alpha, beta, c, bias, activation, gate, aux, aux_mode,
                           sums, sums_of, out, out_type, stream, care, rank)


class InTorch(Case):
    """The arrays of another test are tensors of torch."""

    module = arrays_test

    def setUp(self):
        for module in (arrays_test, arrays_rules_test):
            for kind in ("Dlpack", "Interface"):
                patched = mock.patch.object(module, kind, Tensor)
                patched.start()
                self.addCleanup(patched.stop)
        installed = torch()
        self.torch = installed.__enter__()
        self.addCleanup(installed.__exit__, None, None, None)
        super().setUp()


class Short(InTorch):
    """And there is no other way."""

    def setUp(self):
        super().setUp()
        closed = mock.patch.object(_arrays, "described", side_effect=AssertionError("the long way"))
        closed.start()
        self.addCleanup(closed.stop)


class Layouts(Short, arrays_test.Layouts):
    test_the_product_that_is_explained = None  # explain() has the long way alone


class Fused(Short, arrays_test.Fused):
    # See FusedLong.
    test_a_residual_may_be_the_result = test_bias_gradients = test_refusals = None
    test_clamp_has_bounds = None


class FusedLong(InTorch, arrays_test.Fused):
    def test_what_is_written_is_noted(self):
        a, b, c, sums = Derived((8, 16)), Tensor((16, 8)), Tensor((8, 8)), Tensor((8,))
        bwgemm.gemm(a, b, c)
        bwgemm.matmul(a, b, c, bias=Tensor((8,)), bias_gradient=sums)
        bwgemm.matmul(a, b)
        self.assertEqual(list(map(id, self.torch.written)), list(map(id, (c, c, sums))))


class Devices(InTorch, arrays_rules_test.Devices):
    pass


class Overlap(InTorch, arrays_rules_test.Overlap):
    test_is_exact = test_is_found_without_counting_elements = None  # of no arrays


class Refusals(InTorch, arrays_test.Refusals):
    test_what_is_no_such_array = None  # of other protocols


class Results(Short):
    def test_new_tensors(self):
        for dtype in ("bfloat16", "float16"):
            a, b = Tensor((9, 16), of_a, dtype), Parameter((16, 11), of_b, dtype)
            c = bwgemm.matmul(a, b)
            self.assertEqual((type(c), c.dtype, tuple(c.shape), tuple(c.strides)),
                             (Tensor, dtype, (9, 11), (11, 1)))
            self.check(c, a, b)
            self.assertEqual(bwgemm.gemm(a, b, out_dtype=self.torch.float32).dtype, "float32")
        self.assertEqual(bwgemm.matmul(a, Tensor((3, 16, 11), of_b, dtype)).shape, (3, 9, 11))
        self.assertEqual(self.torch.made, 5)

    def test_zero_sizes(self):
        for m, n, k in ((0, 4, 8), (4, 0, 8), (4, 4, 0), (0, 0, 0)):
            c = bwgemm.matmul(Tensor((m, k)), Tensor((k, n)))
            self.assertEqual(list(c.numbers().values()), [0.0] * (m * n))

    def test_streams(self):
        stream = new_stream()
        a, b, c = Tensor((8, 16), of_a), Tensor((16, 8), of_b), Tensor((8, 8))
        with torch(current_stream=stream):
            bwgemm.matmul(a, b)
            self.assertEqual(_native.handles(0)[-1][1], stream)
            bwgemm.gemm(a, b, c, stream=stream)
            self.check(c, a, b)
            with self.assertRaisesRegex(AssertionError, "the long way"):
                bwgemm.matmul(a, b, stream=new_stream())

    def test_tensors_of_derived_classes_below_the_dispatcher(self):
        a, b = Derived((8, 16), of_a), Derived((16, 8), of_b)
        self.check(product(a, b, care=NONE), a, b)

    def test_what_is_written_is_noted(self):
        a, b, c, sums = Tensor((8, 16), of_a), Tensor((16, 8), of_b), Tensor((8, 8)), Tensor((8,))
        bwgemm.gemm(a, b, c)
        bwgemm.matmul(a, b, c, bias=Tensor((8,)), bias_gradient=sums)
        bwgemm.matmul(a, b)
        self.assertEqual(list(map(id, self.torch.written)), list(map(id, (c, c, sums))))

    def test_flags_are_anything_that_is_true(self):
        a, b = Tensor((16, 8), of_a), Tensor((8, 16), of_b)
        self.check(bwgemm.gemm(a, b, transa=1, transb="yes"), a, b, transa=True, transb=True)

    def test_operands_are_let_go(self):
        a, b = Tensor((8, 16), of_a), Tensor((16, 8), of_b)
        c = bwgemm.matmul(a, b)  # what it makes for the first time, it keeps
        before = sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(Tensor)
        for _ in range(10):
            c = bwgemm.matmul(a, b)
        self.check(c, a, b)
        self.assertEqual((sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(Tensor)), before)


class LeftAlone(InTorch):
    """What the short way does not serve: None, and nothing is made."""

    def setUp(self):
        super().setUp()
        self.a, self.b = Tensor((8, 16), of_a, "float16"), Tensor((16, 8), of_b, "float16")

    def left(self, *arguments, **named):
        self.assertIsNone(product(*arguments, **named))

    def test_arrays_that_are_no_tensors(self):
        self.left(Dlpack((8, 16)), self.b)
        self.left(self.a, Dlpack((16, 8)))
        for care in (GRADIENTS, MODES):
            self.left(Derived((8, 16), of_a, "float16"), self.b, care=care)
        self.left(self.a, [[1.0]])
        self.a.is_cuda = False
        self.left(self.a, self.b)

    def test_gradients(self):
        self.b.requires_grad = True
        with torch(grad=True):
            self.left(self.a, self.b, care=GRADIENTS)
            self.left(self.a, self.b, care=MODES)
            self.assertIsNotNone(product(self.a, self.b))
            with self.assertRaisesRegex(TypeError, "b requires a gradient"):
                bwgemm.matmul(self.a, self.b)
        with torch(grad=False):
            self.assertIsNotNone(product(self.a, self.b, care=MODES))

    def test_modes(self):
        for named in ({"autocast": True}, {"modes": 1}, {"level": object()}, {"trace": object()}):
            with torch(**named):
                self.left(self.a, self.b, care=MODES)
                self.assertFalse(_native.is_eager(self.a, None))
                self.assertIsNotNone(product(self.a, self.b, care=GRADIENTS))

        self.assertTrue(_native.is_eager(self.a, None, Parameter((8, 8))))
        self.assertFalse(_native.is_eager(self.a, Derived((8, 8))))
        self.assertFalse(_native.is_eager(Dlpack((8, 8))))

    def test_negated_views(self):
        self.b.is_negated = True
        self.left(self.a, self.b, care=GRADIENTS)

    def test_what_does_not_fit(self):
        other = Tensor((16, 8), dtype="bfloat16")
        backwards = Tensor((3, 8, 16), dtype="float16")
        backwards.strides = (-128, 16, 1)
        for operands, named in (
                ((self.a, self.a), {}), ((self.a, other), {}), ((self.a, self.b), {"rank": 3}),
                ((self.a, self.b), {"beta": 1.0}), ((self.a, self.b), {"out_type": 14}),
                ((self.a, self.b), {"out_type": -1}), ((self.a, self.b), {"bias": Tensor((9,))}),
                ((self.a, self.b), {"c": Tensor((8, 9), dtype="float16"), "beta": 1.0}),
                ((self.a, self.b), {"out": Tensor((8, 9), dtype="float16")}),
                ((self.a, self.b), {"out": other}), ((self.a, self.b), {"stream": "1"}),
                ((self.a, self.b), {"aux": Tensor((8, 9), dtype="float16"), "aux_mode": STORE}),
                ((self.a, self.b), {"sums": Tensor((9,), dtype="float16"), "sums_of": 3}),
                ((Tensor((8, 16), dtype="float32"), Tensor((16, 8), dtype="float32")), {}),
                ((Tensor((8, 16), dtype="float64"), self.b), {}),
                ((Tensor((8, 16), dtype="float16", strides=(32, 2)), self.b), {}),
                ((Tensor((8,), dtype="float16"), self.b), {}),
                ((Tensor((3, 8, 16), dtype="float16"), self.b),
                 {"c": Tensor((2, 8, 8), dtype="float16"), "beta": 1.0}),
                ((backwards, Tensor((3, 16, 8), dtype="float16")), {}),
                ((self.a, self.b), {"aux": Tensor((8, 8), dtype="float16", strides=(1, 8)),
                                    "aux_mode": STORE}),
                ((self.a, self.b), {"sums": Tensor((8,), of_a, "float16"), "sums_of": 3,
                                    "bias": Tensor((8,), dtype="bfloat16")}),
                ((self.a, Tensor((16, 7), dtype="float16")), {"gate": 1}),
                ((self.a, Tensor((16, 8), dtype="float16", device=1)), {})):
            self.left(*operands, **named)

    def test_the_rank_that_is_asked_for(self):
        batch = Tensor((1, 16, 8), of_b, "float16")
        self.left(self.a, batch, rank=2)
        self.left(Tensor((3, 8, 16), dtype="float16"), batch, rank=3)
        self.assertIsNotNone(product(self.a, batch))


class Agreement(InTorch):
    """The short way accepts nothing that the long one refuses, and computes the same."""

    memory = None

    def drawn(self, numbers, dimensions, types=("bfloat16",)):
        """A tensor in memory that others are in too, at times with odd strides or sizes."""
        shape = [numbers.choice((3, 4, 4, 4)) for _ in range(dimensions)]
        if dimensions == 3:
            shape[0] = numbers.choice((1, 2))
        rows, columns = shape[-2:]
        strides = numbers.choice(((columns, 1), (columns, 1), (columns + 2, 1), (1, rows), (1, rows + 3),
                                  (columns - 1, 1), (2 * columns, 2), (0, 1)))
        if dimensions == 3:
            strides = (numbers.choice((24, 24, 0, 7)), *strides)
        view = arrays_rules_test.view(Tensor, self.memory, numbers.randrange(0, 240), shape, strides,
                                      numbers.choice(types))
        view.device_id = numbers.choice((0,) * 15 + (1,))
        return view

    def test_of_random_calls(self):
        numbers, served = random.Random(11), 0
        types = {None: None, "float32": 0, "bfloat16": 14, "float16": -1}
        for _ in range(3000):
            if self.memory is None:  # results were written into the one before
                self.memory = Tensor((400,), lambda i: float(i % 5 - 2))
            dimensions = numbers.choice((2, 2, 2, 3))
            a, b = self.drawn(numbers, dimensions), self.drawn(numbers, numbers.choice((2, dimensions)))
            transa, transb = numbers.random() < 0.2, numbers.random() < 0.2
            out_dtype = numbers.choice((None, None, None, *types))
            c = None
            if numbers.random() < 0.7:
                c = self.drawn(numbers, dimensions, ("bfloat16", "bfloat16", "float32"))
            short = product(a, b, transa, transb, out=c, out_type=types[out_dtype], care=GRADIENTS)
            if short is None:
                continue
            served += 1
            want = short.numbers()
            with mock.patch.object(_native, "product", lambda *_: None):
                long = bwgemm.gemm(a, b, c, transa=transa, transb=transb, out_dtype=out_dtype)
            self.assertEqual((long.dtype, long.numbers()), (short.dtype, want))
            self.memory = None
        self.assertGreater(served, 100)


class Fusions(InTorch):
    """What bwgemm.torch asks for, beyond what matmul() has."""

    def setUp(self):
        super().setUp()
        self.a, self.b = Tensor((9, 16), of_a), Tensor((16, 12), of_b)
        self.bias = Tensor((12,), of_b)
        exact = bwgemm.matmul(self.a, self.b, out_dtype="float32").numbers()
        self.expected = {(i, j): value + of_b(j) for (i, j), value in exact.items()}

    def test_what_the_activation_is_applied_to_is_kept(self):
        kept = Tensor((9, 12), dtype="float32")
        result = product(self.a, self.b, bias=self.bias, activation=RELU, aux=kept, aux_mode=STORE,
                         out_type=0)
        self.assertEqual(kept.numbers(), self.expected)
        self.assertEqual(result.numbers(), {i: max(0.0, x) for i, x in self.expected.items()})

    def test_a_derivative_alone(self):
        """The product has k = 0; the sums of its columns come with it."""
        dy, z, sums = Tensor((9, 12), of_a), Tensor((9, 12), of_b), Tensor((12,), dtype="float32")
        result = product(Tensor((9, 0)), Tensor((0, 12)), beta=1.0, c=dy, activation=RELU, aux=z,
                         aux_mode=DERIVATIVE, sums=sums, sums_of=2)
        want = {i: of_a(*i) if of_b(*i) > 0 else 0.0 for i in dy.numbers()}
        self.assertEqual(result.numbers(), want)
        self.assertEqual(sums.numbers(),
                         {(j,): sum(want[i, j] for i in range(9)) for j in range(12)})

    def test_the_sums_of_an_operand(self):
        sums = Tensor((9,), dtype="float32")
        dz = Tensor((16, 9), of_a)
        result = product(dz, self.b, transa=True, sums=sums, sums_of=3)
        self.check(result, dz, self.b, transa=True)
        self.assertEqual(sums.numbers(),
                         {(i,): sum(of_a(j, i) for j in range(16)) for i in range(9)})

    def test_zero_sizes(self):
        for m, n, k in ((0, 12, 16), (9, 0, 16), (9, 12, 0), (0, 0, 0)):
            a, b, kept, sums = Tensor((m, k)), Tensor((k, n)), Tensor((m, n)), Tensor((m,), of_a)
            if 0 in (m, n):  # torch gives what is empty no memory
                for empty in (a, b, kept, sums):
                    if 0 in empty.shape:
                        empty.pointer.value = 0
            result = product(a, b, aux=kept, aux_mode=STORE, activation=RELU, sums=sums, sums_of=3)
            self.assertEqual(tuple(result.shape), (m, n))
            if m and n:
                self.assertEqual(set(kept.numbers().values()), {0.0})
                self.assertEqual(set(sums.numbers().values()), {0.0})
            z = Tensor((m, n), of_a)
            product(Tensor((m, 0)), Tensor((0, n)), beta=1.0, c=z, activation=RELU, aux=kept,
                    aux_mode=DERIVATIVE)

    def test_a_failure_of_the_library(self):
        far = Tensor((8, 16), strides=(16, 1))
        far.strides = (1 << 61, 1)
        with self.assertRaisesRegex(bwgemm.Error, "^bwgemmMatmul: A with lda 2305843009213693952 "):
            product(far, self.b)


if __name__ == "__main__":
    unittest.main()
