#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the fatbins of all kernels into the archive that the library embeds.

Archive (little-endian): magic "BWGEMMAR", u32 version, u32 number of entries; entries of name
(96 bytes, zero-padded), target (16 bytes), u64 offset from the archive's start, u64 size, sha256
(32 bytes); then the blobs, each at a multiple of 64. src/launch reads it; read_archive() is for
tests. Beside it: an index (one line per blob: sha256, the PTX it was made of) and a table of what
every kernel uses. Files whose content is unchanged are not touched.
"""

import argparse
import hashlib
import os
import struct
import sys

MAGIC = b"BWGEMMAR"
VERSION = 1
HEADER = struct.Struct("<8sII")
ENTRY = struct.Struct("<96s16sQQ32s")
ALIGNMENT = 64
TABLE_HEADER = "name,target,registers,barriers,static_smem_bytes,cubin_bytes\n"


def aligned(offset):
    return -(-offset // ALIGNMENT) * ALIGNMENT


def packed(entries):
    """The archive of (name, target, blob) entries, as bytes."""
    offset = aligned(HEADER.size + ENTRY.size * len(entries))
    header = bytearray(HEADER.pack(MAGIC, VERSION, len(entries)))
    blobs = bytearray()
    start = offset
    for name, target, blob in entries:
        if len(name) >= 96 or len(target) >= 16:
            raise ValueError(f"name too long for the archive: {name} {target}")
        blobs += bytes(offset - start - len(blobs)) + blob
        header += ENTRY.pack(name.encode(), target.encode(), offset, len(blob),
                             hashlib.sha256(blob).digest())
        offset = aligned(offset + len(blob))
    return bytes(header) + bytes(start - len(header)) + bytes(blobs)


def read_archive(archive):
    """[(name, target, blob)] of an archive; raises ValueError if it is damaged."""
    magic, version, count = HEADER.unpack_from(archive)
    if magic != MAGIC or version != VERSION:
        raise ValueError("not an archive of this version")
    entries = []
    for index in range(count):
        name, target, offset, size, digest = ENTRY.unpack_from(
            archive, HEADER.size + index * ENTRY.size)
        blob = archive[offset:offset + size]
        if offset % ALIGNMENT or len(blob) != size or hashlib.sha256(blob).digest() != digest:
            raise ValueError(f"damaged entry {name!r}")
        entries.append((name.rstrip(b"\0").decode(), target.rstrip(b"\0").decode(), blob))
    return entries


def write_if_changed(path, content):
    try:
        with open(path, "rb") as file:
            if file.read() == content:
                return
    except FileNotFoundError:
        pass
    with open(path, "wb") as file:
        file.write(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", required=True)
    parser.add_argument("--index", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--folder", required=True, help="where compile_kernel.py wrote")
    parser.add_argument("stems", nargs="+", metavar="NAME.TARGET")
    args = parser.parse_args()

    entries, index, table = [], [], [TABLE_HEADER]
    for stem in args.stems:
        name, target = stem.rsplit(".", 1)
        with open(os.path.join(args.folder, f"{stem}.fatbin"), "rb") as file:
            blob = file.read()
        with open(os.path.join(args.folder, f"{stem}.csv"), encoding="utf-8") as file:
            table.append(file.read())
        entries.append((name, target, blob))
        index.append(f"{hashlib.sha256(blob).hexdigest()}  {stem}.ptx\n")
    try:
        archive = packed(entries)
    except ValueError as error:
        sys.exit(f"pack_archive: {error}")
    write_if_changed(args.index, "".join(index).encode())
    write_if_changed(args.table, "".join(table).encode())
    write_if_changed(args.archive, archive)


if __name__ == "__main__":
    main()
