# SPDX-License-Identifier: Apache-2.0
"""gemm, matmul and explain: from arrays to the arguments of a column-major BLAS."""

import collections
import ctypes

from bwgemm import _arrays, _library
from bwgemm._library import (ACTIVATION, BIAS_GRADIENT, CHOOSE, COMPUTE_32F, DATA_TYPE, DIM_N, GATE,
                             OPERATION, ORDER, library)

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


_Product = collections.namedtuple("_Product", "device a b c batch")


def _prepared(a, b, c, beta, transa, transb, out_dtype, stream, is_gated=False):
    """(the product, c), where c is made if it is None."""
    first = _matrix("a", _arrays.described("a", a, stream), transa)
    second = _matrix("b", _arrays.described("b", b, stream), transb)
    if first.columns != second.rows:
        raise ValueError(f"a is {first.rows} x {first.columns}, b is {second.rows} x "
                         f"{second.columns}: the inner sizes differ")
    if first.array.dtype != second.array.dtype:
        raise ValueError(f"a is {first.array.dtype}, b is {second.array.dtype}")
    batch = _batch(first, second)
    if is_gated and second.columns % 2 != 0:
        raise ValueError(f"b has {second.columns} columns, but with a gate their number must be even")
    columns = second.columns // 2 if is_gated else second.columns
    if c is None:
        if beta != 0:
            raise ValueError("beta is not 0, but there is no c")
        is_batched = 3 in (len(first.array.shape), len(second.array.shape))
        shape = (*((batch,) if is_batched else ()), first.rows, columns)
        c = _arrays.empty_like(a, shape, str(out_dtype or first.array.dtype).split(".")[-1], stream)
    result = _matrix("c", _arrays.described("c", c, stream, is_written=True), False)
    if out_dtype is not None and str(out_dtype).split(".")[-1] != result.array.dtype:
        raise ValueError(f"out_dtype is {out_dtype}, but c is {result.array.dtype}")
    if (result.batch, result.rows, result.columns) != (batch, first.rows, columns):
        raise ValueError(f"c is {result.batch} x {result.rows} x {result.columns}, but the product "
                         f"is {batch} x {first.rows} x {columns}")
    devices = {x.array.device for x in (first, second, result)} - {None}
    if len(devices) > 1:
        raise ValueError(f"a, b and c are on devices {sorted(devices)}")
    for array in (first.array, second.array, result.array):
        if array.dtype not in DATA_TYPE:
            raise TypeError(f"elements of {array.dtype} are not served")
    return _Product(devices.pop() if devices else 0, first, second, result, batch), c


def _operand(matrix, is_batched):
    """Pointer, type, leading dimension and, in a batch, stride."""
    array = matrix.array
    plain = (array.pointer, DATA_TYPE[array.dtype], matrix.ld)
    return (*plain, matrix.stride) if is_batched else plain


def _arguments(product, alpha, beta, is_batched):
    """Of a BLAS call. Column-major BLAS computes a c in row order as its transpose: c.T = b.T @
    a.T."""
    m, n, k = product.a.rows, product.b.columns, product.a.columns
    first, second = product.a, product.b
    if product.c.is_row_order:
        m, n, first, second = n, m, second, first
    # op(X) of the call is in the order of its result. In row order everything is transposed, and so
    # a matrix is taken as it is stored exactly if its order is that of c.
    operations = (OPERATION[x.is_row_order != product.c.is_row_order] for x in (first, second))
    batch = (product.batch,) if is_batched else ()
    return (*operations, m, n, k, ctypes.byref(ctypes.c_float(alpha)), *_operand(first, is_batched),
            *_operand(second, is_batched), ctypes.byref(ctypes.c_float(beta)),
            *_operand(product.c, is_batched), *batch, COMPUTE_32F, CHOOSE)


def _set_matrix(desc, letter, matrix):
    setattr(desc, f"{letter}type", DATA_TYPE[matrix.array.dtype])
    setattr(desc, f"{letter}order", ORDER[matrix.is_row_order])
    setattr(desc, f"ld{letter.lower()}", matrix.ld)
    setattr(desc, f"stride{letter}", matrix.stride)


def _vector(name, array, size, device, batch=1):
    """A vector that is to have the size, and lie on the device; in a batch as many."""
    shape = (size,) if batch == 1 else (batch, size)
    if tuple(array.shape) != shape or (size > 1 and array.strides[-1] != 1):
        raise ValueError(f"{name} has shape {array.shape} and strides {array.strides}, but must be a "
                         f"vector of {size} elements next to each other"
                         + (f" for each of {batch} products" if batch > 1 else ""))
    if array.dtype not in DATA_TYPE:
        raise TypeError(f"elements of {array.dtype} are not served")
    if array.device not in (device, None):
        raise ValueError(f"{name} is on device {array.device}, a is on device {device}")
    return array


def _desc(product, bias, activation, gate, residual):
    desc = _library.MatmulDesc.initial()
    desc.m, desc.n, desc.k = product.a.rows, product.b.columns, product.a.columns
    desc.batchCount = product.batch
    for letter, matrix in (("A", product.a), ("B", product.b), ("C", residual or product.c),
                           ("D", product.c)):
        _set_matrix(desc, letter, matrix)
    desc.activation, desc.gate = ACTIVATION[activation], GATE[gate]
    if bias is not None:
        desc.bias, desc.biasType, desc.biasDim = bias.pointer, DATA_TYPE[bias.dtype], DIM_N
    return desc


