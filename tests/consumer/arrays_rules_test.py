# SPDX-License-Identifier: Apache-2.0
"""What the installed Python package refuses before anything is launched or written, and which stream
a call has that is made inside of another. Run by wheel_test.py, as arrays_test.py is."""

import ctypes
import itertools
import random
import types
import unittest

import bwgemm
from arrays_test import Case, new_stream, of_a, of_b
from bwgemm import _gemm, _native, _overlap
from fake_arrays import SIZE, Device, Dlpack, Interface, Jax, OldDlpack, Tensor, torch


def view(kind, base, offset, shape, strides, dtype=None):
    """An array in the memory of another, `offset` elements behind its start."""
    seen = kind.__new__(kind)
    seen.__dict__.update(base.__dict__, shape=shape, strides=strides, dtype=dtype or base.dtype)
    seen.pointer = ctypes.c_uint64(base.pointer.value + offset * SIZE[base.dtype])
    seen.count = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    return seen


class Rules(Case):
    def setUp(self):
        self.a, self.b = Dlpack((8, 16), of_a), Dlpack((16, 12), of_b)
        self.c = Dlpack((8, 12))

    def refused(self, error, text, function, *arguments, **named):
        with self.assertRaisesRegex(error, text):
            function(*arguments, **named)

    def refused_as_c(self, text, c, error=ValueError):
        """c itself is, and nothing was written."""
        before = c.numbers()
        self.refused(error, "^c " + text, bwgemm.gemm, self.a, self.b, c)
        self.assertEqual(c.numbers(), before)


class Devices(Rules):
    def test_every_operand_is_where_a_is(self):
        for name, shape in (("residual", (8, 12)), ("bias", (12,)), ("bias_gradient", (12,)),
                            ("out", (8, 12))):
            for kind in (Dlpack, Interface):
                self.refused(ValueError, f"^{name} is on device 1, a is on device 0$", bwgemm.matmul,
                             self.a, self.b, **{"out": self.c, "activation": "relu",
                                                name: kind(shape, device=1)})
        self.refused(ValueError, "^b is on device 1, a is on device 0$", bwgemm.gemm, self.a,
                     Dlpack((16, 12), device=1), self.c)


class Writable(Rules):
    def test_dlpack_says_it_since_version_1(self):
        is_copy = "will be written, but its __dlpack__ gives a copy"
        for flags, text in ((1, "is read-only"), (2, is_copy), (3, is_copy)):
            self.c.dlpack_flags = flags
            self.refused_as_c(text, self.c)
            self.refused(ValueError, f"^out {text}", bwgemm.matmul, self.a, self.b, self.c)
            sums = Dlpack((12,))
            sums.dlpack_flags = flags
            self.refused(ValueError, f"^bias_gradient {text}", bwgemm.matmul, self.a, self.b,
                         Dlpack((8, 12)), bias_gradient=sums)
            self.a.dlpack_flags = flags  # what is only read may be both
            bwgemm.matmul(self.a, self.b, Dlpack((8, 12)))

    def test_a_version_that_is_not_known(self):
        self.b.dlpack_major = 2
        self.refused(BufferError, "^b comes as DLPack 2.0", bwgemm.matmul, self.a, self.b, self.c)

    def test_before_it_the_interface_does(self):
        class Both(OldDlpack, Interface):
            pass

        c = Both((8, 12))
        bwgemm.gemm(self.a, self.b, c)
        self.check(c, self.a, self.b)
        c.read_only = True
        self.refused_as_c("is read-only", c)

    def test_or_the_flags_that_numpy_has(self):
        c = OldDlpack((8, 12))
        self.refused_as_c("will be written, but nothing says that it may be", c)
        c.flags = types.SimpleNamespace(writeable=False)
        self.refused_as_c("is read-only", c)
        c.flags.writeable = True
        bwgemm.gemm(self.a, self.b, c)
        self.check(c, self.a, self.b)

    def test_jax_arrays_never_change(self):
        self.refused_as_c("will be written, but nothing says", Jax((8, 12)))
        self.refused_as_c("is read-only", Jax((8, 12), dtype="float32"))


