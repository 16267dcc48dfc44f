#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated times of the ways to compute each product of a list, as a sweep from which
`bwgemm_bench --regret --from SWEEP.csv` tells what the library's choices lose by simulation.

sweep.py --build BUILD --list bench/problems/weights.csv --out SWEEP.csv [--all-sms]

Sizes of the list are in row order, those of the sweep the C API's, as with bwgemm_bench. All products
must be plain ones of bf16, K-major. Simulated is what the cost model has within --within of its best,
but for splits of k of products beyond --largest-split, and kernels whose threads load operands (the
virtual GPU has them too slow). Lines that --out has already are kept. Nothing here is measured.
"""
import argparse
import csv
import ctypes
import os
import re
import sys
import tempfile

import fit
import predict

COLUMNS = ('name,m,n,k,transa,transb,dtype,out,alpha,beta,scalars,batch,lda,ldb,ldc,stridea,strideb,'
           'stridec,aligna,alignb,alignc,epilogue,gate,kernel,tile_m,tile_n,tile_k,splits,us,'
           'predicted_us,sm_mhz,watts,launches').split(',')
KEY = ('name', 'kernel', 'tile_n', 'splits')
GROUPED = 0
PLAIN = {'transA': 'N', 'transB': 'T', 'dtype': 'bf16', 'out_dtype': 'bf16', 'epilogue': 'none',
         'batch': '1'}
THREADS_LOAD = re.compile('_(direct|dot|u_pair|u_single)$')


class Algo(ctypes.Structure):
    """bwgemmMatmulAlgo_t."""

    _fields_ = [(name, kind) for kind, names in (
        (ctypes.c_uint32, 'structSize'), (ctypes.c_int32, 'kernel'), (ctypes.c_int64, 'algo'),
        (ctypes.c_double, 'predictedMicroseconds'), (ctypes.c_uint64, 'workspaceSize'),
        (ctypes.c_int32, 'tileColumns splits raster isDeterministic isBatchInvariant copiesOperands'),
    ) for name in names.split()]


class Product:
    """One of the list, in the C API's order, and its calls."""

    def __init__(self, machine, line):
        # Its structures; it finds the library that the machine has loaded.
        from bwgemm._library import MatmulDesc
        if any(line[key] != value for key, value in PLAIN.items()):
            raise ValueError(f'{line["name"]}: {PLAIN} is simulated, nothing else')
        self.machine, self.name = machine, line['name']
        self.m, self.n, self.k = int(line['N']), int(line['M']), int(line['K'])
        bf16 = predict.TYPES['bf16']
        self.desc = MatmulDesc.initial()
        for name, value in {'transa': 1, 'm': self.m, 'n': self.n, 'k': self.k, 'Atype': bf16,
                            'Btype': bf16, 'Ctype': bf16, 'Dtype': bf16, 'lda': self.k,
                            'ldb': self.k, 'ldc': self.m, 'ldd': self.m}.items():
            setattr(self.desc, name, value)
        a, b, d = machine.addresses(2 * self.m * self.k, 2 * self.n * self.k)
        scalars = [ctypes.c_float(1), ctypes.c_float(0)]
        self.arguments = (machine.handle('', 0), ctypes.byref(self.desc), ctypes.byref(scalars[0]),
                          ctypes.c_void_p(a), ctypes.c_void_p(b), ctypes.byref(scalars[1]),
                          ctypes.c_void_p(d), ctypes.c_void_p(d))

    def algos(self):
        """Best prediction first; of several orders of tiles the grouped one."""
        count = ctypes.c_size_t()
        listed = (Algo * 4096)()
        listed[0].structSize = ctypes.sizeof(Algo)
        self.desc.algo = -1
        status = self.machine.library.bwgemmMatmulGetAlgos(
            *self.arguments, listed, ctypes.c_size_t(len(listed)), ctypes.byref(count))
        if status != 0 or count.value > len(listed):
            raise RuntimeError(f'{self.name}: {count.value} algos, status {status}')
        return [algo for algo in listed[:count.value] if algo.raster == GROUPED]

    def simulate(self, algo):
        self.desc.algo = algo.algo
        return self.machine.prediction(self.machine.library.bwgemmMatmul(*self.arguments), self.name)

    def sweep_line(self, algo, kernel, us):
        tile_m, tile_k = re.search(r'_(\d+)x(?:N|\d+)x(\d+)', kernel).groups()
        return {'name': self.name, 'm': self.m, 'n': self.n, 'k': self.k, 'transa': 'T',
                'transb': 'N', 'dtype': 'bf16', 'out': 'bf16', 'alpha': 1, 'beta': 0,
                'scalars': 'host', 'batch': 1, 'lda': self.k, 'ldb': self.k, 'ldc': self.m,
                'stridea': self.m * self.k, 'strideb': self.n * self.k, 'stridec': self.m * self.n,
                'aligna': 0, 'alignb': 0, 'alignc': 0, 'epilogue': 'none', 'gate': 'none',
                'kernel': kernel, 'tile_m': tile_m, 'tile_n': algo.tileColumns, 'tile_k': tile_k,
                'splits': algo.splits, 'us': us, 'predicted_us': f'{algo.predictedMicroseconds:.3f}',
                'sm_mhz': 0, 'watts': 0, 'launches': 0}