def _set_bias_gradient(desc, product, array, of):
    size = {"rows": product.c.rows, "columns": product.c.columns, "a": product.a.rows,
            "b": product.b.columns}[of]
    _vector("bias_gradient", array, size, product.device, product.batch)
    desc.biasGradientOf, desc.biasGradient = BIAS_GRADIENT[of], array.pointer
    desc.biasGradientType = DATA_TYPE[array.dtype]
    desc.strideBiasGradient = array.strides[0] if product.batch > 1 else 0


def _checked(name, value, table):
    if value not in table:
        raise ValueError(f"{name} is {value!r}, but must be one of {list(table)}")


def _stream(stream, a):
    return _arrays.current_stream(a) if stream is None else _arrays.pointer_of_stream(stream)


def _ready_handle(product, stream, extras=()):
    """Set to the stream, on which the arrays' producers are waited for."""
    for array in (product.a.array, product.b.array, product.c.array, *extras):
        if array.producer is not None:
            _library.wait_for(product.device, stream, array.producer)
    return _library.handle_for(product.device, stream)


def gemm(a, b, c=None, alpha=1.0, beta=0.0, transa=False, transb=False, out_dtype=None,
         stream=None):
    """c = alpha * op(a) @ op(b) + beta * c, written into c, which is returned.

    op transposes the last two dimensions if its flag is set. Without c a new array is made by the
    library of a, of out_dtype (such as "float32") or the type of a. In a batch, a or b may have
    two dimensions or a first one of 1: it is then used for every product."""
    pointer = _stream(stream, a)
    product, c = _prepared(a, b, c, beta, transa, transb, out_dtype, pointer)
    handle = _ready_handle(product, pointer)
    _library.check(
        library.bwgemmGemmStridedBatchedEx(handle, *_arguments(product, alpha, beta, True)))
    return c


def matmul(a, b, out=None, out_dtype=None, stream=None, bias=None, activation=None, gate=None,
           residual=None, bias_gradient=None, bias_gradient_of="columns"):
    """activation(a @ b + residual + bias), written into out if it is given. See gemm.

    bias is a vector with an element for each column of b, residual an array of the result's shape,
    activation one of "relu", "gelu", "gelu_tanh" and "silu". With a gate the columns of the product
    come in pairs (x, y) of which the result has one column, activation(x) * y: columns 2j and 2j + 1
    if it is "interleaved", j and j + half of them if it is "stacked"; there is no residual then, and
    rows of out must be contiguous. All of it happens in the one kernel of the product.

    bias_gradient is an array that is written, by a second kernel: a vector (in a batch one for each
    product) of the sums of each of the result's "columns" or "rows", or of each row of "a" or column
    of "b"."""
    if all(extra is None for extra in (bias, activation, gate, residual, bias_gradient)):
        return gemm(a, b, out, out_dtype=out_dtype, stream=stream)
    _checked("activation", activation, ACTIVATION)
    _checked("gate", gate, GATE)
    _checked("bias_gradient_of", bias_gradient_of, BIAS_GRADIENT)
    pointer = _stream(stream, a)
    product, out = _prepared(a, b, out, 0, False, False, out_dtype, pointer, gate is not None)
    if gate is not None and not product.c.is_row_order:
        raise ValueError("with a gate, rows of out must be contiguous")
    extras = []
    if bias is not None:
        bias = _vector("bias", _arrays.described("bias", bias, pointer), product.b.columns,
                       product.device)
        extras.append(bias)
    if residual is not None:
        residual = _matrix("residual", _arrays.described("residual", residual, pointer), False)
        if residual[1:3] != product.c[1:3] or residual.batch not in (1, product.batch):
            raise ValueError(f"residual is {residual.batch} x {residual.rows} x {residual.columns}, "
                             f"but the result is {product.batch} x {product.c.rows} x "
                             f"{product.c.columns}")
        if residual.array.dtype not in DATA_TYPE:
            raise TypeError(f"elements of {residual.array.dtype} are not served")
        extras.append(residual.array)
    desc = _desc(product, bias, activation, gate, residual)
    if bias_gradient is not None:
        gradient = _arrays.described("bias_gradient", bias_gradient, pointer, is_written=True)
        _set_bias_gradient(desc, product, gradient, bias_gradient_of)
        extras.append(gradient)
    one = ctypes.byref(ctypes.c_float(1))
    handle = _ready_handle(product, pointer, extras)
    _library.check(library.bwgemmMatmul(
        handle, ctypes.byref(desc), one, product.a.array.pointer, product.b.array.pointer,
        one if residual else None, residual.array.pointer if residual else None,
        product.c.array.pointer))
    return out


def explain(a, b, c=None, alpha=1.0, beta=0.0, transa=False, transb=False, out_dtype=None,
            stream=None):
    """What gemm would choose for these arguments (for one product of a batch), and why. Launches
    nothing. The text speaks of the product as the library sees it."""
    pointer = _stream(stream, a)
    product, _ = _prepared(a, b, c, beta, transa, transb, out_dtype, pointer)
    text = ctypes.create_string_buffer(1 << 16)
    handle = _library.handle_for(product.device, pointer)
    _library.check(library.bwgemmExplain(handle, *_arguments(product, alpha, beta, False), text,
                                         len(text)))
    return text.value.decode()
