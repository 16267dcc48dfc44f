#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far predictions are from measured times: pairs of kernel and problem from a recorded sweep.

evaluate.py --build BUILD [--set held_out] [--count 150] [--out TABLE.csv] [--summary TABLE.md]

Pairs are drawn by a hash of their names, so that everybody draws the same ones; half of them (`fit`)
may be used to fit constants, the others (`held_out`) may not. `splits`: pairs that split k.
"""
import argparse
import csv
import hashlib
import math
import pathlib
import statistics
import sys
import time

import predict

SWEEP = pathlib.Path(__file__).resolve().parents[3] / 'bench/results/2026-11-21-sweep.csv'
COLUMNS = ('name', 'm', 'n', 'k', 'transa', 'transb', 'dtype', 'out', 'beta', 'batch', 'kernel',
           'splits', 'us', 'predicted_us', 'predicted_cycles', 'predicted_clock_ghz',
           'predicted_tensor_share', 'predicted_tensor_idle', 'predicted_tail', 'predicted_busiest',
           'predicted_busiest_share', 'sm_mhz', 'watts')
SETS = ('fit', 'held_out', 'splits')


def draw(line):
    key = f'{line["name"]} {line["kernel"]} {line["splits"]}'
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], 'big')


def is_aligned(line):
    """Rows of all matrices begin at multiples of 16 bytes, as TMA wants them."""
    return all(int(line[key]) % 8 == 0 for key in ('lda', 'ldb', 'ldc', 'stridea', 'strideb',
                                                   'stridec')) and \
        all(int(line[key]) == 0 for key in ('aligna', 'alignb', 'alignc')) and \
        line['scalars'] == 'host'


def pairs(name, count, pattern):
    with open(SWEEP, newline='') as file:
        lines = [line for line in csv.DictReader(file) if is_aligned(line)]
    lines = [line for line in lines if pattern in line['kernel']]
    if name == 'splits':
        lines = [line for line in lines if int(line['splits']) > 1]
    else:
        lines = [line for line in lines
                 if int(line['splits']) == 1 and draw(line) % 2 == (name == 'held_out')]
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
        text.append(f'| {name} | ' + ' | '.join(f'{value:.4g}' for value in summary(group).values())
                    + ' |')
    return '\n'.join(text) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--library')
    parser.add_argument('--kernels')
    parser.add_argument('--constants')
    parser.add_argument('--set', default='held_out', choices=SETS)
    parser.add_argument('--count', type=int, default=150)
    parser.add_argument('--kernel', default='sm90', help='part of the names of kernels')
    parser.add_argument('--out', help='table of all pairs, CSV')
    parser.add_argument('--summary', help='Markdown; is appended to')
    parser.add_argument('--most', type=float, help='fail if the median error is larger, %%')
    parser.add_argument('--least', type=float, help='fail if the rank correlation is smaller')
    options = parser.parse_args()
    machine = predict.Machine(options.build, 'h200', options.constants, options.library,
                              options.kernels)
    begin = time.monotonic()
    lines = predict.predict_lines(machine, pairs(options.set, options.count, options.kernel))
    print(f'{time.monotonic() - begin:.0f} s', file=sys.stderr)
    text = markdown(f'{options.set}: predicted against measured', lines)
    print(text)
    if options.summary:
        with open(options.summary, 'a') as file:
            file.write(text)
    if options.out:
        with open(options.out, 'w', newline='') as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator='\n', extrasaction='ignore')
            writer.writeheader()
            writer.writerows(lines)
    result = summary(lines)
    if options.most is not None and result['median error %'] > options.most:
        sys.exit('the median error is too large')
    if options.least is not None and result['rank correlation'] < options.least:
        sys.exit('the rank correlation is too small')


if __name__ == '__main__':
    main()
