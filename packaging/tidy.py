#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over source files, many of a folder at a time.

Most of its time goes into the headers of the standard library and of the log, which it reads and
checks anew for each translation unit. So the texts of files of one folder that are compiled alike
become one unit. They are copied into it: what is included is not checked as the unit's own code is.
Where files cannot be one unit (two have an anonymous name in common), the unit is halved, down to
single files. Exit status: 0 nothing found, 1 something.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

# What g++ wrote into the commands and clang does not know, or must not read.
NOT_FOR_CLANG = re.compile(r"-fno-gnu-unique|-Winvalid-pch")
DOES_NOT_COMPILE = "[clang-diagnostic-error"
COUNTS = re.compile(r"\d+ warnings?( and \d+ errors?)? generated\.|\d+ errors? generated\.|"
                    r"Suppressed \d+ warnings")
LARGEST = 12  # files of one unit: enough to share headers, few enough to keep all cores busy


def flags_of(entry):
    """The flags of a compilation without its input, its output and precompiled headers."""
    words, kept = iter(shlex.split(entry["command"])[1:]), []
    for word in words:
        if word in ("-o", "-c", "-MT", "-MF", "-include"):
            next(words)
        elif word != "-MD" and not NOT_FOR_CLANG.fullmatch(word):
            kept.append(word)
    return tuple(kept)


def units(files, database):
    """Lists of files that can be tried as one unit, with their flags."""
    flags = {}
    for entry in database:
        flags.setdefault(os.path.realpath(entry["file"]), flags_of(entry))
    groups = collections.defaultdict(list)
    for file in map(os.path.realpath, files):
        if file not in flags:
            sys.exit(f"tidy: {file} is not compiled")
        groups[os.path.dirname(file), flags[file]].append(file)
    for (_, used), group in groups.items():
        parts = -(-len(group) // LARGEST)
        for i in range(parts):
            yield group[i::parts], used


class Unit:
    """The texts of some files, one behind the other."""

    def __init__(self, path, files):
        self.path, self.begins = path, []  # begins: (line before the file's first, the file)
        lines = 0
        with open(path, "w", encoding="utf-8") as unit:
            for name in files:
                with open(name, encoding="utf-8") as file:
                    text = file.read()
                self.begins.append((lines, name))
                unit.write(text)
                lines += text.count("\n")

    def in_terms_of_files(self, text):
        """What clang-tidy said, with the files' names and lines for the unit's."""
        def place(match):
            line = int(match.group(1))
            before, name = max(begin for begin in self.begins if begin[0] < line)
            return f"{name}:{line - before}:"

        return re.sub(rf"{re.escape(self.path)}:(\d+):", place, text)


def check(tool, root, folder, files, flags):
    """What clang-tidy finds in the files, as text."""
    name = "_".join(os.path.relpath(files[0], root).split(os.sep))
    unit = Unit(os.path.join(folder, f"{len(files)}_{name}"), files)
    done = subprocess.run(
        [tool, "--quiet", f"--config-file={os.path.join(root, '.clang-tidy')}", unit.path, "--",
         "-iquote", os.path.dirname(files[0]), *flags],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if len(files) > 1 and DOES_NOT_COMPILE in done.stdout:
        half = len(files) // 2
        return (check(tool, root, folder, files[:half], flags) +
                check(tool, root, folder, files[half:], flags))
    if done.returncode == 0:
        return ""
    said = "".join(line for line in unit.in_terms_of_files(done.stdout).splitlines(keepends=True)
                   if not COUNTS.match(line))
    return said or f"tidy: {tool} ended with {done.returncode} on {', '.join(files)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="clang-tidy")
    parser.add_argument("--database", required=True, help="compile_commands.json")
    parser.add_argument("--folder", required=True, help="where the units are written")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    root = os.getcwd()
    folder = os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    with open(args.database, encoding="utf-8") as file:
        database = json.load(file)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = "".join(pool.map(lambda unit: check(args.tool, root, folder, *unit),
                                 units(args.files, database)))
    sys.stdout.write(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
