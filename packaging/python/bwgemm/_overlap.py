# SPDX-License-Identifier: Apache-2.0
"""Whether matrices share memory. The answer is exact: of two views of one buffer that take turns in
its rows, one may be written while the other is read."""

import collections
import functools
import math

from bwgemm._library import BYTES


def _pieces(matrix):
    """(address, end, bytes of one piece, steps) of its memory. steps: (bytes from piece to piece, how
    many) from line to line, and from product to product."""
    size = BYTES[matrix.array.dtype]
    lines, length = matrix.rows, matrix.columns
    if not matrix.is_row_order:
        lines, length = length, lines
    ld, stride, length = matrix.ld * size, matrix.stride * size, length * size
    first = matrix.array.pointer
    end = first + ld * (lines - 1) + stride * (matrix.batch - 1) + length
    return first, end, length, ((ld, lines), (stride, matrix.batch))


def _reaches(steps, low, high):
    """Whether a sum of steps lies in low..high, where each (step, most) is taken 0 to most times."""
    if low > sum(step * most for step, most in steps) or high < 0:
        return False
    divisor = functools.reduce(math.gcd, (step for step, _ in steps), 0)
    if divisor == 0 or high // divisor * divisor < low:
        return low <= 0 <= high
    (step, most), *rest = steps
    others = sum(step * most for step, most in rest)
    first, last = max(0, -((others - low) // step)), min(most, high // step)
    return any(_reaches(rest, low - step * i, high - step * i) for i in range(first, last + 1))


def overlap(x, y):
    """Whether two matrices of one device have a byte in common."""
    first, end, length, steps = _pieces(x)
    other_first, other_end, other_length, other_steps = _pieces(y)
    if end <= other_first or other_end <= first:  # nearly always
        return False
    if 0 in (length, other_length, *(count for _, count in steps + other_steps)):
        return False
    most = collections.Counter()
    for step, count in steps + other_steps:
        most[step] += count - 1
    both = sorted(((step, count) for step, count in most.items() if step * count), reverse=True)
    # Two pieces meet if that of x begins less than its length in front of that of y, or less than
    # the length of the latter behind. With the pieces of y counted from the last, all steps add up.
    distance = other_end - other_length - first
    return _reaches(both, distance - length + 1, distance + other_length - 1)


def overlaps_itself(matrix):
    """Whether a product of a batch has a byte in common with another, which may then be the first."""
    if matrix.batch < 2:
        return False
    second = matrix.array.pointer + matrix.stride * BYTES[matrix.array.dtype]
    return overlap(matrix._replace(batch=1), matrix._replace(
        array=matrix.array._replace(pointer=second), batch=matrix.batch - 1))