class Overlap(Rules):
    def test_c_with_a_and_b(self):
        base = Device((40, 40), of_a)
        whole = view(Dlpack, base, 0, (40, 40), (40, 1))
        rows = view(Dlpack, base, 39 * 40, (8, 40), (40, 1))  # the last of the 40, the first of these
        other = Dlpack((8, 40), of_a)
        self.refused(ValueError, "^c is written, and overlaps a$", bwgemm.gemm, whole, whole, whole)
        self.refused(ValueError, "^c is written, and overlaps b$", bwgemm.gemm, other, whole, rows)
        self.refused(ValueError, "^c is written, and overlaps a$", bwgemm.explain, whole, whole,
                     whole)
        self.refused(ValueError, "^out is written, and overlaps b$", bwgemm.matmul, other, whole,
                     rows)
        tail = view(Interface, base, 8 * 40 - 1, (8, 40), (40, 1))
        head = view(Interface, base, 0, (8, 40), (40, 1))
        self.refused(ValueError, "^c is written, and overlaps a$", bwgemm.gemm, head,
                     Dlpack((40, 40)), tail)

    def test_views_that_share_no_element_are_served(self):
        """The halves of rows, every second row, and rows of each matrix of a batch."""
        base = Device((16, 40), of_a)
        a = view(Dlpack, base, 0, (16, 16), (40, 1))
        c = view(Dlpack, base, 16, (16, 12), (40, 1))
        self.check(bwgemm.gemm(a, self.b, c), a, self.b)
        base = Device((16, 16), of_a)
        a = view(Dlpack, base, 0, (8, 16), (32, 1))
        c = view(Interface, base, 16, (8, 12), (32, 1))
        self.check(bwgemm.gemm(a, self.b, c), a, self.b)
        base = Device((3, 8, 16), of_a)
        a = view(Dlpack, base, 0, (3, 4, 16), (128, 16, 1))
        c = view(Dlpack, base, 64, (3, 4, 12), (128, 16, 1))
        self.check(bwgemm.gemm(a, self.b, c), a, self.b)

    def test_what_is_fused(self):
        base = Device((24, 12), of_a)
        out = view(Dlpack, base, 0, (8, 12), (12, 1))
        lower = view(Dlpack, base, 12, (8, 12), (12, 1))
        vector = view(Dlpack, base, 12 * 7, (12,), (1,))
        for name, array in (("residual", lower), ("bias", vector)):
            self.refused(ValueError, f"^out is written, and overlaps {name}$", bwgemm.matmul, self.a,
                         self.b, out, **{name: array})
        for text, operands in (
                ("out", {"out": out}), ("bias", {"bias": vector}), ("residual", {"residual": lower})):
            self.refused(ValueError, f"^bias_gradient is written, and overlaps {text}$",
                         bwgemm.matmul, self.a, self.b,
                         **{"out": self.c, "bias_gradient": vector, **operands})
        sums = view(Dlpack, self.a, 3, (12,), (1,))
        self.refused(ValueError, "^bias_gradient is written, and overlaps a$", bwgemm.matmul, self.a,
                     self.b, self.c, bias_gradient=sums)

    def test_a_residual_is_out_or_apart_from_it(self):
        a, b, out = Dlpack((12, 16), of_a), Dlpack((16, 12), of_b), Dlpack((12, 12), of_a)
        product = bwgemm.matmul(a, b, Dlpack((12, 12), dtype="float32")).numbers()
        half = view(Dlpack, out, 0, (12, 12), (12, 1), "float16")
        transposed = view(Dlpack, out, 0, (12, 12), (1, 12))
        for residual in (half, transposed):
            self.refused((ValueError, bwgemm.Error), "residual", bwgemm.matmul, a, b, out,
                         residual=residual)
        bwgemm.matmul(a, b, out, residual=view(Interface, out, 0, (12, 12), (12, 1)))
        for index, value in out.numbers().items():
            self.assertEqual(value, product[index] + of_a(*index))
        batched = Dlpack((3, 12, 12))
        first = view(Dlpack, batched, 0, (12, 12), (12, 1))
        self.refused(ValueError, "^out is written, and overlaps residual$", bwgemm.matmul,
                     Dlpack((3, 12, 16)), b, batched, residual=first)

    def test_products_of_a_batch(self):
        a = Dlpack((3, 8, 16), of_a)
        for strides in ((0, 12, 1), (95, 12, 1), (12, 24, 1)):
            c = Dlpack((3, 8, 12), strides=strides)
            self.refused(ValueError, "^products of the batch overlap in c, ", bwgemm.gemm, a, self.b,
                         c)
        taking_turns = Dlpack((3, 8, 12), strides=(12, 36, 1))
        self.check(bwgemm.gemm(a, self.b, taking_turns), a, self.b)
        self.refused(ValueError, "^products of the batch overlap in bias_gradient", bwgemm.matmul, a,
                     self.b, Dlpack((3, 8, 12)), bias_gradient=Dlpack((3, 12), strides=(11, 1)))

    def test_is_exact(self):
        """Against sets of bytes, in small matrices of every form."""
        numbers = random.Random(7)
        found = [0, 0]

        def drawn():
            rows, columns, batch = (numbers.randint(0 if numbers.random() < 0.1 else 1, 4)
                                    for _ in range(3))
            is_row_order = numbers.random() < 0.5
            length = columns if is_row_order else rows
            array = types.SimpleNamespace(pointer=4 * numbers.randint(1, 60),
                                          dtype=numbers.choice(("float32", "bfloat16")))
            return _gemm._Matrix("x", array, rows, columns, numbers.randint(max(1, length), 19),
                                 is_row_order, batch, numbers.randint(0, 40))

        def bytes_of(matrix):
            size = SIZE[matrix.array.dtype]
            steps = (matrix.ld, 1) if matrix.is_row_order else (1, matrix.ld)
            return {matrix.array.pointer + byte
                    + size * (batch * matrix.stride + row * steps[0] + column * steps[1])
                    for batch, row, column, byte in itertools.product(
                        *map(range, (matrix.batch, matrix.rows, matrix.columns, size)))}

        for _ in range(4000):
            x, y = drawn(), drawn()
            expected = bool(bytes_of(x) & bytes_of(y))
            self.assertEqual(_overlap.overlap(x, y), expected, (x, y))
            found[expected] += 1
        self.assertGreater(min(found), 500)

    def test_is_found_without_counting_elements(self):
        array = types.SimpleNamespace(pointer=1 << 20, dtype="bfloat16")
        x = _gemm._Matrix("x", array, 1 << 31, 1 << 20, 1 << 21, True, 1 << 10, 1 << 52)
        behind = types.SimpleNamespace(pointer=(1 << 20) + (1 << 21), dtype="bfloat16")
        y = x._replace(array=behind)  # the other half of each row
        self.assertFalse(_overlap.overlap(x, y))
        self.assertTrue(_overlap.overlap(x, y._replace(columns=(1 << 20) + 1)))


