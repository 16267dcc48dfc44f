#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs unmodified PyTorch, JAX and CuPy under bwgemm-run on a GPU, and prints a table: what passed,
how many calls were served, why the others were not, and the times with and without.

    python3 tests/torch/dropin_proof.py [--launcher build/release/bin/bwgemm-run] [--keep FOLDER]

It takes two minutes at most. What is not installed is skipped. The parts are in parts.py."""

import argparse
import collections
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = os.path.join(HERE, os.pardir, os.pardir, "build", "release", "bin", "bwgemm-run")
SECONDS = 118
ALL = {"BWGEMM_CUBLAS_POLICY": "all"}


class Run:
    """A part in a process of its own. `mode` is the launcher's; None is without the launcher."""

    def __init__(self, setup, name, part, mode="serve", **variables):
        self.name, self.mode = name, mode
        self.log = os.path.join(setup.folder, f"{name}.csv")
        command = [sys.executable, os.path.join(HERE, "parts.py"), part]
        if mode is not None:
            command = [setup.launcher, "-q", "-m", mode, "-l", self.log, *command]
        left = setup.end - time.monotonic()
        self.value, self.why = {}, ""
        if left < 5:
            self.why = "skipped: no time is left"
            return
        plain = {key: value for key, value in os.environ.items()
                 if not key.startswith(("BWGEMM_", "LD_PRELOAD"))}
        try:
            done = subprocess.run(command, env={**plain, **ALL, **variables}, timeout=left,
                                  text=True, check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            self.why = "FAILED: it took too long"
            return
        self.errors = done.stderr
        with open(self.log + ".stderr", "w", encoding="utf-8") as file:
            file.write(done.stderr)
        self.read(done)

    def read(self, done):
        lines = done.stdout.strip().split("\n")
        try:
            self.value = json.loads(lines[-1])
        except ValueError:
            tail = done.stderr.strip().split("\n")[-1:] or [""]
            self.why = f"FAILED: exit {done.returncode}: {tail[0][:90]}"
            return
        if "skipped" in self.value:
            self.why = "skipped: " + self.value["skipped"]
        elif self.value.get("failures"):
            self.why = f"FAILED: {len(self.value['failures'])}: {self.value['failures'][0]}"
        elif done.returncode != 0:
            self.why = f"FAILED: exit {done.returncode}"

    @property
    def is_measured(self):
        return bool(self.value) and not self.why

    def rows(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def calls(self):
        """By outcome, and the reasons of the calls that were forwarded."""
        outcomes, reasons = collections.Counter(), collections.Counter()
        for row in self.rows():
            outcomes[row["outcome"]] += int(row["calls"])
            if row["outcome"] == "forwarded":
                is_16_bit = row["Atype"] in ("2", "14") and row["Btype"] == row["Atype"]
                reasons[row["reason"] + ("" if is_16_bit else "*")] += int(row["calls"])
        return outcomes, reasons

    def row(self):
        outcomes, reasons = self.calls()
        named = " ".join(f"{reason}:{count}" for reason, count in reasons.most_common(4))
        took = f"{self.value['step_ms']:.3f}" if "step_ms" in self.value else ""
        return (self.name, str(outcomes["served"] + outcomes["agreed"]), str(outcomes["forwarded"]),
                named, took, self.why or "passed")


def print_table(rows):
    head = ("part", "served", "forwarded", "reasons (*: not 16-bit)", "step ms", "result")
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def verdict_of_losses(plain, other, served):
    """Served losses lie as near to cuBLAS's as those of a cuBLAS whose inputs round otherwise."""
    if not (plain.is_measured and other.is_measured and served.is_measured):
        return None
    apart = [max(abs(a - b) for a, b in zip(plain.value["losses"], run.value["losses"]))
             for run in (other, served)]
    noise, ours = apart
    is_good = ours <= 3 * noise + 0.01
    print(f"loss: served is {ours:.4f} from cuBLAS at most, cuBLAS with nudged weights "
          f"{noise:.4f}; after {len(plain.value['losses'])} steps "
          f"{plain.value['losses'][-1]:.4f} and {served.value['losses'][-1]:.4f}: "
          f"{'passed' if is_good else 'FAILED'}")
    return is_good


def print_ratio(what, key, plain, served):
    if plain.is_measured and served.is_measured and key in served.value:
        before, after = plain.value[key], served.value[key]
        print(f"{what}: {before:.3f} without, {after:.3f} with: ratio {after / before:.3f}")


def check_verdict(run):
    if not run.is_measured:
        return None
    differed = [row for row in run.rows() if row["outcome"] == "differed"]
    print(f"mode check of {run.name}: {run.calls()[0]['agreed']} calls agreed, "
          f"{run.calls()[0]['differed']} differed")
    for row in differed:
        print("  " + ",".join(f"{key}={row[key]}" for key in (
            "function", "m", "n", "k", "Atype", "Dtype", "orders", "epilogue", "calls")))
    for line in run.errors.split("\n"):
        if "check:" in line:
            print("  " + line)
    if run.value.get("unsupported"):
        print(f"  cuBLASLt has no algorithm for {' '.join(run.value['unsupported'])}")
    return not differed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--launcher", default=LAUNCHER)
    parser.add_argument("--keep", help="the folder that keeps the logs of calls")
    setup = parser.parse_args()
    setup.end = time.monotonic() + SECONDS
    setup.launcher = os.path.abspath(setup.launcher)
    if shutil.which(setup.launcher) is None:
        sys.exit(f"{setup.launcher} is not there: build it, or name it by --launcher")
    setup.folder = setup.keep or tempfile.mkdtemp(prefix="bwgemm-proof-")
    os.makedirs(setup.folder, exist_ok=True)

    served = Run(setup, "train", "train")
    plain = Run(setup, "train_plain", "train", mode=None)
    # What rounding alone does to the losses: weights that are off by an eighth of a unit in the
    # last place of bfloat16, and sums of another precision.
    other = Run(setup, "train_plain_nudged", "train", mode=None, PROOF_NUDGE=str(2.0 ** -12))
    runs = [served, plain, other,
            Run(setup, "operations", "operations"),
            Run(setup, "graphs_and_threads", "graphs"),
            Run(setup, "jax", "jax"),
            Run(setup, "cupy", "cupy"),
            Run(setup, "cublaslt_checked", "lt", mode="check"),
            Run(setup, "train_checked", "short_train", mode="check")]
    print_table([run.row() for run in runs])
    print_ratio("training step, ms", "step_ms", plain, served)
    for key in ("mm_us", "linear_us"):
        print_ratio(f"host time of a small {key[:-3]}, us", key, plain, served)
    verdicts = [verdict_of_losses(plain, other, served),
                *(check_verdict(run) for run in runs if run.mode == "check")]
    failed = any(run.why.startswith("FAILED") for run in runs) or False in verdicts
    measured = any(run.is_measured for run in runs)
    print(f"logs of calls: {setup.folder}")
    print("FAILED" if failed else "passed" if measured else "nothing was run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
