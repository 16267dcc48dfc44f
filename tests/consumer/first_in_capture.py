# SPDX-License-Identifier: Apache-2.0
"""A process whose first call of bwgemm is captured, in the mode that forbids most. Run by arrays_test.py."""

import ctypes

import bwgemm
from arrays_test import new_stream, of_a, of_b
from fake_arrays import Dlpack, cuda, current

GLOBAL = 0  # CU_STREAM_CAPTURE_MODE_GLOBAL

a, b, c = Dlpack((8, 16), of_a), Dlpack((16, 8), of_b), Dlpack((8, 8), dtype="float32")
stream = ctypes.c_void_p(new_stream())
graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
with current():
    cuda("cuStreamBeginCapture_v2", stream, ctypes.c_int(GLOBAL))
    bwgemm.matmul(a, b, c, stream=stream.value)
    cuda("cuStreamEndCapture", stream, ctypes.byref(graph))
    cuda("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    cuda("cuGraphLaunch", executable, stream)
assert c.numbers()[1, 2] == sum(of_a(1, x) * of_b(x, 2) for x in range(16))
