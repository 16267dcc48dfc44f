#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one kernel for one target: CUDA C++ -> PTX -> cubin -> fatbin, with a gate.

Writes OUTPUT.ptx (with line information; paths are mapped, so that they do not depend on where the
tree lies), OUTPUT.cubin and OUTPUT.fatbin (from the same PTX without line information), OUTPUT.log
(what ptxas said), OUTPUT.csv (one line: what the kernel uses) and OUTPUT.d (for ninja).
The gate refuses kernels that ptxas compiled but not well: see complaints().
"""

import argparse
import os
import re
import subprocess
import sys

USAGE_LINE = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
LOCAL_MEMORY = re.compile(r"[1-9]\d* bytes (?:lmem|cumulative stack size)")
# Ignored setmaxnreg (C7504, C7508) and serialized wgmma (C7510 to C7517). ptxas prints them as
# information, which --warning-as-error lets pass.
LOSS = re.compile(r"\(C(?:7504|7508|751[0-7])\)|Potential Performance Loss|ptxas warning")

# Byte lists in PTX, one or many numbers per .b8.
NEXT_BYTE = r"(?:,\s*|\s*\n\s*\.b8\s+)"
INTERNAL_BYTES = NEXT_BYTE.join(str(byte) for byte in b"_INTERNAL_")
HASH_BYTES = re.compile(f"({INTERNAL_BYTES})((?:{NEXT_BYTE}\\d+){{8}})")


def complaints(log):
    """The lines of what `ptxas -v` printed that say the kernel is not fit to ship."""
    found = []
    for line in log.splitlines():
        usage = USAGE_LINE.search(line)
        if usage and any(int(number) for number in usage.groups()):
            found.append(line.strip())
        elif LOCAL_MEMORY.search(line) or LOSS.search(line):
            found.append(line.strip())
    if not USAGE_LINE.search(log):
        found.append("ptxas -v did not report the stack frame and the spills")
    return found


def without_line_info(ptx):
    """The PTX without .loc, .file and debug sections; every other line is kept as it is."""
    kept = []
    in_section = False
    for line in ptx.splitlines(keepends=True):
        directive = line.split(None, 1)[0] if line.strip() else ""
        if in_section:
            in_section = directive != "}"
        elif directive == ".section":
            in_section = True
        elif directive not in (".loc", ".file"):
            kept.append(line)
    return "".join(kept)


def with_mapped_paths(ptx, prefixes):
    """The PTX with the paths of .file directives normalized and their prefixes (longest first)
    replaced. `prefixes`: (from, to) pairs of folders."""
    ordered = sorted(((os.path.realpath(old), new) for old, new in prefixes),
                     key=lambda pair: -len(pair[0]))

    def mapped(match):
        path = os.path.realpath(match.group(2))
        for old, new in ordered:
            if path.startswith(old + os.sep):
                path = os.path.join(new, os.path.relpath(path, old))
                break
        return f'{match.group(1)}"{path}"'

    # Time stamp and size, which some versions write behind the path, are dropped.
    return re.sub(r'^(\s*\.file\s+\d+\s+)"([^"]*)".*$', mapped, ptx, flags=re.MULTILINE)


def with_zeroed_hashes(ptx):
    """The PTX with the hash of the build's folder, which nvcc writes into the names of inlined
    functions with internal linkage, replaced by zeros (the names are bytes of a debug section)."""
    zero = str(ord("0"))
    return HASH_BYTES.sub(
        lambda match: match.group(1) + re.sub(r"(?<!b)\d+", zero, match.group(2)), ptx)


def resources(log):
    """(registers, barriers, static shared memory in bytes) from what `ptxas -v` printed."""
    def number(pattern):
        match = re.search(pattern, log)
        return int(match.group(1)) if match else 0

    return (number(r"Used (\d+) registers"), number(r"used (\d+) barriers"),
            number(r"(\d+) bytes smem"))


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ncompile_kernel: failed ({done.returncode}): {' '.join(command)}")
    return done.stdout


def fail(name, reasons):
    sys.exit(f"compile_kernel: {name} is refused:\n" + "\n".join(f"  {r}" for r in reasons))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--fatbinary", required=True)
    parser.add_argument("--target", required=True, help="sm_90a, sm_100a, sm_100f")
    parser.add_argument("--include", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--map", action="append", default=[], metavar="FROM=TO",
                        help="replaces a folder in the paths of the line information")
    parser.add_argument("--embed-ptx", action="store_true",
                        help="puts the PTX, uncompressed, beside the cubin in the fatbin")
    parser.add_argument("--only-warn", action="store_true",
                        help="prints what the gate would refuse: of kernels that are not shipped")
    parser.add_argument("--output", required=True, help="path without extension")
    parser.add_argument("source")
    return parser.parse_args()


def main():
    args = arguments()
    folder, stem = os.path.split(os.path.abspath(args.output))
    source = os.path.abspath(args.source)
    os.makedirs(folder, exist_ok=True)
    for extension in ("ptx", "cubin", "fatbin", "csv", "log"):
        path = os.path.join(folder, f"{stem}.{extension}")
        if os.path.exists(path):
            os.remove(path)

    def write(extension, text):
        with open(os.path.join(folder, f"{stem}.{extension}"), "w", encoding="utf-8") as file:
            file.write(text)

    def read(extension):
        with open(os.path.join(folder, f"{stem}.{extension}"), encoding="utf-8") as file:
            return file.read()

    architecture = args.target.replace("sm_", "compute_")
    warnings = run([args.nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-lineinfo", "-ptx",
                    f"-arch={architecture}", "--Werror=all-warnings", "-Xcompiler=-Wall",
                    *(f"-I{os.path.abspath(include)}" for include in args.include),
                    "-MD", "-MF", f"{stem}.d", "-MT", os.path.join(folder, f"{stem}.fatbin"),
                    "-o", f"{stem}.ptx", source], folder)
    sys.stdout.write(warnings)
    ptx = with_mapped_paths(read("ptx"), [entry.split("=", 1) for entry in args.map])
    ptx = with_zeroed_hashes(ptx)
    write("ptx", ptx)
    if "_INTERNAL_" in ptx:
        fail(stem, ["a variable with internal linkage: nvcc names it after the folder of the "
                    "build, which makes the library irreproducible"])

    write("stripped.ptx", without_line_info(ptx))
    log = run([args.ptxas, "-v", f"-arch={args.target}", "-o", f"{stem}.cubin",
               f"{stem}.stripped.ptx"], folder)
    os.remove(os.path.join(folder, f"{stem}.stripped.ptx"))
    write("log", log)
    reasons = complaints(log)
    if reasons and args.only_warn:
        print(f"compile_kernel: {stem}:\n" + "\n".join(f"  {reason}" for reason in reasons))
    elif reasons:
        os.remove(os.path.join(folder, f"{stem}.cubin"))
        fail(stem, reasons)

    name = stem.rsplit(".", 1)[0]
    registers, barriers, shared = resources(log)
    size = os.path.getsize(os.path.join(folder, f"{stem}.cubin"))
    write("csv", f"{name},{args.target},{registers},{barriers},{shared},{size}\n")
    sm = args.target.removeprefix("sm_")
    images = [f"--image3=kind=elf,sm={sm},file={stem}.cubin"]
    if args.embed_ptx:
        images += ["--compress=false", f"--image3=kind=ptx,sm={sm},file={stem}.ptx"]
    run([args.fatbinary, f"--create={stem}.fatbin", "-64", *images], folder)


if __name__ == "__main__":
    main()
