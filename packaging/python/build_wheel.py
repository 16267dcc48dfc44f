#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wheel: the package in this folder, its compiled module and the library in one file. Needs
nothing but Python; the same input gives the same bytes."""

import argparse
import base64
import hashlib
import os
import re
import struct
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

METADATA = """\
Metadata-Version: 2.1
Name: bwgemm
Version: {version}
Summary: Matrix multiplication for Hopper and Blackwell GPUs
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/plain

{description}
"""
# The oldest glibc that the pages promise. The libstdc++ of GCC 11, too, belongs to no older tag.
OLDEST = (2, 34)
WHEEL = """\
Wheel-Version: 1.0
Generator: bwgemm
Root-Is-Purelib: false
Tag: {tag}
"""


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def version():
    header = read(ROOT, "include", "bwgemm", "bwgemm.h").decode()
    return ".".join(re.search(rf"#define BWGEMM_VERSION_{part} (\d+)", header).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def machine(path):
    """That a file is for, whichever this one is: libraries may be built on another."""
    names = {62: "x86_64", 183: "aarch64"}  # as elf.h and pip have them
    content = read(path)
    is_elf = content[:6] == b"\x7fELF\2\1" and len(content) >= 20
    number = struct.unpack_from("<H", content, 18)[0] if is_elf else None
    if number not in names:
        sys.exit(f"{path} is no library for {' or '.join(names.values())}")
    return names[number]


def newest_glibc(path):
    """The newest version of glibc that a file asks for. A newer compiler may ask for a newer one."""
    versions = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?=\0)", read(path))
    return max([OLDEST, *(tuple(map(int, version)) for version in versions)])


def modules():
    """{path in the wheel: bytes} of the Python files."""
    found = {}
    for folder, folders, names in os.walk(os.path.join(HERE, "bwgemm")):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                found[os.path.relpath(path, HERE)] = read(path)
    return found


def contents(library, module, tag):
    """{path in the wheel: bytes}, RECORD last."""
    files = modules()
    files["bwgemm/_native.abi3.so"] = read(module)
    files["bwgemm/libbwgemm.so.1"] = read(library)
    info = f"bwgemm-{version()}.dist-info"
    description = re.search(r'"""(.*?)"""', files["bwgemm/__init__.py"].decode(), re.DOTALL).group(1)
    files[f"{info}/METADATA"] = METADATA.format(version=version(), description=description).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    files[f"{info}/LICENSE"] = read(ROOT, "LICENSE")
    files[f"{info}/THIRD-PARTY-NOTICES"] = read(ROOT, "packaging", "THIRD-PARTY-NOTICES")
    record = "".join(f"{path},sha256={digest(content)},{len(content)}\n"
                     for path, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="libbwgemm.so.1")
    parser.add_argument("--module", required=True, help="_native.abi3.so")
    parser.add_argument("--output", required=True, help="folder of the wheel")
    args = parser.parse_args()
    if not os.path.exists(args.module):
        sys.exit(f"{args.module} is not there: it is built where Python's headers are, which "
                 "packaging/setup.sh installs (python3-dev)")
    machines = [machine(path) for path in (args.library, args.module)]
    if machines[0] != machines[1]:
        sys.exit(f"{args.library} is for {machines[0]}, {args.module} for {machines[1]}")
    glibc = "_".join(map(str, max(map(newest_glibc, (args.library, args.module)))))
    tag = f"cp38-abi3-manylinux_{glibc}_{machines[0]}"
    path = os.path.join(args.output, f"bwgemm-{version()}-{tag}.whl")
    os.makedirs(args.output, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in contents(args.library, args.module, tag).items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name.endswith((".so", ".so.1")) else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


if __name__ == "__main__":
    main()
