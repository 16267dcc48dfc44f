#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted times of the library's kernels: GEMM calls on the virtual GPU in simulated time.

predict.py --build BUILD --kernel NAME --m M --n N --k K      one call, in words
predict.py --build BUILD --csv PROBLEMS.csv --out TABLE.csv   lines of a sweep

Sizes are those of the C API (column-major). Nothing here is measured: every time is predicted.
"""
import argparse
import csv
import ctypes
import mmap
import os
import pathlib
import sys
import tempfile

TYPES = {'bf16': 14, 'f16': 2, 'f32': 0}
BYTES = {'bf16': 2, 'f16': 2, 'f32': 4}
COMPUTE_32F = 68
REGION_BYTES = 48 << 30  # of addresses; pages exist when a kernel's threads touch them
HERE = pathlib.Path(__file__).resolve().parent
CONSTANTS = HERE.parents[1] / 'vgpu/timing'  # of each device


class Machine:
    """The virtual GPU and the library, in this process. There can be one."""

    def __init__(self, build, device='h200', constants=None, library=None, kernels=None):
        build = pathlib.Path(build)
        self.report = tempfile.NamedTemporaryFile(mode='r', suffix='.csv')
        driver = build / 'lib/vgpu/libcuda.so.1'
        os.environ.update({
            'BWGEMM_LIBCUDA': str(driver),
            'BWGEMM_VGPU': device,
            'BWGEMM_VGPU_TIMING': str(constants or CONSTANTS / f'{device}.txt'),
            'BWGEMM_VGPU_TIMING_REPORT': self.report.name,
        })
        if kernels:
            os.environ['BWGEMM_VGPU_INDEX'] = str(pathlib.Path(kernels) / 'kernels.index')
        self.cuda = ctypes.CDLL(str(driver), mode=ctypes.RTLD_LOCAL)
        self.library = ctypes.CDLL(str(library or build / 'lib/libbwgemm.so'))
        context = ctypes.c_void_p()
        self.check(self.cuda.cuInit(0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.check(self.cuda.cuCtxSetCurrent(context))
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, 'MAP_NORESERVE', 0x4000)
        self.region = mmap.mmap(-1, REGION_BYTES, flags=flags)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.region))
        self.address += -self.address % 256
        self.check(self.cuda.cuMemHostRegister_v2(
            ctypes.c_void_p(self.address), ctypes.c_size_t(REGION_BYTES - 256), 0))
        self.handles = {}
        self.columns = None

    @staticmethod
    def check(result):
        if result != 0:
            raise RuntimeError(f'the virtual driver says {result}')

    def addresses(self, *sizes):
        """Of matrices of so many bytes one behind the other, each at a line, and of the next one."""
        spare, found = 1 << 20, [self.address]
        for size in sizes:
            found.append(found[-1] + (size + spare) // 256 * 256)
        return found

    def handle(self, kernel, splits):
        key = (kernel, splits)
        if key not in self.handles:
            os.environ['BWGEMM_FORCE_KERNEL'] = kernel
            os.environ['BWGEMM_FORCE_SPLITS'] = str(splits) if splits else ''
            os.environ['BWGEMM_FORCE_SUMS'] = 'memory'  # as those that were measured
            handle = ctypes.c_void_p()
            status = self.library.bwgemmCreate(ctypes.byref(handle))
            if status != 0:
                raise RuntimeError(f'bwgemmCreate says {status}')
            self.handles[key] = handle
        return self.handles[key]

    def run(self, problem, kernel='', splits=0):
        """The last launch's prediction, as a dictionary. `problem`: a line of a sweep."""
        p = {key: int(problem[key]) for key in ('m', 'n', 'k', 'batch', 'lda', 'ldb', 'ldc',
                                                'stridea', 'strideb', 'stridec', 'aligna',
                                                'alignb', 'alignc')}
        dtype, out = problem['dtype'], problem['out']
        a_columns = p['m'] if problem['transa'] == 'T' else p['k']
        b_columns = p['k'] if problem['transb'] == 'T' else p['n']
        a_bytes = BYTES[dtype] * (p['lda'] * a_columns + p['stridea'] * (p['batch'] - 1))
        b_bytes = BYTES[dtype] * (p['ldb'] * b_columns + p['strideb'] * (p['batch'] - 1))
        a, b, c = self.addresses(a_bytes, b_bytes)
        scalar = [ctypes.c_float(float(problem[name])) for name in ('alpha', 'beta')]
        # Long double would be 16 bytes: all integers are passed as the API has them.
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        status = self.library.bwgemmGemmStridedBatchedEx(
            self.handle(kernel, splits),
            ctypes.c_int(problem['transa'] == 'T'), ctypes.c_int(problem['transb'] == 'T'),
            integer(p['m']), integer(p['n']), integer(p['k']), ctypes.byref(scalar[0]),
            pointer(a + p['aligna']), TYPES[dtype], integer(p['lda']), integer(p['stridea']),
            pointer(b + p['alignb']), TYPES[dtype], integer(p['ldb']), integer(p['strideb']),
            ctypes.byref(scalar[1]), pointer(c + p['alignc']), TYPES[out], integer(p['ldc']),
            integer(p['stridec']), integer(p['batch']), COMPUTE_32F, -1)
        return self.prediction(status, kernel)

    def prediction(self, status, what):
        """Of the call that has just returned `status`."""
        if status != 0:
            self.library.bwgemmGetLastErrorString.restype = ctypes.c_char_p
            why = self.library.bwgemmGetLastErrorString()
            raise RuntimeError(f'{what}: {(why or b"").decode()} ({status})')
        self.check(self.cuda.cuCtxSynchronize())
        lines = self.report.read().splitlines()
        if self.columns is None:
            self.columns = lines.pop(0).split(',')
        return dict(zip(self.columns, lines[-1].split(',')))


