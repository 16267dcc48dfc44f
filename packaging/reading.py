#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells how much there is to read to understand a part of the library.

reading.py [--root FOLDER]

Prints, with their lines and files, what the kernels of each architecture include, alone and with
all parts that only some images include, and the reading lists of reading.txt. A list is a line
"name:" and the files below it, by their paths in src. A file of a list may include only files of
the list, of core/ and of device/ptx/, which everybody knows, and those that the list leaves out,
which are named behind a minus: what they declare is plain from its name.
"""

import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = ("core/", "device/ptx/")
ROOTS = {
    name: tuple(f"families/{folder}{path}" for path in paths.split())
    for name, folder, paths in (
        ("includes of sm90", "sm90/", "gemm.cuh"),
        ("includes of sm90, all parts", "sm90/",
         "gemm.cuh ping_pong.h loose_rows.h gated_loads.h line_stores.h register_stores.h "
         "staging_stores.h piece_stores.h cluster_reduction.h"),
        ("includes of sm90, shifted", "sm90/", "shifted/gemm.cuh"),
        ("includes of sm100", "sm100/", "gemm.cuh"),
        ("includes of sm100, all parts", "sm100/",
         "gemm.cuh loaders.h scatter.h columns.h scheduler.h"))}


def included(root, path):
    """Files of src that a file of src includes; `path` from there, or absolute."""
    with open(os.path.join(root, "src", path), encoding="utf-8") as file:
        names = re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.MULTILINE)
    return [name for name in names if os.path.exists(f"{root}/src/{name}")]


def closure(root, path):
    found, to_do = [], [path]
    while to_do:
        path = to_do.pop()
        if path not in found:
            found.append(path)
            to_do += included(root, path)
    return found


def lines(root, paths):
    total = 0
    for path in paths:
        with open(f"{root}/src/{path}", encoding="utf-8") as file:
            total += sum(1 for _ in file)
    return total


def read(root):
    """{name: (files, files left out)} of the lists."""
    lists, name = {}, None
    with open(f"{root}/packaging/reading.txt", encoding="ascii") as file:
        for line in map(str.strip, file):
            if line.endswith(":"):
                name = line[:-1]
                lists[name] = ([], [])
            elif line and not line.startswith("#"):
                lists[name][line.startswith("-")].append(line.lstrip("- "))
    return lists


def unlisted(root, files, left_out):
    """"FILE includes FILE" for each that the list does not have."""
    told = []
    for path in files:
        for name in included(root, path):
            if name not in files and name not in left_out and not name.startswith(KNOWN):
                told.append(f"{path} includes {name}")
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=ROOT)
    root = parser.parse_args().root
    for name, paths in ROOTS.items():
        files = set().union(*(closure(root, path) for path in paths))
        print(f"{name}: {lines(root, files)} lines in {len(files)} files")
    told = []
    for name, (files, left_out) in read(root).items():
        print(f"{name}: {lines(root, files)} lines in {len(files)} files")
        told += unlisted(root, files, left_out)
    for line in told:
        print(line)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
