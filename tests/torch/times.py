# SPDX-License-Identifier: Apache-2.0
"""The host's time for one call, in microseconds, of calls that the GPU keeps up with."""

import statistics
import time

import torch
from torch.nn import functional

import bwgemm
import bwgemm.torch

ROUNDS, CALLS = 25, 100


def once(call):
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    time_of_all = time.perf_counter_ns() - begin
    torch.cuda.synchronize()
    return time_of_all / CALLS / 1000


def under(context, call):
    def run():
        with context():
            return once(call)

    return run


def medians(runs):
    """{name: time}, of rounds in which each has its turn."""
    times = {name: [] for name in runs}
    for number in range(ROUNDS + 3):
        for name, run in runs.items():
            taken = run()
            if number >= 3:
                times[name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


def table():
    """[(name, time, that of torch, limit or None)]"""
    a, b, c = (torch.randn(128, 128, device="cuda").bfloat16() for _ in range(3))
    v, p = torch.randn(128, device="cuda").bfloat16(), torch.nn.Parameter(b.clone())
    singles, grad = (a.float(), b.float()), a.clone().requires_grad_()

    def alone(call):
        return lambda: once(call)

    own = bwgemm.torch
    rows = (
        ("bwgemm.matmul", "mm", lambda: bwgemm.matmul(a, b), 1.3),
        ("bwgemm.gemm", "mm", lambda: bwgemm.gemm(a, b), 1.3),
        ("bwgemm.gemm into c", "mm into c", lambda: bwgemm.gemm(a, b, c), 1.3),
        ("bwgemm.torch.mm", "mm", lambda: own.mm(a, b), 1.15),
        ("torch.ops.bwgemm.mm", "mm", lambda: torch.ops.bwgemm.mm.default(a, b), None),
        ("bwgemm.torch.addmm", "addmm", lambda: own.addmm(c, a, b), 1.15),
        ("bwgemm.torch.linear, gelu", "linear, gelu", lambda: own.linear(a, p.detach(), v, "gelu"), 1.15),
        ("bwgemm.torch.mm with a gradient", "mm with a gradient", lambda: own.mm(grad, b), None))
    peers = {"mm": lambda: torch.mm(a, b), "mm into c": lambda: torch.mm(a, b, out=c),
             "addmm": lambda: torch.addmm(c, a, b),
             "linear, gelu": lambda: functional.gelu(functional.linear(a, p.detach(), v)),
             "mm with a gradient": lambda: torch.mm(grad, b), "float32 mm": lambda: torch.mm(*singles)}
    before = medians({name: alone(call) for name, call in peers.items()})  # no route is installed yet
    own_times = medians({**{name: alone(call) for name, _, call, _ in rows},
                         **{f"again {name}": alone(call) for name, call in peers.items()}})
    routes = medians({name: under(own.enabled, call) for name, call in peers.items()})
    off = medians({name: alone(call) for name, call in peers.items()})
    result = []
    for name, peer, _, limit in rows:
        theirs = own_times[f"again {peer}"]
        result.append((name, own_times[name], theirs, limit and limit * theirs))
    result += [(f"enabled: {name}", taken, before[name], before[name] + 3)
               for name, taken in routes.items() if name != "linear, gelu"]
    return result + [(f"disabled again: {name}", off[name], before[name], None) for name in ("mm", "addmm")]
