#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells whether the machine code of kernels is what it was: for changes that must not touch it.

kernel_images.py compare|write [--kernels FOLDER] [--baseline FILE]

The baseline has a line for each image: kernel, target, and a hash of each of PARTS. A part is the
sections of the cubin whose names begin so: their names, types, flags, sizes and bytes. Whole files
differ with the assembler's command line, which is in none of these sections. compare lists images
that were added, removed or changed, and fails if there are any. Images that the folder lacks,
because only some kernels were built, count as removed. The first line names the assembler:
another one may write other code.
"""

import argparse
import csv
import hashlib
import os
import re
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = {"text": (".text",), "info": (".nv.info",), "constant": (".nv.constant",),
         "shared": (".nv.shared",), "relocations": (".rel.", ".rela.")}
NO_BYTES = 8  # SHT_NOBITS
DIGITS = 12  # of a hash


def sections(image):
    """(name, type, flags, size, place, bytes) of each section of a 64-bit ELF file."""
    if image[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    (offset,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, offset + size * i) for i in range(count)]
    begin, length = headers[names][4:6]
    strings = image[begin:begin + length]
    for name, kind, flags, _, at, length in headers:
        text = strings[name:strings.index(b"\0", name)].decode()
        yield text, kind, flags, length, at, b"" if kind == NO_BYTES else image[at:at + length]


def hashes(image):
    """A hash for each of PARTS."""
    found = {part: hashlib.sha256() for part in PARTS}
    for name, kind, flags, size, _, content in sections(image):
        for part, prefixes in PARTS.items():
            if name.startswith(prefixes):
                found[part].update(f"{name} {kind} {flags} {size}\n".encode() + content)
    return [found[part].hexdigest()[:DIGITS] for part in PARTS]


def images_of(folder):
    """("kernel target", image) of each of the folder's kernels, by its table of them."""
    with open(f"{folder}/kernels.csv", encoding="ascii") as table:
        names = [(row["name"], row["target"]) for row in csv.DictReader(table)]
    for name, target in names:
        with open(f"{folder}/{name}.{target}.cubin", "rb") as file:
            yield f"{name} {target}", file.read()


def built(folder):
    return {name: hashes(image) for name, image in images_of(folder)}


def assembler(folder):
    """The version of the assembler that wrote the folder's kernels."""
    _, image = next(images_of(folder))
    return re.search(rb"release [\d.]+, V([\d.]+)", image)[1].decode()


def assembler_of(baseline):
    with open(baseline, encoding="ascii") as file:
        return file.readline().split()[-1]


def read(baseline):
    with open(baseline, encoding="ascii") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return {f"{name} {target}": values for name, target, *values in lines}


def write(baseline, images, version):
    with open(baseline, "w", encoding="ascii") as file:
        file.write(f"# written by the assembler {version}\n# kernel target {' '.join(PARTS)}\n")
        for name in sorted(images):
            file.write(f"{name} {' '.join(images[name])}\n")


def differences(before, now):
    """Lines that tell what changed."""
    told = [f"removed  {name}" for name in sorted(before.keys() - now.keys())]
    told += [f"added    {name}" for name in sorted(now.keys() - before.keys())]
    for name in sorted(before.keys() & now.keys()):
        parts = [part for part, one, other in zip(PARTS, before[name], now[name]) if one != other]
        if parts:
            told.append(f"changed  {name}: {', '.join(parts)}")
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["compare", "write"])
    parser.add_argument("--kernels", default=f"{ROOT}/build/kernels")
    parser.add_argument("--baseline", default=f"{ROOT}/packaging/kernel_images.txt")
    arguments = parser.parse_args()
    now = built(arguments.kernels)
    if arguments.action == "write":
        write(arguments.baseline, now, assembler(arguments.kernels))
        return 0
    before = read(arguments.baseline)
    if assembler_of(arguments.baseline) != assembler(arguments.kernels):
        print(f"the baseline is of the assembler {assembler_of(arguments.baseline)}")
    told = differences(before, now)
    for line in told:
        print(line)
    print(f"{len(before.keys() & now.keys())} images in common, {len(told)} differences")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
