#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels with the stamps of kernels/trace.h: from the generated sources of the rows whose
name matches, OUTPUT/NAME.TARGET.fatbin for `bwgemm_bench --trace`.

Everything after -- goes to compile_kernel.py. Files newer than what they depend on are kept.
"""

import argparse
import os
import re
import subprocess
import sys

PARAMETER = "const __grid_constant__ bwgemm::KernelParams params"


def traced(source):
    """The generated source of a row, traced."""
    if source.count(PARAMETER) != 1:
        sys.exit(f"trace_kernels: the row's source has not one '{PARAMETER}'")
    return ("#define BWGEMM_TRACE\n#include \"kernels/trace.h\"\n" +
            source.replace(PARAMETER, PARAMETER.replace("KernelParams", "TracedParams")))


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def is_current(output):
    """Whether the fatbin is newer than all that its depfile names."""
    if not os.path.exists(f"{output}.fatbin") or not os.path.exists(f"{output}.d"):
        return False
    with open(f"{output}.d", encoding="utf-8") as file:
        inputs = file.read().split(":", 1)[1].replace("\\\n", " ").split()
    made = os.path.getmtime(f"{output}.fatbin")
    return all(os.path.exists(path) and os.path.getmtime(path) <= made for path in inputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", required=True, help="folder of the generated sources")
    parser.add_argument("--match", required=True, help="regular expression over names")
    parser.add_argument("--output", required=True, help="folder")
    parser.add_argument("compiler", nargs="+", help="compile_kernel.py and its arguments")
    args = parser.parse_args()

    names = sorted(name[:-3] for name in os.listdir(args.rows)
                   if name.endswith(".cu") and re.search(args.match, name[:-3]))
    if not names:
        sys.exit(f"trace_kernels: no kernel's name matches {args.match}")
    os.makedirs(args.output, exist_ok=True)
    for name in names:
        with open(os.path.join(args.rows, f"{name}.cu"), encoding="utf-8") as file:
            text = file.read()
        if "bwgemm::ResidueParams params" in text:
            continue  # TracedParams have no place for its maps
        text = traced(text)
        source = os.path.join(args.output, f"{name}.cu")
        write_if_changed(source, text)
        target = "sm_90a" if "_sm90_" in name else "sm_100a"
        output = os.path.join(args.output, f"{name}.{target}")
        if is_current(output):
            continue
        print(f"Traced kernel {name}", flush=True)
        done = subprocess.run([sys.executable, *args.compiler, "--target", target, "--output",
                               output, source], check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
