# SPDX-License-Identifier: Apache-2.0
"""libbwgemm.so and the CUDA driver, both opened by the compiled module _native."""

import os

from bwgemm import _native

NOT_SUPPORTED = 15
DATA_TYPE = {"float32": 0, "float16": 2, "bfloat16": 14}
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
ORDER = {False: 0, True: 1}  # of bwgemmOrder_t: COL, ROW
ACTIVATION = {None: 0, "relu": 1, "gelu_tanh": 2, "gelu": 3, "silu": 4, "sigmoid": 5}
CLAMP = 6  # of bwgemmActivation_t; it has bounds, so it is no name alone
GATE = {None: 0, "interleaved": 1, "stacked": 2}
BIAS_GRADIENT = {"rows": 1, "columns": 2, "a": 3, "b": 4}
DIM_N = 1


class Error(RuntimeError):
    """A call that the library or the driver refused. `status` is the bwgemmStatus_t, `name` its
    name."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.name = _native.status_name(status)


def _open():
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libbwgemm.so.1")
    _native.open(own if os.path.exists(own) else "libbwgemm.so.1", Error)


_open()


def version():
    """(major, minor, patch) of the library."""
    number = _native.version()
    return number // 10000, number // 100 % 100, number % 100


def build_info():
    """One line: version, source revision, compiler, architectures."""
    return _native.build_info()


def kernel_names():
    """All kernels of the library, as profilers show them."""
    return _native.kernel_names()
