#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over source files, many at a time.

Half of its time went into the headers of the standard library and of the log, which it reads and
checks anew for each translation unit. So the texts of files that are compiled alike become one unit.
They are copied into it: what is included is not checked as the unit's own code is. A file that cannot
be in a unit with those before it (two have an anonymous name in common) goes to the next one, which a
trial with one quick check finds out.

What follows paths through a function ends after --max-nodes states, and goes first where it has not
been: a function of many strings and containers has more states than anybody waits for. Exit status:
0 nothing found, 1 something.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import re
import shlex
import subprocess
import sys

# What g++ wrote into the commands and clang does not know, or must not read.
NOT_FOR_CLANG = re.compile(r"-fno-gnu-unique|-Winvalid-pch|-fPIC|-fPIE")
DOES_NOT_COMPILE = "[clang-diagnostic-error"
TRIAL = "--checks=-*,misc-unused-alias-decls"
COUNTS = re.compile(r"\d+ warnings?( and \d+ errors?)? generated\.|\d+ errors? generated\.|"
                    r"Suppressed \d+ warnings")
LARGEST = 20  # files of one unit: enough to share headers, few enough to keep all cores busy
DEEPEST = 225000  # clang's own limit


def flags_of(entry):
    """The flags of a compilation without its input, its output and precompiled headers."""
    words, kept = iter(shlex.split(entry["command"])[1:]), []
    for word in words:
        if word in ("-o", "-c", "-MT", "-MF", "-include"):
            next(words)
        elif word != "-MD" and not NOT_FOR_CLANG.fullmatch(word):
            kept.append(word)
    return tuple(kept)


def sources_of(entry):
    """The file that is compiled, or, of a unit of a unity build, the files that it includes."""
    unit = os.path.realpath(entry["file"])
    if os.path.basename(os.path.dirname(unit)) != "Unity":
        return [unit]
    with open(unit, encoding="utf-8") as file:
        return [os.path.realpath(os.path.join(os.path.dirname(unit), included))
                for included in re.findall(r'^#include "(.*)"$', file.read(), re.MULTILINE)]


def groups_of(files, database):
    """[(files that are compiled alike, their flags)]."""
    flags = {}
    for entry in database:
        for source in sources_of(entry):
            flags.setdefault(source, flags_of(entry))
    groups = collections.defaultdict(list)
    for file in map(os.path.realpath, files):
        if file not in flags:
            sys.exit(f"tidy: {file} is not compiled")
        groups[flags[file]].append(file)
    return [(group, used) for used, group in groups.items()]


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

    def place(self, line):
        """The file that a line of the unit is of, and the line there."""
        before, name = max(begin for begin in self.begins if begin[0] < line)
        return name, line - before

    def in_terms_of_files(self, text):
        """What clang-tidy said, with the files' names and lines for the unit's."""
        return re.sub(rf"{re.escape(self.path)}:(\d+):",
                      lambda match: "{}:{}:".format(*self.place(int(match.group(1)))), text)

    def does_not_fit(self, text):
        """The file of the first error; the last file where it is an error of a header."""
        lines = map(int, re.findall(rf"^{re.escape(self.path)}:(\d+):\d+: error", text, re.MULTILINE))
        return self.place(min(lines, default=sys.maxsize))[0]


class Tidy:
    def __init__(self, tool, root, folder, max_nodes):
        self.tool, self.root, self.folder = tool, root, folder
        self.limit = ["-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={max_nodes}"]

    def run(self, files, flags, *options):
        """Returns the unit and what became of it."""
        name = "_".join(os.path.relpath(files[0], self.root).split(os.sep))
        unit = Unit(os.path.join(self.folder, f"{len(files)}_{name}"), files)
        folders = [f"-iquote{folder}" for folder in sorted(set(map(os.path.dirname, files)))]
        return unit, subprocess.run(
            [self.tool, "--quiet", f"--config-file={os.path.join(self.root, '.clang-tidy')}",
             *options, unit.path, "--", *folders, *self.limit, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def units(self, files, flags):
        """[(files that are one unit, flags)]."""
        number = -(-len(files) // LARGEST)
        units, size = [], -(-len(files) // number)
        files = list(itertools.chain(*(files[i::number] for i in range(number))))
        while files:
            fitting, files = files[:size], files[size:]
            while len(fitting) > 1:
                unit, done = self.run(fitting, flags, TRIAL)
                if DOES_NOT_COMPILE not in done.stdout:
                    break
                files.append(unit.does_not_fit(done.stdout))
                fitting.remove(files[-1])
            units.append((fitting, flags))
        return units

    def check(self, files, flags):
        """What clang-tidy finds in the files, as text."""
        unit, done = self.run(files, flags)
        if done.returncode == 0:
            return ""
        said = "".join(line for line in unit.in_terms_of_files(done.stdout).splitlines(True)
                       if not COUNTS.match(line))
        return said or f"tidy: {self.tool} ended with {done.returncode} on {', '.join(files)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="clang-tidy")
    parser.add_argument("--database", required=True, help="compile_commands.json")
    parser.add_argument("--folder", required=True, help="where the units are written")
    parser.add_argument("--max-nodes", type=int, default=DEEPEST, help="of a function")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    root = os.getcwd()
    folder = os.path.abspath(args.folder)
    os.makedirs(folder, exist_ok=True)
    with open(args.database, encoding="utf-8") as file:
        database = json.load(file)
    tidy = Tidy(args.tool, root, folder, args.max_nodes)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        units = itertools.chain(*pool.map(lambda group: tidy.units(*group),
                                          groups_of(args.files, database)))
        largest_first = sorted(units, key=lambda unit: len(unit[0]), reverse=True)
        found = "".join(pool.map(lambda unit: tidy.check(*unit), largest_first))
    sys.stdout.write(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
