# SPDX-License-Identifier: Apache-2.0
"""gemm, matmul and explain: from arrays to the arguments of bwgemmMatmul, in which A and B are a
and b, whatever their order, and D is c or out."""

import collections
import struct

from bwgemm import _arrays, _library, _native
from bwgemm._library import (ACTIVATION, BIAS_GRADIENT, CLAMP, DATA_TYPE, DIM_N, GATE, NOT_SUPPORTED,
                             ORDER)
from bwgemm._overlap import overlap, overlaps_itself

_GRADIENTS = 1  # the care of _native.product: tensors that require gradients are left to the long way

# Rows and columns as the product sees them, behind the batch.
_Matrix = collections.namedtuple("_Matrix", "name array rows columns ld is_row_order batch stride")


def _order(name, rows, columns, row_stride, column_stride):
    """(leading dimension, whether rows are contiguous)."""
    if rows == 0 or columns == 0:  # strides mean nothing
        return max(1, columns), True
    if (columns <= 1 or column_stride == 1) and (rows <= 1 or row_stride >= max(1, columns)):
        return (row_stride if rows > 1 else max(1, columns)), True
    if (rows <= 1 or row_stride == 1) and (columns <= 1 or column_stride >= max(1, rows)):
        return (column_stride if columns > 1 else max(1, rows)), False
    raise ValueError(f"{name} of {rows} x {columns} has strides {row_stride} and {column_stride}: "
                     "one must be 1, and the other at least the length of a row or column")


def _matrix(name, array, is_transposed=False):
    if len(array.shape) not in (2, 3):
        raise ValueError(f"{name} has {len(array.shape)} dimensions, but must have 2, or 3 with a "
                         "batch")
    batch, stride = (array.shape[0], array.strides[0]) if len(array.shape) == 3 else (1, 0)
    if batch > 1 and stride < 0:
        raise ValueError(f"{name} has {stride} elements from matrix to matrix, but must have 0 or "
                         "more")
    (rows, columns), strides = array.shape[-2:], array.strides[-2:]
    if is_transposed:
        rows, columns, strides = columns, rows, strides[::-1]
    ld, is_row_order = _order(name, rows, columns, *strides)
    return _Matrix(name, array, rows, columns, ld, is_row_order, batch, stride if batch > 1 else 0)


def _vector(name, array, size, batch=1):
    """As a matrix of one row: a vector that is to have the size; in a batch as many."""
    shape = (size,) if batch == 1 else (batch, size)
    if array.shape != shape or (size > 1 and array.strides[-1] != 1):
        raise ValueError(f"{name} has shape {array.shape} and strides {array.strides}, but must be a "
                         f"vector of {size} elements next to each other"
                         + (f" for each of {batch} products" if batch > 1 else ""))
    return _matrix(name, array._replace(shape=(*shape[:-1], 1, size),
                                        strides=(*array.strides[:-1], size, 1)))


def _batch(a, b):
    if a.batch != b.batch and 1 not in (a.batch, b.batch):
        raise ValueError(f"a has {a.batch} matrices, b has {b.batch}")
    return b.batch if a.batch == 1 else a.batch


def _dtype_name(dtype):
    """What a string, a torch.dtype, or a type or dtype of NumPy, CuPy or JAX is called."""
    return getattr(dtype, "__name__", str(dtype)).split(".")[-1]


_Product = collections.namedtuple("_Product", "a b c batch")


def _prepared(a, b, name, c, beta, transa, transb, out_dtype, stream, is_gated=False):
    """(the product, c), where c, of that name, is made if it is None."""
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
    access = _arrays.WRITE
    if c is None:
        if beta != 0:
            raise ValueError(f"beta is not 0, but there is no {name}")
        is_batched = 3 in (len(first.array.shape), len(second.array.shape))
        shape = (*((batch,) if is_batched else ()), first.rows, columns)
        dtype = first.array.dtype if out_dtype is None else _dtype_name(out_dtype)
        c = _arrays.empty_like(name, a, shape, dtype, stream)
        access = _arrays.WRITE_NEW
    result = _matrix(name, _arrays.described(name, c, stream, access))
    if out_dtype is not None and _dtype_name(out_dtype) != result.array.dtype:
        raise ValueError(f"out_dtype is {out_dtype}, but {name} is {result.array.dtype}")
    if (result.batch, result.rows, result.columns) != (batch, first.rows, columns):
        raise ValueError(f"{name} is {result.batch} x {result.rows} x {result.columns}, but the "
                         f"product is {batch} x {first.rows} x {columns}")
    return _Product(first, second, result, batch), c