def constants_of_all_sms(device):
    """The device's file, but that it samples none; gone with what is returned."""
    constants = fit.read(predict.CONSTANTS / f'{device}.txt')
    file = tempfile.NamedTemporaryFile(suffix='.txt')
    fit.write(file.name, {**constants, 'sampled_sms': constants['sm_count']})
    return file


def read(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(line for line in file if not line.startswith('#')))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('build', 'list', 'out'):
        parser.add_argument(f'--{name}', required=True)
    parser.add_argument('--device', default='b200')
    parser.add_argument('--within', type=float, default=1.4, help="of the model's best, default 1.4")
    parser.add_argument('--library', help="default: the build's libbwgemm.so")
    parser.add_argument('--kernels', help='folder of kernels.index, if not beside the driver')
    parser.add_argument('--part', default='1/1', help='I/N: every Nth problem from the Ith on, into '
                        'an --out of its own')
    parser.add_argument('--all-sms', action='store_true', help='sample none: ten times slower')
    parser.add_argument('--largest-split', type=float, default=1.2e11,
                        help='m * n * k up to which splits of k are simulated, on all SMs')
    options = parser.parse_args()
    part, parts = map(int, options.part.split('/'))
    if not 1 <= part <= parts:
        parser.error(f'--part: not of {parts}: {part}')
    all_sms = constants_of_all_sms(options.device) if options.all_sms else None
    machine = predict.Machine(options.build, options.device, all_sms and all_sms.name,
                              options.library, options.kernels)
    sys.path.insert(0, str(predict.HERE.parents[2] / 'packaging/python'))
    machine.library.bwgemmKernelName.restype = ctypes.c_char_p
    exists = os.path.exists(options.out) and os.path.getsize(options.out) > 0
    done = {tuple(line[key] for key in KEY) for line in read(options.out)} if exists else set()
    with open(options.out, 'a', newline='') as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        if not exists:
            writer.writeheader()
        for line in read(options.list)[part - 1::parts]:
            product = Product(machine, line)
            algos = product.algos()
            for algo in algos:
                kernel = machine.library.bwgemmKernelName(algo.kernel).decode()
                is_long = algo.splits > 1 and product.m * product.n * product.k > options.largest_split
                key = (product.name, kernel, str(algo.tileColumns), str(algo.splits))
                if is_long or key in done or THREADS_LOAD.search(kernel) or algo.predictedMicroseconds > \
                        options.within * algos[0].predictedMicroseconds:
                    continue
                us = product.simulate(algo)['us']
                writer.writerow(product.sweep_line(algo, kernel, us))
                file.flush()


if __name__ == '__main__':
    main()
