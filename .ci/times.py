#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of .ci/run went, comparable between machines.

times.py calibrate FILE          runs a fixed loop on every core and writes its seconds to FILE; they
                                 are 5 on the machine that the times of the log were taken on.
times.py report FILE TIMES XML   prints the seconds of each part (TIMES: lines of "name seconds"),
                                 of the tests by their level (XML: what ctest wrote; seconds of one
                                 core), and all of them divided by the machine's slowness.
Nothing fails by these times.
"""

import collections
import multiprocessing
import os
import re
import sys
import time
import xml.etree.ElementTree

REFERENCE_SECONDS = 5.0
ROUNDS = 90


def loop(_):
    """Integers, dictionaries and strings: like a compiler, not like a matrix product."""
    begin = time.perf_counter()
    total = 0
    for number in range(ROUNDS):
        table = {}
        for i in range(100_000):
            key = (i * 2654435761 + number) & 0xffff
            table[key] = table.get(key, 0) + i
        total += len("".join(map(str, table.values())))
    assert total > 0
    return time.perf_counter() - begin


def calibrate():
    cores = multiprocessing.cpu_count()
    with multiprocessing.Pool(cores) as pool:
        return max(pool.map(loop, range(cores), chunksize=1))


def level(test):
    """The part of a test's name that says what runs: gpu.virtual.h200.1 -> gpu.virtual."""
    if test.startswith("gpu.virtual."):
        return "gpu.virtual"
    return re.split(r"[./]", test)[0]


def of_tests(path):
    seconds = collections.Counter()
    if not os.path.exists(path):  # the build failed
        return seconds
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        seconds[level(case.get("name"))] += float(case.get("time") or 0)
    return seconds


def report(calibration, parts, tests):
    with open(calibration, encoding="utf-8") as file:
        slowness = float(file.read()) / REFERENCE_SECONDS
    with open(parts, encoding="utf-8") as file:
        rows = [(name, float(seconds)) for name, seconds in (line.split() for line in file)]
    total = sum(seconds for _, seconds in rows)
    print(f"ci: this machine takes {slowness:.2f} times as long as the reference")
    print(f"{'part':<20}{'seconds':>9}{'/ slowness':>12}")
    for name, seconds in [*rows, ("all", total)]:
        print(f"{name:<20}{seconds:9.0f}{seconds / slowness:12.0f}")
    for name, seconds in of_tests(tests).most_common():
        if seconds >= 1:
            print(f"{'  tests: ' + name:<20}{seconds:9.0f}{seconds / slowness:12.0f}  (of one core)")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "calibrate":
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(f"{calibrate():.3f}\n")
    elif len(sys.argv) == 5 and sys.argv[1] == "report":
        report(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
