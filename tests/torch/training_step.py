#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a transformer under bwgemm-run on a GPU, by policy, and prints a table.

    python3 tests/torch/training_step.py [--launcher build/release/bin/bwgemm-run] [--rounds N]

Each figure is of processes of their own, which take turns: without the library, with each policy,
and with a file that bwgemm-run --tune wrote. A round takes about two minutes."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = os.path.join(HERE, os.pardir, os.pardir, "build", "release", "bin", "bwgemm-run")
MODELS = {"wide": (2048, 8, 4, 2048, False), "narrow": (1024, 12, 8, 1024, True)}
STEPS, FIRST = 30, 10  # those before are not counted


def model_of(torch, width, layers, biases):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
            self.qkv, self.out = (torch.nn.Linear(width, n * width, biases) for n in (3, 1))
            self.up = torch.nn.Linear(width, 4 * width, biases)
            self.down = torch.nn.Linear(4 * width, width, biases)

        def forward(self, x):
            heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, -1, 128)).permute(2, 0, 3, 1, 4)
            mixed = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x))))
    return torch.nn.Sequential(*(Block() for _ in range(layers))).cuda()


def steps(name):
    """Milliseconds of a step, and of the products in it."""
    import torch
    width, layers, batch, length, biases = MODELS[name]
    torch.manual_seed(1)
    model = model_of(torch, width, layers, biases)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    x, aim = (torch.randn(batch, length, width, device="cuda") for _ in range(2))
    times, loss = [], None
    for _ in range(STEPS):
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.mse_loss(model(x), aim)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    if not loss.item() < 2:
        raise SystemExit(f"the loss is {loss.item()}")
    return statistics.median(times[FIRST:])


def child(command, **variables):
    plain = {key: value for key, value in os.environ.items() if not key.startswith("BWGEMM_")}
    done = subprocess.run([*command, sys.executable, __file__, "--steps"], text=True, check=True,
                          env={**plain, **variables}, stdout=subprocess.PIPE)
    return json.loads(done.stdout.strip().split("\n")[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", default=LAUNCHER)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.steps:
        print(json.dumps({name: steps(name) for name in MODELS}))
        return
    run = [options.launcher, "-q"]
    with tempfile.TemporaryDirectory() as folder:
        tuned, log = os.path.join(folder, "tuned.csv"), os.path.join(folder, "log.csv")
        subprocess.run([options.launcher, "--tune", tuned, sys.executable, __file__, "--steps"],
                       check=True, stdout=subprocess.DEVNULL)
        ways = {"plain": ([], {}), "all": (run, {"BWGEMM_CUBLAS_POLICY": "all"}),
                "faster": ([*run, "-l", log], {"BWGEMM_CUBLAS_POLICY": "faster"}),
                "tuned": (run, {"BWGEMM_CUBLAS_CHOSEN": tuned})}
        found = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, (command, variables) in ways.items():
                found[way].append(child(command, **variables))
        with open(log, encoding="utf-8") as file:
            print(file.read())
    for name in MODELS:
        plain = statistics.median(times[name] for times in found["plain"])
        for way, times in found.items():
            ms = statistics.median(time_of[name] for time_of in times)
            print(f"{name:7} {way:7} {ms:8.2f} ms {ms / plain:7.3f}")


if __name__ == "__main__":
    main()
