#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted times of the ladder (bench/kernels/ladder) on a virtual B200, beside published ones.

ladder.py --build BUILD [--constants FILE] [--csv TABLE.csv]         what the constants predict
ladder.py --build BUILD --fit NAMES --out FITTED.txt [--csv T.csv]   and fitted, leaving out each

A fit moves the named constants, one at a time, in steps of 3 %, to lessen the squared logarithmic errors
of v1 to v6 (of a and b, of b); for the column `left_out` it is made anew without the step. Every time is
predicted.
"""
import argparse
import csv
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from fit import POWER, read, write

CONSTANTS = pathlib.Path(__file__).resolve().parents[2] / 'vgpu/timing'
# TFLOP/s of the article's kernels on a B200, m = n = k = 4096. Ours are other kernels with the same steps.
PUBLISHED = {'v1a': 254.62, 'v1b': 252.81, 'v2a': 681.20, 'v2b': 695.43, 'v3': 939.61,
             'v4': 1208.83, 'v5': 1302.29, 'v6': 1475.93}
STEPS = (*PUBLISHED, 'v7')
WANTED = 15  # per cent
FACTOR = 1.03
# Constants that no other step than these asks of. Without them they keep the value that they have.
CONCERNS = {'tma_rows_per_cycle': ('v1a', 'v1b')}


def group(step):
    return step[:2]


class Simulator:
    """Reports of steps under constants; those of power change no cycles and are applied to them."""

    def __init__(self, build, size):
        self.build, self.size, self.known = pathlib.Path(build), size, {}

    def report(self, step, constants):
        key = (step, *(value for name, (value, _) in constants.items()
                       if name not in POWER and step in CONCERNS.get(name, STEPS)))
        if key not in self.known:
            self.known[key] = self.run(step, constants)
        return self.known[key]

    def run(self, step, constants):
        with tempfile.TemporaryDirectory() as folder:
            write(f'{folder}/constants.txt', constants)
            environment = {**os.environ, 'BWGEMM_VGPU': 'b200',
                           'BWGEMM_LIBCUDA': str(self.build / 'lib/vgpu/libcuda.so.1'),
                           'BWGEMM_VGPU_TIMING': f'{folder}/constants.txt',
                           'BWGEMM_VGPU_TIMING_REPORT': f'{folder}/report.csv'}
            program = self.build / 'bin/bwgemm_ladder_launches'
            subprocess.run([str(program), *[str(self.size)] * 3, step], check=True, env=environment)
            with open(f'{folder}/report.csv', newline='') as file:
                return next(csv.DictReader(file))

    def tflops(self, step, constants):
        report = self.report(step, constants)
        value = {name: constant[0] for name, constant in constants.items()}
        power = value['power_idle'] + sum(value[f'power_{name}'] * float(report[column])
                                          for name, column in (('tensor', 'tensor_share'),
                                                               ('l2', 'busy_l2'),
                                                               ('hbm', 'busy_hbm')))
        clock = value['clock_ghz'] * min(1, power ** -value['power_exponent'])
        us = value['launch_us'] + float(report['cycles']) / clock / 1e3
        return 2 * self.size ** 3 / us / 1e6


def fitted(simulator, constants, names, steps):
    def error(trial):
        return sum(math.log(simulator.tflops(step, trial) / PUBLISHED[step]) ** 2
                   for step in steps)

    def moved(trial, name, by):
        """On a lattice, so that fits share what they simulate."""
        start, source = constants[name]
        at = round(math.log(trial[name][0] / start) / math.log(FACTOR)) + by
        return {**trial, name: (float(f'{start * FACTOR ** at:.6g}'), source)}

    names = [name for name in names if any(step in steps for step in CONCERNS.get(name, STEPS))]
    current, best = constants, error(constants)
    for size in (8, 3, 1):
        better = True
        while better:
            better = False
            for name in names:
                for by in (size, -size):
                    trial = moved(current, name, by)
                    if (found := error(trial)) < best - 1e-7:
                        best, current, better = found, trial, True
    return current


def table(simulator, constants, names):
    steps = list({group(step): step for step in PUBLISHED}.values())
    without = {group(left): fitted(simulator, constants, names, [s for s in steps if s != left])
               for left in steps} if names else {}
    if names:
        constants = fitted(simulator, constants, names, steps)
    lines = []
    for step in STEPS:
        tflops, report = simulator.tflops(step, constants), simulator.report(step, constants)
        line = {'kind': 'predicted', 'step': step, 'tflops': f'{tflops:.0f}', 'published': '',
                'error_percent': '', 'left_out_tflops': '', 'left_out_error_percent': '',
                'cycles': report['cycles'], 'tensor_share': report['tensor_share'],
                'tensor_idle': report['tensor_idle'], 'idle_computing': report['idle_computing'],
                'tail': report['tail'], 'busiest': report['busiest'],
                'busy_port': report['busy_port'], 'busy_load': report['busy_load'],
                'busy_l2': report['busy_l2'], 'busy_hbm': report['busy_hbm'],
                'idle_for_operands': report['idle_for_operands'],
                'idle_for_tensor': report['idle_for_tensor']}
        if step in PUBLISHED:
            line['published'] = f'{PUBLISHED[step]:.0f}'
            line['error_percent'] = f'{100 * (tflops / PUBLISHED[step] - 1):.1f}'
            if names:
                other = simulator.tflops(step, without[group(step)])
                line['left_out_tflops'] = f'{other:.0f}'
                line['left_out_error_percent'] = f'{100 * (other / PUBLISHED[step] - 1):.1f}'
        lines.append(line)
    return lines, constants, without


def show(lines):
    for line in lines:
        print(f'predicted {line["step"]:4} {line["tflops"]:>5} TFLOP/s, published '
              f'{line["published"]:>5} {line["error_percent"]:>6} %, left out '
              f'{line["left_out_error_percent"]:>6} %')
    best = {}
    for line in lines:
        if line['published']:
            best.setdefault(group(line['step']), []).append(float(line['tflops']))
    order = [max(best[name]) for name in sorted(best)]
    print('predicted order of v1 to v6:', 'right' if order == sorted(order) else 'wrong')
    far = [line['step'] for line in lines
           if line['published'] and abs(float(line['error_percent'])) > WANTED]
    print(f'predicted further than {WANTED} % away: {", ".join(far) or "none"}')
    return order == sorted(order) and not far


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--constants', default=str(CONSTANTS / 'b200.txt'))
    parser.add_argument('--size', type=int, default=4096)
    parser.add_argument('--sampled', help='multiprocessors that are simulated; default: all')
    parser.add_argument('--csv')
    parser.add_argument('--fit', default='', help='names of constants')
    parser.add_argument('--out', help='the fitted constants')
    parser.add_argument('--check', action='store_true', help='fail unless all is as wanted')
    options = parser.parse_args()
    names = list(filter(None, options.fit.split(',')))
    simulator = Simulator(options.build, options.size)
    constants = read(options.constants)
    constants['sampled_sms'] = (float(options.sampled or constants['sm_count'][0]), 'option')
    lines, constants, without = table(simulator, constants, names)
    good = show(lines)
    for name in names:
        print(f'fitted {name} {constants[name][0]:.4g}; without',
              ', '.join(f'{left} {other[name][0]:.4g}' for left, other in without.items()))
    if options.csv:
        with open(options.csv, 'w', newline='') as file:
            writer = csv.DictWriter(file, lines[0].keys(), lineterminator='\n')
            writer.writeheader()
            writer.writerows(lines)
    if options.out:
        write(options.out, constants)
    if options.check and not good:
        sys.exit('the ladder is not predicted as wanted')


if __name__ == '__main__':
    main()