def _device(read, written, in_place=None):
    """The device of all. That there is only one, and that nothing overlaps what is written, is
    checked here alone. in_place: what is read, and is the result itself."""
    placed = [x for x in (*read, *written) if x.array.device is not None]  # empty ones may not be
    for matrix in (*read, *written):
        if matrix.array.dtype not in (read[0].array.dtype, "float32"):
            raise _library.Error(NOT_SUPPORTED, f"{matrix.name} is {matrix.array.dtype}; supported "
                                 f"are the type of a, {read[0].array.dtype}, and float32")
    for matrix in placed:
        if matrix.array.device != placed[0].array.device:
            raise ValueError(f"{matrix.name} is on device {matrix.array.device}, {placed[0].name} is "
                             f"on device {placed[0].array.device}")
    for i, matrix in enumerate(written):
        if overlaps_itself(matrix):
            raise ValueError(f"products of the batch overlap in {matrix.name}, which is written")
        for other in (*read, *written[:i]):
            if other is not in_place and overlap(matrix, other):
                raise ValueError(f"{matrix.name} is written, and overlaps {other.name}")
    return placed[0].array.device if placed else 0


def _ready(stream, read, written, in_place=None):
    """The device of all, once the stream waits for those who produce them."""
    device = _device(read, written, in_place)
    for matrix in (*read, *written):
        if matrix.array.producer is not None:
            _native.wait_for(device, stream, matrix.array.producer)
    return device


def _set_matrix(desc, letter, matrix):
    desc[f"{letter}type"] = DATA_TYPE[matrix.array.dtype]
    desc[f"{letter}order"] = ORDER[matrix.is_row_order]
    desc[f"ld{letter.lower()}"] = matrix.ld
    desc[f"stride{letter}"] = matrix.stride


def _desc(product, residual=None):
    """The fields of bwgemmMatmulDesc_t that differ from BWGEMM_MATMUL_DESC_INIT."""
    desc = {"m": product.a.rows, "n": product.b.columns, "k": product.a.columns,
            "batchCount": product.batch}
    for letter, matrix in (("A", product.a), ("B", product.b), ("C", residual or product.c),
                           ("D", product.c)):
        _set_matrix(desc, letter, matrix)
    return desc


def _addresses(product, residual=None):
    """The addresses of A, B, C and D."""
    return tuple(matrix.array.pointer
                 for matrix in (product.a, product.b, residual or product.c, product.c))


def _residual(array, product):
    residual = _matrix("residual", array)
    if residual[2:4] != product.c[2:4] or residual.batch not in (1, product.batch):
        raise ValueError(f"residual is {residual.batch} x {residual.rows} x {residual.columns}, "
                         f"but the result is {product.batch} x {product.c.rows} x "
                         f"{product.c.columns}")
    return residual


def _is_same(x, y):
    """Whether two matrices are one, element by element."""
    return x[2:] == y[2:] and x.array[:2] == y.array[:2]  # pointer and type


def _set_bias_gradient(desc, product, array, of):
    """The vector, as a matrix."""
    size = {"rows": product.c.rows, "columns": product.c.columns, "a": product.a.rows,
            "b": product.b.columns}[of]
    vector = _vector("bias_gradient", array, size, product.batch)
    desc["biasGradientOf"], desc["biasGradient"] = BIAS_GRADIENT[of], array.pointer
    desc["biasGradientType"], desc["strideBiasGradient"] = DATA_TYPE[array.dtype], vector.stride
    return vector


def _checked(name, value, table):
    if value not in table:
        raise ValueError(f"{name} is {value!r}, but must be one of {list(table)}")


def _bounds(clamp, activation):
    """The fields of the struct that say so, of numbers as they lie in memory."""
    if clamp is None:
        return {}
    if activation is not None:
        raise ValueError(f"with clamp there is no activation, such as {activation!r}")
    low, high = clamp
    if not low <= high:
        raise ValueError(f"clamp is {clamp!r}, but must be two numbers, the lower one first")
    bits = [struct.unpack("=I", struct.pack("=f", _native.rounded(x)))[0] for x in (low, high)]
    return {"activation": CLAMP, "clampLow": bits[0], "clampHigh": bits[1]}


def _stream(stream, a):
    return _arrays.current_stream(a) if stream is None else _arrays.pointer_of_stream(stream)


def gemm(a, b, c=None, alpha=1.0, beta=0.0, transa=False, transb=False, out_dtype=None,
         stream=None):
    """c = alpha * op(a) @ op(b) + beta * c, written into c, which is returned.

    op transposes the last two dimensions if its flag is set. Without c a new array is made by the
    library of a, of out_dtype (such as "float32") or the type of a. In a batch, a or b may have
    two dimensions or a first one of 1: it is then used for every product. c must not overlap a or
    b."""
    return _gemm(a, b, "c", c, alpha, beta, transa, transb, out_dtype, stream)


def _out_type(out_dtype):
    return None if out_dtype is None else DATA_TYPE.get(_dtype_name(out_dtype), -1)