def one_problem(options):
    transa, transb = options.transa, options.transb
    lda = options.k if transa == 'T' else options.m
    ldb = options.n if transb == 'T' else options.k
    return {'m': options.m, 'n': options.n, 'k': options.k, 'batch': 1, 'transa': transa,
            'transb': transb, 'dtype': options.dtype, 'out': options.out or options.dtype,
            'alpha': 1, 'beta': options.beta, 'lda': lda, 'ldb': ldb, 'ldc': options.m,
            'stridea': 0, 'strideb': 0, 'stridec': 0, 'aligna': 0, 'alignb': 0, 'alignc': 0}


def predict_lines(machine, lines, progress=None):
    """Each line with `predicted_us` and the other columns of the report, prefixed."""
    done = []
    for number, line in enumerate(lines):
        try:
            result = machine.run(line, line['kernel'], int(line['splits']))
            if result['kernel'] != line['kernel']:
                raise RuntimeError(f'{line["kernel"]} was not chosen')
        except RuntimeError as error:
            print(f'left out: {line["name"]}: {error}', file=sys.stderr)
            continue
        done.append({**line, **{f'predicted_{key}': value for key, value in result.items()}})
        if progress:
            progress(number + 1, done[-1])
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True, help='build folder')
    parser.add_argument('--device', default='h200', help='h200 or b200')
    parser.add_argument('--constants', help="default: the device's file in this folder")
    parser.add_argument('--library', help="default: the build's libbwgemm.so")
    parser.add_argument('--kernels', help='folder of kernels.index, if not beside the driver')
    parser.add_argument('--kernel', default='', help='default: what the library chooses')
    parser.add_argument('--splits', type=int, default=0)
    for size in 'mnk':
        parser.add_argument(f'--{size}', type=int)
    parser.add_argument('--transa', default='T', choices='NT')
    parser.add_argument('--transb', default='N', choices='NT')
    parser.add_argument('--dtype', default='bf16', choices=['bf16', 'f16'])
    parser.add_argument('--out', help='output type, or the table to write with --csv')
    parser.add_argument('--beta', type=float, default=0)
    parser.add_argument('--csv')
    options = parser.parse_args()
    machine = Machine(options.build, options.device, options.constants, options.library,
                      options.kernels)
    if options.csv:
        with open(options.csv, newline='') as file:
            done = predict_lines(machine, list(csv.DictReader(file)))
        with open(options.out, 'w', newline='') as file:
            writer = csv.DictWriter(file, done[0].keys(), lineterminator='\n')
            writer.writeheader()
            writer.writerows(done)
        return
    if options.out is None or options.out in TYPES:
        for key, value in machine.run(one_problem(options), options.kernel,
                                      options.splits).items():
            print(f'{key:28} {value}')


if __name__ == '__main__':
    main()
