#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits constants to measured times, one at a time: evaluate.py's pairs of the set `fit`.

fit.py --build BUILD --constants START.txt --out FITTED.txt --names tma_latency,launch_us ...

Each constant in turn is tried a step up and down and keeps what lowers the mean logarithmic error
(capped for outliers). Constants of power need no simulation and are fitted within each trial.
"""
import argparse
import csv
import math
import subprocess
import sys
import tempfile

import evaluate
import predict

POWER = ('launch_us', 'power_idle', 'power_tensor', 'power_l2', 'power_hbm', 'power_exponent')
CAP = 0.2


def read(path):
    with open(path) as file:
        return {words[0]: (float(words[1]), ' '.join(words[2:]))
                for words in map(str.split, file) if words and not words[0].startswith('#')}


def write(path, constants):
    with open(path, 'w') as file:
        for name, (value, source) in constants.items():
            file.write(f'{name} {value:.6g} {source}\n')


def simulate(options, pairs, constants):
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/pairs.csv', 'w', newline='') as file:
            writer = csv.DictWriter(file, pairs[0].keys())
            writer.writeheader()
            writer.writerows(pairs)
        write(f'{folder}/constants.txt', constants)
        command = [sys.executable, predict.__file__, '--build', options.build, '--constants',
                   f'{folder}/constants.txt', '--csv', f'{folder}/pairs.csv', '--out',
                   f'{folder}/out.csv']
        for name in ('library', 'kernels'):
            if getattr(options, name):
                command += [f'--{name}', getattr(options, name)]
        subprocess.run(command, check=True)
        with open(f'{folder}/out.csv', newline='') as file:
            return list(csv.DictReader(file))


def error(lines, constants):
    """With the power model of Timeline::prediction."""
    value = {name: constant[0] for name, constant in constants.items()}
    total = 0
    for line in lines:
        power = (value['power_idle']
                 + value['power_tensor'] * float(line['predicted_tensor_share'])
                 + value['power_l2'] * float(line['predicted_busy_l2'])
                 + value['power_hbm'] * float(line['predicted_busy_hbm']))
        clock = value['clock_ghz'] * min(1, power ** -value['power_exponent'])
        us = value['launch_us'] + float(line['predicted_cycles']) / clock / 1e3
        total += min(abs(math.log(us / float(line['us']))), CAP)
    return total / len(lines)


def fit_power(lines, constants):
    best = error(lines, constants)
    for step in (1.2, 1.05, 1.02):
        moved = True
        while moved:
            moved = False
            for name in POWER:
                for factor in (step, 1 / step):
                    trial = dict(constants)
                    trial[name] = (constants[name][0] * factor, 'fit')
                    if (found := error(lines, trial)) < best - 1e-6:
                        best, constants, moved = found, trial, True
    return best, constants


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('build', 'constants', 'out'):
        parser.add_argument(f'--{name}', required=True)
    parser.add_argument('--library')
    parser.add_argument('--kernels')
    parser.add_argument('--names', default='')
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--largest', type=float, default=6e10, help='m * n * k, to save time')
    parser.add_argument('--steps', default='1.25,1.1')
    options = parser.parse_args()
    pairs = [pair for pair in evaluate.pairs('fit', 10 ** 6, 'coop')
             if int(pair['m']) * int(pair['n']) * int(pair['k']) < options.largest][:options.count]
    constants = read(options.constants)
    best, constants = fit_power(simulate(options, pairs, constants), constants)
    print(f'{best:.4f}', flush=True)
    for step in map(float, options.steps.split(',')):
        for name in filter(None, options.names.split(',')):
            for factor in (step, 1 / step):
                trial = dict(constants)
                trial[name] = (constants[name][0] * factor, 'fit')
                found, trial = fit_power(simulate(options, pairs, trial), trial)
                if found < best:
                    best, constants = found, trial
                    print(f'{best:.4f} {name} {trial[name][0]:.4g}', flush=True)
                    write(options.out, constants)
                    break
    write(options.out, constants)


if __name__ == '__main__':
    main()
