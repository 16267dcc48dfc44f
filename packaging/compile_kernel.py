#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one kernel: CUDA C++ -> PTX -> cubin -> fatbin, with a gate.

OUTPUT is FOLDER/NAME.TARGET. Writes OUTPUT.ptx (with line information; paths are mapped, so that
they do not depend on where the tree lies), OUTPUT.cubin and OUTPUT.fatbin (from the same PTX
without line information), OUTPUT.log (what ptxas said), OUTPUT.csv (one line: what the kernel uses)
and OUTPUT.d (for ninja).
With --also, the same PTX becomes images for further targets, whose outputs bear their names.
The gate refuses kernels that ptxas compiled but not well: see complaints() and moves_descriptors().
"""

import argparse
import os
import re
import subprocess
import sys

import kernel_images

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


def moves_descriptors(image):
    """Whether the cubin computes the descriptors of wgmma in each thread.

    wgmma wants them in uniform registers. Where ptxas does not see that a loop is uniform, threads
    compute them and move them there, three or four moves for each wgmma. That takes twice the
    instructions, a tenth of the speed of narrow tiles. Nothing else shows it.
    """
    wgmma, move = 0x9f0, 0x2ca  # the lower 12 bits of HGMMA and R2UR
    near = 60  # instructions: further apart they are of different loops
    for name, _, _, _, _, code in kernel_images.sections(image):
        if not name.startswith(".text."):
            continue
        opcodes = [code[i] | (code[i + 1] & 15) << 8 for i in range(0, len(code), 16)]
        loops = []
        for at in (i for i, opcode in enumerate(opcodes) if opcode == wgmma):
            if not loops or at - loops[-1][-1] >= near:
                loops.append([])
            loops[-1].append(at)
        for loop in loops:
            if opcodes[max(0, loop[0] - near):loop[-1]].count(move) > 2 * len(loop):
                return True
    return False


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
    parser.add_argument("--also", action="append", default=[], metavar="TARGET",
                        help="assembles the PTX for this target of the same family too")
    parser.add_argument("--include", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--map", action="append", default=[], metavar="FROM=TO",
                        help="replaces a folder in the paths of the line information")
    parser.add_argument("--embed-ptx", action="store_true",
                        help="puts the PTX, uncompressed, beside the cubin in the fatbin")
    parser.add_argument("--only-warn", action="store_true",
                        help="prints what the gate would refuse: of kernels that are not shipped")
    parser.add_argument("--output", required=True, help="FOLDER/NAME.TARGET")
    parser.add_argument("source")
    return parser.parse_args()


class Output:
    """The files of one target."""

    def __init__(self, folder, name, target):
        self.folder, self.name, self.target = folder, name, target
        self.stem = f"{name}.{target}"

    def path(self, extension):
        return os.path.join(self.folder, f"{self.stem}.{extension}")

    def remove(self, *extensions):
        for extension in extensions:
            if os.path.exists(self.path(extension)):
                os.remove(self.path(extension))

    def write(self, extension, text):
        with open(self.path(extension), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, extension):
        with open(self.path(extension), encoding="utf-8") as file:
            return file.read()


def compile_to_ptx(args, output):
    """Returns the PTX, which does not depend on where anything lies."""
    architecture = output.target.replace("sm_", "compute_")
    warnings = run([args.nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-lineinfo", "-ptx",
                    f"-arch={architecture}", "--Werror=all-warnings", "-Xcompiler=-Wall",
                    *(f"-I{os.path.abspath(include)}" for include in args.include),
                    "-MD", "-MF", f"{output.stem}.d", "-MT", output.path("fatbin"),
                    "-o", f"{output.stem}.ptx", os.path.abspath(args.source)], output.folder)
    sys.stdout.write(warnings)
    ptx = with_mapped_paths(output.read("ptx"), [entry.split("=", 1) for entry in args.map])
    ptx = with_zeroed_hashes(ptx)
    if "_INTERNAL_" in ptx:
        fail(output.stem, ["a variable with internal linkage: nvcc names it after the folder of "
                           "the build, which makes the library irreproducible"])
    return ptx


def for_target(ptx, target):
    return re.sub(r"^\.target .*$", f".target {target}", ptx, count=1, flags=re.MULTILINE)


def assemble(args, output, ptx):
    output.write("ptx", ptx)
    output.write("stripped.ptx", without_line_info(ptx))
    log = run([args.ptxas, "-v", f"-arch={output.target}", "-o", f"{output.stem}.cubin",
               f"{output.stem}.stripped.ptx"], output.folder)
    output.remove("stripped.ptx")
    output.write("log", log)
    reasons = complaints(log)
    with open(output.path("cubin"), "rb") as file:
        if moves_descriptors(file.read()):
            reasons.append("threads compute descriptors of wgmma and move them to uniform registers")
    if reasons and args.only_warn:
        print(f"compile_kernel: {output.stem}:\n" + "\n".join(f"  {reason}" for reason in reasons))
    elif reasons:
        output.remove("cubin")
        fail(output.stem, reasons)

    registers, barriers, shared = resources(log)
    size = os.path.getsize(output.path("cubin"))
    output.write("csv", f"{output.name},{output.target},{registers},{barriers},{shared},{size}\n")
    sm = output.target.removeprefix("sm_")
    images = [f"--image3=kind=elf,sm={sm},file={output.stem}.cubin"]
    if args.embed_ptx:
        images += ["--compress=false", f"--image3=kind=ptx,sm={sm},file={output.stem}.ptx"]
    run([args.fatbinary, f"--create={output.stem}.fatbin", "-64", *images], output.folder)


def main():
    args = arguments()
    folder, stem = os.path.split(os.path.abspath(args.output))
    os.makedirs(folder, exist_ok=True)
    name = stem.removesuffix(f".{args.target}")
    outputs = [Output(folder, name, target) for target in (args.target, *args.also)]
    for output in outputs:
        output.remove("ptx", "cubin", "fatbin", "csv", "log")
    ptx = compile_to_ptx(args, outputs[0])
    for output in outputs:
        assemble(args, output, ptx if output is outputs[0] else for_target(ptx, output.target))


if __name__ == "__main__":
    main()
