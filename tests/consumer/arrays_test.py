# SPDX-License-Identifier: Apache-2.0
"""The installed Python package on the driver of BWGEMM_LIBCUDA, with arrays of each kind. Run by
wheel_test.py. Numbers are small integers, so that every result is exact."""

import ctypes
import math
import os
import subprocess
import sys
import threading
import time
import types
import unittest

import bwgemm
from bwgemm import _native
from fake_arrays import (Cupy, Device, Dlpack, Interface, Jax, OldDlpack, Tensor, cuda, cupy,
                         current, torch)


def of_a(*index):
    return float((sum((3, 5, 7)[i] * x for i, x in enumerate(index))) % 7 - 3)


def of_b(*index):
    return float((sum((2, 7, 3)[i] * x for i, x in enumerate(index))) % 5 - 2)


def new_stream():
    stream = ctypes.c_void_p()
    with current():
        cuda("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(1))
    return stream.value


class Case(unittest.TestCase):
    def check(self, result, a, b, alpha=1.0, beta=0.0, before=0.0, transa=False, transb=False):
        """All of result against what it should be; a, b: Device arrays of of_a and of_b."""
        first, second = a.numbers(), b.numbers()

        def at(numbers, array, batch, row, column, is_transposed):
            index = (column, row) if is_transposed else (row, column)
            if len(array.shape) == 3:
                index = (batch if array.shape[0] > 1 else 0, *index)
            return numbers[index]

        k = a.shape[-2] if transa else a.shape[-1]
        for (*batch, i, j), value in result.numbers().items():
            batch = batch[0] if batch else 0
            total = sum(at(first, a, batch, i, x, transa) * at(second, b, batch, x, j, transb)
                        for x in range(k))
            self.assertEqual(value, alpha * total + beta * before, (batch, i, j))


class Protocols(Case):
    def test_each_alone_and_together(self):
        for kind_a, kind_b, kind_c in ((Interface,) * 3, (Dlpack,) * 3,
                                       (OldDlpack, Interface, Dlpack)):
            a, b = kind_a((9, 16), of_a), kind_b((16, 11), of_b)
            c = kind_c((9, 11), dtype="float32")
            self.assertIs(bwgemm.gemm(a, b, c), c)
            self.check(c, a, b)

    def test_half_precision(self):
        a, b = Interface((8, 16), of_a, "float16"), Dlpack((16, 8), of_b, "float16")
        c = Dlpack((8, 8), dtype="float16")
        bwgemm.matmul(a, b, c)
        self.check(c, a, b)

    def test_dlpack_without_strides_and_with_an_offset(self):
        a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
        a.null_strides, b.byte_offset = True, 256
        bwgemm.matmul(a, b, c)
        self.check(c, a, b)

    def test_dlpack_is_told_the_stream(self):
        a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
        bwgemm.matmul(a, b, c)
        self.assertEqual(a.asked_stream, 1, "the legacy default stream is 1 there")
        stream = new_stream()
        bwgemm.matmul(a, b, c, stream=stream)
        self.assertEqual((a.asked_stream, c.asked_stream), (stream, stream))
        self.check(c, a, b)

    def test_the_interfaces_stream_is_waited_for(self):
        producer, stream = new_stream(), new_stream()
        for _ in range(4):  # a forgotten wait goes wrong in about half of the cases
            a, b, c = Interface((8, 16)), Interface((16, 8), of_b), Interface((8, 8))
            ready = Device((8, 16), of_a)
            with current():
                cuda("cuMemcpyDtoDAsync_v2", a.pointer, ready.pointer,
                     ctypes.c_size_t(8 * 16 * 2), ctypes.c_void_p(producer))
            a.stream = producer
            bwgemm.matmul(a, b, c, stream=stream)
            self.check(c, ready, b)

    def test_arrays_are_made_where_their_library_can(self):
        a, b = Jax((8, 16), of_a), Dlpack((16, 8), of_b)
        self.check(bwgemm.matmul(a, b), a, b)
        self.assertEqual(bwgemm.matmul(a, b, out_dtype="float32").dtype, "float32")
        with self.assertRaisesRegex(TypeError, "out is needed"):
            bwgemm.matmul(b, a)

    def test_cupy_makes_them_on_the_device_for_the_stream(self):
        for device, dtype in ((0, "float16"), (1, "bfloat16")):
            with current(device), cupy() as module:
                stream = ctypes.c_void_p()
                cuda("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(1))
                a, b = (Cupy(shape, of, dtype, device=device)
                        for shape, of in (((8, 16), of_a), ((16, 8), of_b)))
                with current(1 - device):
                    c = bwgemm.matmul(a, b, stream=stream.value)
                self.assertEqual(module.allocation, (stream.value, device))
                self.assertEqual((type(c), c.dtype), (Cupy, dtype))
                self.check(c, a, b)
                float32 = type("float32", (), {})  # as numpy.float32 is, a type
                self.assertEqual(bwgemm.matmul(a, b, out_dtype=float32).dtype, "float32")


class Layouts(Case):
    def test_every_order(self):
        def strides(rows, columns, is_row_order, extra):
            return (columns + extra, 1) if is_row_order else (1, rows + extra)

        for orders in range(8):
            row_a, row_b, row_c = (bool(orders >> bit & 1) for bit in range(3))
            a = Interface((9, 13), of_a, strides=strides(9, 13, row_a, 3))
            b = Dlpack((13, 10), of_b, strides=strides(13, 10, row_b, orders))
            c = Interface((9, 10), dtype="float32", strides=strides(9, 10, row_c, 1))
            bwgemm.gemm(a, b, c)
            self.check(c, a, b)

    def test_transposed_scaled_and_added(self):
        a, b = Dlpack((13, 9), of_a), Dlpack((10, 13), of_b)
        c = Dlpack((9, 10), lambda *_: 4.0, "float32")
        bwgemm.gemm(a, b, c, alpha=2, beta=0.5, transa=True, transb=True)
        self.check(c, a, b, 2, 0.5, 4.0, True, True)

    def test_batches(self):
        for shape_a, shape_b in (((3, 6, 8), (3, 8, 5)), ((6, 8), (3, 8, 5)), ((3, 6, 8), (1, 8, 5))):
            a, b = Dlpack(shape_a, of_a), Dlpack(shape_b, of_b)
            c = Dlpack((3, 6, 5), dtype="float32")
            bwgemm.matmul(a, b, c)
            self.check(c, a, b)

    def test_the_product_that_is_explained(self):
        text = bwgemm.explain(Dlpack((3, 8, 16)), Dlpack((16, 12)), Dlpack((3, 8, 12)))
        self.assertIn("m 8 n 12 k 16 batch 3", text)

    def test_vectors_and_empty_ones(self):
        for m, n, k in ((1, 9, 8), (9, 1, 8), (9, 8, 1), (1, 1, 1)):
            a, b, c = Dlpack((m, k), of_a), Dlpack((k, n), of_b), Dlpack((m, n), dtype="float32")
            bwgemm.matmul(a, b, c)
            self.check(c, a, b)
        for m, n, k in ((0, 9, 8), (9, 0, 8), (9, 9, 0)):
            a, b, c = Dlpack((m, k)), Dlpack((k, n)), Dlpack((m, n), of_a)
            bwgemm.matmul(a, b, c)
            self.assertEqual(list(c.numbers().values()), [0.0] * (m * n))
        row = Dlpack((1, 8), of_a, strides=(1, 1))  # the stride of one row means nothing
        b, c = Dlpack((8, 4), of_b), Dlpack((1, 4))
        bwgemm.matmul(row, b, c)
        self.check(c, row, b)


class Fused(Case):
    """One product in exact numbers, and what is fused to it."""

    def product(self, a, b):
        first, second, k = a.numbers(), b.numbers(), a.shape[1]
        return {(i, j): sum(first[i, x] * second[x, j] for x in range(k))
                for i in range(a.shape[0]) for j in range(b.shape[1])}

    def test_bias_activation_and_residual(self):
        a, b = Dlpack((9, 16), of_a), Interface((16, 12), of_b)
        bias, residual = Dlpack((12,), of_b, "float32"), Dlpack((9, 12), of_a)
        expected = self.product(a, b)
        for strides in ((12, 1), (1, 9)):
            out = Dlpack((9, 12), dtype="float32", strides=strides)
            self.assertIs(bwgemm.matmul(a, b, out, bias=bias, activation="relu",
                                        residual=residual), out)
            for (i, j), value in out.numbers().items():
                self.assertEqual(value, max(0.0, expected[i, j] + of_a(i, j) + of_b(j)), (i, j))

    def test_clamp_has_bounds(self):
        a, b = Dlpack((9, 16), of_a), Interface((16, 12), of_b)
        expected = self.product(a, b)
        for low, high in ((-1.5, 4), (0, float("inf"))):
            out = Dlpack((9, 12), dtype="float32")
            bwgemm.matmul(a, b, out, clamp=(low, high))
            for index, value in out.numbers().items():
                self.assertEqual(value, min(max(expected[index], low), high), index)
        for clamp, activation, text in (((2, 1), None, "lower one first"),
                                        ((float("nan"), 1), None, "lower one first"),
                                        ((0, 1), "relu", "no activation, such as 'relu'")):
            with self.assertRaisesRegex(ValueError, text):
                bwgemm.matmul(a, b, clamp=clamp, activation=activation)

    def test_sigmoid(self):
        a, b, out = Dlpack((9, 16), of_a), Dlpack((16, 12), of_b), Dlpack((9, 12), dtype="float32")
        bwgemm.matmul(a, b, out, activation="sigmoid")
        expected = self.product(a, b)
        for index, value in out.numbers().items():
            self.assertAlmostEqual(value, 1 / (1 + math.exp(-expected[index])), 5, index)

    def test_a_residual_may_be_the_result(self):
        a, b = Dlpack((9, 16), of_a), Dlpack((16, 12), of_b)
        out = Dlpack((9, 12), of_a, "float32")
        bwgemm.matmul(a, b, out, residual=out)
        for index, value in out.numbers().items():
            self.assertEqual(value, self.product(a, b)[index] + of_a(*index))

    def test_gates(self):
        a, b, bias = Dlpack((9, 16), of_a), Dlpack((16, 12), of_b), Dlpack((12,), of_b)
        product = self.product(a, b)
        for gate, pair in (("interleaved", lambda j: (2 * j, 2 * j + 1)),
                           ("stacked", lambda j: (j, j + 6))):
            out = Dlpack((9, 6), dtype="float32")
            bwgemm.matmul(a, b, out, gate=gate, activation="relu", bias=bias)
            for (i, j), value in out.numbers().items():
                x, y = (product[i, column] + of_b(column) for column in pair(j))
                self.assertEqual(value, max(0.0, x) * y, (gate, i, j))

    def test_bias_gradients(self):
        a, b = Dlpack((9, 16), of_a), Dlpack((16, 12), of_b)
        product, out = self.product(a, b), Dlpack((9, 12), dtype="float32")
        for of, size, terms in (("rows", 9, lambda i: (product[i, j] for j in range(12))),
                                ("columns", 12, lambda j: (product[i, j] for i in range(9))),
                                ("a", 9, lambda i: (of_a(i, x) for x in range(16))),
                                ("b", 12, lambda j: (of_b(x, j) for x in range(16)))):
            sums = Interface((size,), dtype="float32")
            self.assertIs(bwgemm.matmul(a, b, out, bias_gradient=sums, bias_gradient_of=of), out)
            self.assertEqual(sums.numbers(), {(i,): sum(terms(i)) for i in range(size)}, of)
        batched, sums = Dlpack((3, 9, 16), of_a), Dlpack((3, 9), dtype="float32")
        bwgemm.matmul(batched, b, Dlpack((3, 9, 12)), bias_gradient=sums, bias_gradient_of="a")
        for (batch, i), value in sums.numbers().items():
            self.assertEqual(value, sum(of_a(batch, i, x) for x in range(16)))

    def test_refusals(self):
        a, b, out = Dlpack((9, 16), of_a), Dlpack((16, 12), of_b), Dlpack((9, 12))
        for text, named in (("activation is 'tanh'", {"activation": "tanh"}),
                            ("gate is 'half'", {"gate": "half"}),
                            ("vector of 12 elements", {"bias": Dlpack((9,), of_a)}),
                            ("residual is 1 x 16 x 12", {"residual": b}),
                            ("bias_gradient_of is 'c'", {"bias": b, "bias_gradient_of": "c"}),
                            ("vector of 9 elements", {"bias_gradient": Dlpack((12,)),
                                                      "bias_gradient_of": "a"}),
                            ("out is 1 x 9 x 12, but the product is 1 x 9 x 6", {"gate": "stacked"})):
            with self.assertRaisesRegex(ValueError, text):
                bwgemm.matmul(a, b, out, **named)
        with self.assertRaisesRegex(ValueError, "rows of out"):
            bwgemm.matmul(a, b, Dlpack((9, 6), strides=(1, 9)), gate="stacked")


class Refusals(Case):
    def refused(self, error, text, *arguments, **named):
        with self.assertRaisesRegex(error, text):
            bwgemm.gemm(*arguments, **named)

    def test_what_is_no_such_array(self):
        a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
        self.refused(TypeError, "b is a list", a, [[1.0]], c)
        self.refused(TypeError, "a has elements of DLPack type 2 and 64 bits",
                     Dlpack((8, 16), dtype="float64"), b, c)
        self.refused(TypeError, "a has elements of type <f8", Interface((8, 16), dtype="float64"), b, c)
        self.refused(TypeError, "a has elements of type <V2", nameless(a), b, c)
        host = Dlpack((8, 16), of_a)
        host.device_type = 1
        self.refused(TypeError, "a is not in the memory of a CUDA device", host, b, c)
        read_only = Interface((8, 8))
        read_only.read_only = True
        self.refused(ValueError, "c is read-only", a, b, read_only)
        self.refused(TypeError, "stream", a, b, c, stream="1")

    def test_what_does_not_fit(self):
        a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
        self.refused(ValueError, "inner sizes", a, a, c)
        self.refused(ValueError, "c is 1 x 8 x 16", a, b, a)
        self.refused(ValueError, "a is bfloat16, b is float16", a, Dlpack((16, 8), dtype="float16"), c)
        self.refused(ValueError, "dimensions", Dlpack((8,), of_a), b, c)
        self.refused(ValueError, "strides 32 and 2", Dlpack((8, 16), strides=(32, 2)), b, c)
        self.refused(ValueError, "out_dtype", a, b, c, out_dtype="float32")
        self.refused(ValueError, "no c", a, b, beta=1)
        self.refused(ValueError, "3 matrices, b has 2", Dlpack((3, 8, 16)), Dlpack((2, 16, 8)), c)

    def test_what_the_library_refuses(self):
        a, b = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b)
        with self.assertRaises(bwgemm.Error) as caught:
            bwgemm.gemm(a, b, Dlpack((8, 8), dtype="float16"))
        self.assertEqual(caught.exception.name, "BWGEMM_STATUS_NOT_SUPPORTED")
        self.assertEqual(caught.exception.status, 15)
        self.assertIn("c is float16", str(caught.exception))


def nameless(array):
    """The same memory as bfloat16, but nothing says so."""
    interface = {"shape": array.shape, "typestr": "<V2", "data": (array.pointer.value, False),
                 "version": 3}
    return types.SimpleNamespace(__cuda_array_interface__=interface)


class Torch(Case):
    def test_the_result_is_a_tensor_on_the_current_stream(self):
        stream = new_stream()
        a, b = Tensor((8, 16), of_a), Tensor((8, 16), of_b)
        with torch(current_stream=stream) as module:
            c = bwgemm.gemm(a, b, transb=True, out_dtype=module.float32)
            self.assertEqual(module.allocation_stream, stream)
            self.assertEqual(_native.handles(0)[-1][1], stream)
            for other in (new_stream(), 0):
                chosen = types.SimpleNamespace(cuda_stream=other)
                bwgemm.matmul(a, Tensor((16, 8), of_b), stream=chosen)
                self.assertEqual(module.allocation_stream, other)
        self.assertIsInstance(c, Tensor)
        self.assertEqual(c.dtype, "float32")
        self.check(c, a, b, transb=True)

    def test_gradients_are_not_lost_silently(self):
        a, b = Tensor((8, 16), of_a), Tensor((16, 8), of_b)
        a.requires_grad = True
        with torch(grad=True), self.assertRaisesRegex(TypeError, "a requires a gradient"):
            bwgemm.matmul(a, b)
        with torch(grad=False):
            self.check(bwgemm.matmul(a, b), a, b)

    def test_tensors_elsewhere(self):
        a, b = Tensor((8, 16), of_a), Tensor((16, 8), of_b)
        a.is_cuda = False
        with torch(), self.assertRaisesRegex(TypeError, "a must be a strided tensor on a CUDA"):
            bwgemm.matmul(a, b)


def ended(work):
    """Runs it in a thread, until that has ended for the system too, which is after join()."""
    thread = threading.Thread(target=work)
    thread.start()
    task = f"/proc/self/task/{thread.native_id}"
    thread.join()
    while os.path.exists(task):
        time.sleep(0.001)


class Process(Case):
    def test_a_handle_for_each_thread_which_the_next_inherits(self):
        seen = []

        def work():
            a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
            bwgemm.matmul(a, b, c)
            self.check(c, a, b)
            seen.append(_native.handles(0)[-1][0])

        work()
        for _ in range(2):
            ended(work)
        self.assertEqual(len(seen), 3)
        self.assertNotEqual(seen[0], seen[1])
        self.assertEqual(seen[1], seen[2])

    def test_the_first_call_of_a_thread_may_be_captured(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "first_in_capture.py")
        done = subprocess.run([sys.executable, program], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_many_threads(self):
        wrong = []

        def work():
            try:
                for _ in range(3):
                    a, b = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b)
                    c = Dlpack((8, 8), dtype="float32")
                    bwgemm.matmul(a, b, c)
                    self.check(c, a, b)
            except BaseException as error:  # a thread's failure would be lost
                wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_two_devices(self):
        for device in (1, 0):
            a, b = Dlpack((8, 16), of_a, device=device), Interface((16, 8), of_b, device=device)
            c = Dlpack((8, 8), device=device)
            bwgemm.matmul(a, b, c)
            self.check(c, a, b)
            architecture = "sm100" if device else "sm90"
            self.assertIn(f"bwgemm_{architecture}_", bwgemm.explain(a, b, c))
        with self.assertRaisesRegex(ValueError, "b is on device 1, a is on device 0"):
            bwgemm.matmul(a, Dlpack((16, 8), of_b, device=1), c)

    def test_the_caller_context_is_left_alone(self):
        a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
        before, after = ctypes.c_void_p(), ctypes.c_void_p()
        cuda("cuCtxGetCurrent", ctypes.byref(before))
        bwgemm.matmul(a, b, c)
        cuda("cuCtxGetCurrent", ctypes.byref(after))
        self.assertEqual(before.value, after.value)

    def test_a_forked_child_is_told(self):
        a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8))
        stale = set()

        def work():
            bwgemm.matmul(a, b, c)
            stale.update(handle for handle, _ in _native.handles(0))

        work()
        ended(work)  # whose handle is idle then
        self.assertEqual(len(stale), 2)
        child = os.fork()
        if child == 0:
            # The virtual driver works in a child, unlike a real one.
            fresh = False
            try:
                bwgemm.matmul(a, b, c)
                fresh = _native.handles(0)[-1][0] not in stale
            finally:
                os._exit(0 if fresh else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_information(self):
        self.assertEqual(len(bwgemm.version()), 3)
        self.assertIn("bwgemm", bwgemm.build_info())
        self.assertTrue(all(name.startswith("bwgemm_sm") for name in bwgemm.kernel_names()))


if __name__ == "__main__":
    unittest.main()