def _gemm(a, b, name, c, alpha, beta, transa, transb, out_dtype, stream):
    done = _native.product(a, b, transa, transb, alpha, beta, None, None, 0, 0, None, 0, None, 0, c,
                           _out_type(out_dtype), stream, _GRADIENTS, 0)
    if done is not None:  # tensors of torch, as most are
        if c is not None:
            _arrays.note_written(c)
        return done
    rest = (alpha, beta, transa, transb, out_dtype, stream) if name == "c" else (out_dtype, stream)
    theirs = _arrays.overridden(gemm if name == "c" else matmul, (a, b, c), a, b, c, *rest)
    if theirs:
        return theirs[0]
    given = c
    pointer = _stream(stream, a)
    alpha, beta = _native.rounded(alpha), _native.rounded(beta)
    product, c = _prepared(a, b, name, c, beta, transa, transb, out_dtype, pointer)
    device = _ready(pointer, (product.a, product.b), (product.c,))
    _native.multiply(device, pointer, _desc(product), alpha, beta, *_addresses(product))
    _arrays.note_written(given)
    return c


def matmul(a, b, out=None, out_dtype=None, stream=None, bias=None, activation=None, gate=None,
           residual=None, bias_gradient=None, bias_gradient_of="columns", clamp=None):
    """activation(a @ b + bias + residual), written into out if it is given. See gemm.

    bias is a vector with an element for each column of b, residual an array of the result's shape,
    activation one of "relu", "gelu", "gelu_tanh", "silu" and "sigmoid". In place of an activation,
    clamp=(low, high) keeps results between two numbers. With a gate the columns of the product come
    in pairs (x, y) of which the result has one column, activation(x) * y: columns 2j and 2j + 1
    if it is "interleaved", j and j + half of them if it is "stacked"; there is no residual then, and
    rows of out must be contiguous. All of it happens in the one kernel of the product.

    bias_gradient is an array that is written, by a second kernel: a vector (in a batch one for each
    product) of the sums of each of the result's "columns" or "rows", or of each row of "a" or column
    of "b".

    residual may be out itself. Nothing else may overlap what is written, out and bias_gradient."""
    if (bias is None and activation is None and gate is None and residual is None
            and bias_gradient is None and clamp is None):
        return _gemm(a, b, "out", out, 1, 0, False, False, out_dtype, stream)
    _checked("activation", activation, ACTIVATION)
    bounds = _bounds(clamp, activation)
    _checked("gate", gate, GATE)
    _checked("bias_gradient_of", bias_gradient_of, BIAS_GRADIENT)
    if gate is not None and residual is not None:
        raise ValueError("with a gate there is no residual")
    beta = 0.0 if residual is None else 1.0
    done = None if bounds else _native.product(
        a, b, False, False, 1.0, beta, residual, bias, ACTIVATION[activation], GATE[gate], None, 0,
        bias_gradient, BIAS_GRADIENT[bias_gradient_of], out, _out_type(out_dtype), stream,
        _GRADIENTS, 0)
    if done is not None:
        _arrays.note_written(out, bias_gradient)
        return done
    theirs = _arrays.overridden(
        matmul, (a, b, out, bias, residual, bias_gradient), a, b, out, out_dtype, stream, bias,
        activation, gate, residual, bias_gradient, bias_gradient_of, clamp)
    if theirs:
        return theirs[0]
    given = out, bias_gradient
    pointer = _stream(stream, a)
    product, out = _prepared(a, b, "out", out, 0, False, False, out_dtype, pointer,
                             gate is not None)
    if gate is not None and not product.c.is_row_order:
        raise ValueError("with a gate, rows of out must be contiguous")
    read, written = [product.a, product.b], [product.c]
    if residual is not None:
        residual = _residual(_arrays.described("residual", residual, pointer), product)
        read.append(residual)
    desc = _desc(product, residual)
    desc["activation"], desc["gate"] = ACTIVATION[activation], GATE[gate]
    desc.update(bounds)
    if bias is not None:
        bias = _arrays.described("bias", bias, pointer)
        read.append(_vector("bias", bias, product.b.columns))
        desc["bias"], desc["biasType"], desc["biasDim"] = bias.pointer, DATA_TYPE[bias.dtype], DIM_N
    if bias_gradient is not None:
        gradient = _arrays.described("bias_gradient", bias_gradient, pointer, _arrays.WRITE)
        written.append(_set_bias_gradient(desc, product, gradient, bias_gradient_of))
    in_place = residual if residual is not None and _is_same(residual, product.c) else None
    device = _ready(pointer, read, written, in_place)
    _native.multiply(device, pointer, desc, 1.0, beta, *_addresses(product, residual))
    _arrays.note_written(*given)
    return out


def explain(a, b, c=None, alpha=1.0, beta=0.0, transa=False, transb=False, out_dtype=None,
            stream=None):
    """What gemm would choose for these arguments, and why. Launches nothing. The text speaks of the
    product as the library sees it: see bwgemmMatmulExplain."""
    pointer = _stream(stream, a)
    alpha, beta = _native.rounded(alpha), _native.rounded(beta)
    product, _ = _prepared(a, b, "c", c, beta, transa, transb, out_dtype, pointer)
    device = _device((product.a, product.b), (product.c,))
    return _native.explain(device, pointer, _desc(product), alpha, beta, *_addresses(product))