class Names(Rules):
    """Errors speak of the arguments of the call."""

    def test_what_the_library_would_say_of_another(self):
        odd = view(Interface, self.b, 0, (16, 12), (12, 1))
        odd.pointer = ctypes.c_uint64(odd.pointer.value + 1)
        self.refused(ValueError, "^b is at address", bwgemm.gemm, self.a, odd, self.c)
        nothing = view(Interface, self.a, 0, (8, 16), (16, 1))
        nothing.pointer = ctypes.c_uint64(0)
        self.refused(ValueError, "^a has no memory", bwgemm.gemm, nothing, self.b, self.c)
        backwards = Dlpack((3, 8, 16))
        backwards.strides = (-128, 16, 1)
        self.refused(ValueError, "^a has -128 elements from matrix to matrix", bwgemm.gemm, backwards,
                     self.b, Dlpack((3, 8, 12)))
        with self.assertRaisesRegex(bwgemm.Error, "^out is float16") as caught:
            bwgemm.matmul(self.a, self.b, Dlpack((8, 12), dtype="float16"))
        self.assertEqual(caught.exception.name, "BWGEMM_STATUS_NOT_SUPPORTED")
        for name, shape in (("residual", (8, 12)), ("bias", (12,)), ("bias_gradient", (12,))):
            self.refused(bwgemm.Error, f"^{name} is float16", bwgemm.matmul, self.a, self.b, self.c,
                         **{name: Dlpack(shape, dtype="float16")})
        self.refused(ValueError, "gate.*residual", bwgemm.matmul, self.a, self.b,
                     Dlpack((8, 6)), gate="stacked", residual=Dlpack((8, 6)))
        self.refused(TypeError, "^b has elements of float64", self.in_torch)

    def in_torch(self):
        with torch():
            bwgemm.gemm(self.a, Tensor((16, 12), dtype="float64"), self.c)

    def test_the_librarys_own_sentences_too(self):
        """In row order it computes the transposed product, of b and a."""
        far = view(Interface, self.a, 0, (8, 16), (1 << 61, 1))
        self.refused(bwgemm.Error, "^bwgemmMatmul: A with lda 2305843009213693952 ", bwgemm.gemm,
                     far, self.b, self.c)
        far = view(Interface, self.b, 0, (16, 12), (1 << 61, 1))
        self.refused(bwgemm.Error, "^bwgemmMatmul: B with ldb 2305843009213693952 ", bwgemm.gemm,
                     self.a, far, self.c)


