#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bwgemm.torch on a GPU: run.py [wheel, or folder that holds the package].

Needs PyTorch 2.10 or newer and a GPU that bwgemm serves. Without an argument, the wheel of
build/release/wheel is taken, else what Python finds. Prints a line for each check and a table of host
times. Exits with the number of checks that failed; times do not count."""

import glob
import os
import sys
import tempfile
import time
import traceback
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
found = sys.argv[1:] or glob.glob(os.path.join(HERE, "../../build/release/wheel/*.whl"))
if found:
    path = found[0]
    if path.endswith(".whl"):
        folder = tempfile.mkdtemp(prefix="bwgemm-")
        zipfile.ZipFile(path).extractall(folder)
        path = folder
    sys.path.insert(0, path)

import torch  # noqa: E402

import bwgemm  # noqa: E402
import times  # noqa: E402


def print_times():
    print(f"{'host time of a call, us':34} {'bwgemm':>7} {'torch':>7} {'ratio':>6}")
    for name, taken, peer, limit in times.table():
        verdict = "" if limit is None else "ok" if taken <= limit else f"OVER {limit:.1f}"
        print(f"{name:34} {taken:7.1f} {peer:7.1f} {taken / peer:6.2f} {verdict}")


def main():
    begin = time.time()
    print(f"bwgemm {bwgemm.build_info()}; torch {torch.__version__}; Python {sys.version.split()[0]}; "
          f"{torch.cuda.get_device_name()}", flush=True)
    print_times()  # first: the table also has torch as it is before a route was installed
    import checks
    failures = 0
    for check in checks.ALL:
        torch.manual_seed(1)
        started = time.time()
        try:
            said = check()
            torch.cuda.synchronize()
        except Exception:  # every other check is still worth its answer
            failures += 1
            said = f"FAILED\n{traceback.format_exc(limit=-4)}"
        print(f"{check.__name__:18} {time.time() - started:5.1f} s  {said or 'right'}", flush=True)
    print(f"{'PASS' if failures == 0 else 'FAIL'}: {failures} failed, {time.time() - begin:.0f} s")
    sys.exit(failures)


if __name__ == "__main__":
    main()
