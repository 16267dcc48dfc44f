#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if the tests have become more work than is budgeted: what the suites on the virtual GPUs
interpret, and how many programs the build makes. Work is counted, not timed: counts are the same on
every machine.

Reads what the virtual driver left in BWGEMM_VGPU_COUNTS, FOLDER/DEVICE.SHARD.counts.
"""

import argparse
import glob
import os
import sys


def instructions(path):
    """Warp instructions of one shard: a line has a kernel, its launches, instructions and steps."""
    with open(path, encoding="utf-8") as file:
        return sum(int(line.split()[2]) for line in file)


def programs(folder):
    return [name for name in sorted(os.listdir(folder))
            if os.access(os.path.join(folder, name), os.X_OK)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--shards", type=int, required=True, help="number of files to be there")
    parser.add_argument("--most-instructions", type=float, required=True, metavar="MILLIONS")
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--most-programs", type=int, required=True)
    args = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(args.folder, "*.counts")))
    counts = {os.path.basename(path): instructions(path) / 1e6 for path in paths}
    total, made = sum(counts.values()), programs(args.bin)
    for name, count in counts.items():
        print(f"{name:<20}{count:10.1f} million warp instructions")
    print(f"{'all':<20}{total:10.1f}, the budget is {args.most_instructions:.0f}")
    print(f"{len(made)} programs, the budget is {args.most_programs}")
    if len(paths) != args.shards:
        sys.exit(f"counts: {args.shards} shards, but {len(paths)} files in {args.folder}")
    if total > args.most_instructions or len(made) > args.most_programs:
        sys.exit("counts: over budget")


if __name__ == "__main__":
    main()
