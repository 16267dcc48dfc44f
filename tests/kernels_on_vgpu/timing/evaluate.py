#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far predictions are from measured times: pairs of kernel and problem from recorded sweeps.

evaluate.py --build BUILD [--sets held_out,fit] [--count 150] [--out TABLE.csv.xz] [--summary TABLE.md]

Pairs are drawn by a hash of their names, so that everybody draws the same ones; half of them (`fit`,
and `split_fit` of those that split k) may be used to fit constants, the others (`held_out`,
`split_held_out`) may not.
"""
import argparse
import csv
import functools
import hashlib
import io
import lzma
import math
import pathlib
import statistics
import sys
import time

import predict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'bench'))
import evidence

SWEEPS = ('2026-11-22-sweep-inside', '2026-11-22-sweep-rows-144-to-448')
COLUMNS = ('set', 'name', 'm', 'n', 'k', 'transa', 'transb', 'dtype', 'out', 'beta', 'batch', 'kernel',
           'splits', 'us', 'predicted_us', 'predicted_cycles', 'predicted_clock_ghz',
           'predicted_tensor_share', 'predicted_tensor_idle', 'predicted_tail', 'predicted_busiest',
           'predicted_busiest_share', 'sm_mhz', 'watts')
ABOUT = f"""# Predicted against measured

By `evaluate.py` from {' and '.join(f'`{sweep}`' for sweep in SWEEPS)}
with `h200.txt`; every pair is in `evaluation.csv.xz`. Measured times are those of one H200, predicted
ones of the virtual one. An error is that of the predicted time; a bias is geometric. Left out are
kernels that the library no longer has, and split products of 1e11 multiply-adds or more.

"""
# All SMs are simulated where k is split: larger products take minutes.
LARGEST_SPLIT = 10 ** 11
SETS = ('fit', 'held_out', 'split_fit', 'split_held_out')


def draw(line):
    key = f'{line["name"]} {line["kernel"]} {line["splits"]}'
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], 'big')


def is_aligned(line):
    """Rows of all matrices begin at multiples of 16 bytes, as TMA wants them."""
    return all(int(line[key]) % 8 == 0 for key in ('lda', 'ldb', 'ldc', 'stridea', 'strideb',
                                                   'stridec')) and \
        all(int(line[key]) == 0 for key in ('aligna', 'alignb', 'alignc')) and \
        line['scalars'] == 'host'


@functools.cache
def aligned_lines():
    store, lines = evidence.Store(), []
    for sweep in SWEEPS:
        text = store.text(evidence.index()[sweep])
        lines += [line for line in csv.DictReader(io.StringIO(text)) if is_aligned(line)]
    return lines


def pairs(name, count, pattern):
    lines = [line for line in aligned_lines() if pattern in line['kernel']
             and (int(line['splits']) > 1) == name.startswith('split_')
             and draw(line) % 2 == name.endswith('held_out')]
    if name.startswith('split_'):
        lines = [line for line in lines if int(line['m']) * int(line['n']) * int(line['k'])
                 * int(line['batch']) < LARGEST_SPLIT]
    return sorted(lines, key=lambda line: draw(line) // 2)[:count]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    for rank, index in enumerate(order):
        result[index] = rank
    return result


def rank_correlation(left, right):
    return statistics.correlation(ranks(left), ranks(right)) if len(left) > 2 else float('nan')


def error(line):
    return float(line['predicted_us']) / float(line['us']) - 1


def summary(lines):
    errors = sorted(abs(error(line)) for line in lines)
    at = lambda part: errors[min(int(part * len(errors)), len(errors) - 1)]
    return {
        'pairs': len(lines),
        'median error %': 100 * statistics.median(errors),
        '90th percentile %': 100 * at(0.9),
        'largest %': 100 * errors[-1],
        'bias %': 100 * (math.exp(statistics.fmean(math.log(1 + error(l)) for l in lines)) - 1),
        'rank correlation': rank_correlation([float(l['predicted_us']) for l in lines],
                                             [float(l['us']) for l in lines]),
    }


def groups_of(lines):
    """By what a kernel is like."""
    def tile(line):
        words = line['kernel'].split('_')
        return f'{line["tile_m"]}x{line["tile_n"]}' + ''.join(
            f' {word}' for word in words if word in ('t', 'o2', 'o3', '1x2', '2x1', 'dot', 'direct'))

    result = {}
    for line in lines:
        result.setdefault(tile(line), []).append(line)
    return dict(sorted(result.items()))


def markdown(title, lines):
    keys = list(summary(lines))
    text = [f'## {title}', '', '| kernels | ' + ' | '.join(keys) + ' |',
            '|---|' + '---|' * len(keys)]
    for name, group in {'all': lines, **groups_of(lines)}.items():
        values = summary(group).values()
        text.append(f'| {name} | '
                    + ' | '.join('' if math.isnan(value) else f'{value:.4g}' for value in values)
                    + ' |')
    return '\n'.join(text) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--library')
    parser.add_argument('--kernels')
    parser.add_argument('--constants')
    parser.add_argument('--sets', default='held_out', help=f'some of {",".join(SETS)}')
    parser.add_argument('--count', type=int, default=150)
    parser.add_argument('--kernel', default='sm90', help='part of the names of kernels')
    parser.add_argument('--out', help='table of all pairs, CSV')
    parser.add_argument('--summary', help='Markdown')
    parser.add_argument('--most', type=float, help='fail if the median error is larger, %%')
    parser.add_argument('--least', type=float, help='fail if the rank correlation is smaller')
    options = parser.parse_args()
    names = options.sets.split(',')
    if not set(names) <= set(SETS):
        parser.error(f'--sets: not of {",".join(SETS)}: {options.sets}')
    machine = predict.Machine(options.build, 'h200', options.constants, options.library,
                              options.kernels)
    begin = time.monotonic()
    sets = {name: predict.predict_lines(machine, pairs(name, options.count, options.kernel))
            for name in names}
    print(f'{time.monotonic() - begin:.0f} s', file=sys.stderr)
    text = '\n'.join(markdown(f'{name}: predicted against measured', lines)
                     for name, lines in sets.items())
    print(text)
    if options.summary:
        pathlib.Path(options.summary).write_text(ABOUT + text)
    if options.out:
        with lzma.open(options.out, 'wt', newline='') as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator='\n', extrasaction='ignore')
            writer.writeheader()
            for name, lines in sets.items():
                writer.writerows({'set': name, **line} for line in lines)
    for name, lines in sets.items():
        result = summary(lines)
        if options.most is not None and result['median error %'] > options.most:
            sys.exit(f'{name}: the median error is too large')
        if options.least is not None and result['rank correlation'] < options.least:
            sys.exit(f'{name}: the rank correlation is too small')


if __name__ == '__main__':
    main()
