#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels with the stamps of device/traced.h: from the generated sources of the rows whose
name matches, OUTPUT/NAME.TARGET.fatbin for `bwgemm_bench --trace`, with PTX for the virtual GPU.

Everything after -- goes to compile_kernel.py. Files newer than what they depend on are kept.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

PARAMETER = re.compile(r"const __grid_constant__ bwgemm::(?:Kernel|Mapped|Residue)Params params")


def traced(source):
    """The generated source of a row, traced; None of what is no row."""
    text, count = PARAMETER.subn("const __grid_constant__ bwgemm::TracedParams params", source)
    if count == 0:
        return None
    return "#define BWGEMM_TRACE\n#include \"device/traced.h\"\n" + text


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


def compile_traced(name, args):
    """What the compiler said, and its exit status."""
    with open(os.path.join(args.rows, f"{name}.cu"), encoding="utf-8") as file:
        text = traced(file.read())
    if text is None:
        return "", 0
    source = os.path.join(args.output, f"{name}.cu")
    write_if_changed(source, text)
    target = "sm_90a" if "_sm90_" in name else "sm_100f"  # of 10.0 and of 10.3
    output = os.path.join(args.output, f"{name}.{target}")
    if is_current(output):
        return "", 0
    began = time.time()
    # Stamps take registers: a kernel that spills for them is traced all the same.
    done = subprocess.run([sys.executable, *args.compiler, "--only-warn", "--embed-ptx", "--target",
                           target, "--output", output, source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0:  # a header that changed meanwhile is newer
        os.utime(f"{output}.fatbin", (began, began))
    return f"Traced kernel {name}\n{done.stdout}", done.returncode


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
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said, status in pool.map(lambda name: compile_traced(name, args), names):
            print(said, end="", flush=True)
            failed = failed or status != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