class Sizes(Rules):
    def setUp(self):
        super().setUp()
        self.a, self.b, self.c = (Dlpack(shape, dtype="float16")
                                  for shape in ((8, 16), (16, 12), (8, 12)))

    def test_beyond_64_bits(self):
        """Which would be as many less."""
        wrapped = 1 << 64
        for shape, strides in (((8, 16), (16 + wrapped, 1)), ((8 + wrapped, 16), (16, 1)),
                               ((8, 16 + wrapped), (16 + wrapped, 1)), ((1 << 63, 16), (16, 1)),
                               ((-8, 16), (16, 1)), ((2, 1 << 40, 1 << 40), None)):
            large = types.SimpleNamespace(__cuda_array_interface__={
                "shape": shape, "typestr": "<f2", "data": (self.a.pointer.value, False),
                "strides": strides and tuple(2 * stride for stride in strides), "version": 3})
            self.refused(ValueError, "^a has shape", bwgemm.gemm, large, self.b, self.c)

    def test_addresses(self):
        for address in (self.a.pointer.value + (1 << 64), -2):
            far = types.SimpleNamespace(__cuda_array_interface__={
                "shape": (8, 16), "typestr": "<f2", "data": (address, False), "version": 3})
            self.refused(ValueError, "^a is at address", bwgemm.gemm, far, self.b, self.c)
        for stream in (1 << 64, -1, types.SimpleNamespace(ptr=1 << 64)):
            self.refused(ValueError, "^stream is ", bwgemm.gemm, self.a, self.b, self.c,
                         stream=stream)


class Nested(Rules):
    """A call that Python makes while another is under way has its stream, and the other its own."""

    def test_of_a_scalar(self):
        stream, inner, used = new_stream(), Dlpack((8, 12)), []
        a, b, c = self.a, self.b, self.c

        class Two:
            def __float__(self):
                bwgemm.matmul(a, b, inner, stream=stream)
                used.extend(_native.handles(0))
                return 2.0

        bwgemm.gemm(a, b, c, alpha=Two())
        used.extend(_native.handles(0))
        # The arguments were finished before the outer call took a handle: there is one, used twice.
        self.assertEqual([used_stream for _, used_stream in used], [stream, 0])
        self.assertEqual(used[0][0], used[1][0])
        self.check(c, a, b, alpha=2.0)
        self.check(inner, a, b)


if __name__ == "__main__":
    unittest.main()
