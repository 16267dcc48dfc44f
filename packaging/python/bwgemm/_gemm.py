# SPDX-License-Identifier: Apache-2.0
"""gemm, matmul and explain: from arrays to the arguments of a column-major BLAS."""

import collections
import ctypes

from bwgemm import _arrays, _library
from bwgemm._library import CHOOSE, COMPUTE_32F, DATA_TYPE, OPERATION, library

# Rows and columns as the product sees them, behind the batch.
_Matrix = collections.namedtuple("_Matrix", "array rows columns ld is_row_order batch stride")


def _order(name, rows, columns, row_stride, column_stride):
    """(leading dimension, whether rows are contiguous)."""
    if (columns <= 1 or column_stride == 1) and (rows <= 1 or row_stride >= max(1, columns)):
        return (row_stride if rows > 1 else max(1, columns)), True
    if (rows <= 1 or row_stride == 1) and (columns <= 1 or column_stride >= max(1, rows)):
        return (column_stride if columns > 1 else max(1, rows)), False
    raise ValueError(f"{name} of {rows} x {columns} has strides {row_stride} and {column_stride}: "
                     "one must be 1, and the other at least the length of a row or column")


def _matrix(name, array, is_transposed):
    if len(array.shape) not in (2, 3):
        raise ValueError(f"{name} has {len(array.shape)} dimensions, but must have 2, or 3 with a "
                         "batch")
    batch, stride = (array.shape[0], array.strides[0]) if len(array.shape) == 3 else (1, 0)
    (rows, columns), strides = array.shape[-2:], array.strides[-2:]
    if is_transposed:
        rows, columns, strides = columns, rows, strides[::-1]
    ld, is_row_order = _order(name, rows, columns, *strides)
    return _Matrix(array, rows, columns, ld, is_row_order, batch, stride if batch > 1 else 0)


def _batch(a, b):
    if a.batch != b.batch and 1 not in (a.batch, b.batch):
        raise ValueError(f"a has {a.batch} matrices, b has {b.batch}")
    return b.batch if a.batch == 1 else a.batch


_Call = collections.namedtuple("_Call", "device m n k first second c batch")


def _prepared(a, b, c, beta, transa, transb, out_dtype, stream):
    """(what is to be called, c). Column-major BLAS computes a c in row order as its transpose:
    c.T = b.T @ a.T."""
    first = _matrix("a", _arrays.described("a", a, stream), transa)
    second = _matrix("b", _arrays.described("b", b, stream), transb)
    if first.columns != second.rows:
        raise ValueError(f"a is {first.rows} x {first.columns}, b is {second.rows} x "
                         f"{second.columns}: the inner sizes differ")
    if first.array.dtype != second.array.dtype:
        raise ValueError(f"a is {first.array.dtype}, b is {second.array.dtype}")
    batch = _batch(first, second)
    if c is None:
        if beta != 0:
            raise ValueError("beta is not 0, but there is no c")
        is_batched = 3 in (len(first.array.shape), len(second.array.shape))
        shape = (*((batch,) if is_batched else ()), first.rows, second.columns)
        c = _arrays.empty_like(a, shape, str(out_dtype or first.array.dtype).split(".")[-1], stream)
    result = _matrix("c", _arrays.described("c", c, stream, is_written=True), False)
    if out_dtype is not None and str(out_dtype).split(".")[-1] != result.array.dtype:
        raise ValueError(f"out_dtype is {out_dtype}, but c is {result.array.dtype}")
    if (result.batch, result.rows, result.columns) != (batch, first.rows, second.columns):
        raise ValueError(f"c is {result.batch} x {result.rows} x {result.columns}, but the product "
                         f"is {batch} x {first.rows} x {second.columns}")
    devices = {x.array.device for x in (first, second, result)} - {None}
    if len(devices) > 1:
        raise ValueError(f"a, b and c are on devices {sorted(devices)}")
    for array in (first.array, second.array, result.array):
        if array.dtype not in DATA_TYPE:
            raise TypeError(f"elements of {array.dtype} are not served")
    m, n, k = first.rows, second.columns, first.columns
    if result.is_row_order:
        m, n, first, second = n, m, second, first
    return _Call(devices.pop() if devices else 0, m, n, k, first, second, result, batch), c


def _operand(matrix, is_batched):
    """Pointer, type, leading dimension and, in a batch, stride."""
    array = matrix.array
    plain = (array.pointer, DATA_TYPE[array.dtype], matrix.ld)
    return (*plain, matrix.stride) if is_batched else plain


def _arguments(call, alpha, beta, is_batched):
    # op(X) of the call is in the order of its result. In row order everything is transposed, and so
    # a matrix is taken as it is stored exactly if its order is that of c.
    operations = (OPERATION[x.is_row_order != call.c.is_row_order]
                  for x in (call.first, call.second))
    batch = (call.batch,) if is_batched else ()
    return (*operations, call.m, call.n, call.k, ctypes.byref(ctypes.c_float(alpha)),
            *_operand(call.first, is_batched), *_operand(call.second, is_batched),
            ctypes.byref(ctypes.c_float(beta)), *_operand(call.c, is_batched), *batch, COMPUTE_32F,
            CHOOSE)


def _stream(stream, a):
    return _arrays.current_stream(a) if stream is None else _arrays.pointer_of_stream(stream)


def gemm(a, b, c=None, alpha=1.0, beta=0.0, transa=False, transb=False, out_dtype=None,
         stream=None):
    """c = alpha * op(a) @ op(b) + beta * c, written into c, which is returned.

    op transposes the last two dimensions if its flag is set. Without c a new array is made by the
    library of a, of out_dtype (such as "float32") or the type of a. In a batch, a or b may have
    two dimensions or a first one of 1: it is then used for every product."""
    pointer = _stream(stream, a)
    call, c = _prepared(a, b, c, beta, transa, transb, out_dtype, pointer)
    for matrix in (call.first, call.second, call.c):
        if matrix.array.producer is not None:
            _library.wait_for(call.device, pointer, matrix.array.producer)
    handle = _library.handle_for(call.device, pointer)
    _library.check(library.bwgemmGemmStridedBatchedEx(handle, *_arguments(call, alpha, beta, True)))
    return c


def matmul(a, b, out=None, out_dtype=None, stream=None):
    """a @ b, written into out if it is given. See gemm."""
    return gemm(a, b, out, out_dtype=out_dtype, stream=stream)


def explain(a, b, c=None, alpha=1.0, beta=0.0, transa=False, transb=False, out_dtype=None,
            stream=None):
    """What gemm would choose for these arguments (for one product of a batch), and why. Launches
    nothing. The text speaks of the product as the library sees it."""
    pointer = _stream(stream, a)
    call, _ = _prepared(a, b, c, beta, transa, transb, out_dtype, pointer)
    text = ctypes.create_string_buffer(1 << 16)
    handle = _library.handle_for(call.device, pointer)
    _library.check(library.bwgemmExplain(handle, *_arguments(call, alpha, beta, False), text,
                                         len(text)))
    return text.value.decode()
