#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails unless every PTX instruction of every shipped kernel was executed on the virtual GPU.

Reads kernels.index (which PTX is shipped), what the virtual driver left in BWGEMM_VGPU_COVERAGE
(<kernel>.<pid>.coverage) and the reviewed list of instructions that cannot be reached; see there
for its form. An entry that excuses nothing fails too. Use --reset first: it empties the folder.
"""

import argparse
import bisect
import collections
import os
import re
import shutil
import sys

LOC = re.compile(r"\s*\.loc\s+(\d+) (\d+) (\d+)(?:.*inlined_at (\d+) (\d+) (\d+))?")
FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
LABEL = re.compile(r"\s*\$\w+:")
BRANCH = re.compile(r"\s*(@!?%p\d+\s+)?(bra|ret|exit)\b")
TARGET = re.compile(r"^\.target .*$", re.MULTILINE)
SHOWN = 12  # instructions per kernel; the rest is counted


class Ptx:
    """One shipped PTX file. `root`: of the sources that its line information names."""

    source_lines = {}  # of files of the repository, by path

    def __init__(self, path, root):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.root = root
        self.lines = self.text.splitlines()
        self.files = {match.group(1): match.group(2) for match in map(FILE.match, self.lines)
                      if match}
        self.location_lines, self.locations = [], []  # .loc: position, where it was inlined
        self.indices = collections.defaultdict(list)  # of locations, by position
        self.frames_of = {}  # by index of location
        for number, line in enumerate(self.lines, 1):
            match = LOC.match(line) if ".loc" in line else None
            if match:
                at, inlined_at = match.groups()[:3], match.groups()[3:]
                self.indices[at].append(len(self.locations))
                self.location_lines.append(number)
                self.locations.append((at, inlined_at if inlined_at[0] else None))
        self.code = TARGET.sub("", self.text)  # equal for the targets of one kernel

    def instruction(self, line):
        return " ".join(self.lines[line - 1].split())

    def location_of(self, line):
        return bisect.bisect_left(self.location_lines, line) - 1

    def is_of_the_compiler(self, line):
        index = self.location_of(line)
        return index >= 0 and self.locations[index][0][1] == "0"

    def frames(self, line):
        """((file, line), ...) of the CUDA source behind a line of PTX: where it stands, then where
        that was inlined, and so on. Line 0 is the compiler's own: it gets those of what it leads
        to, or else of what it follows."""
        index = self.location_of(line)
        if self.is_of_the_compiler(line):
            index = self.next_of_block(line, index)
        if index not in self.frames_of:
            self.frames_of[index] = tuple(self.walk(index))
        return self.frames_of[index]

    def next_of_block(self, line, index):
        """The next location in the source that is reached by nothing else, or this one."""
        for number in range(line, len(self.lines) + 1):
            text = self.lines[number - 1]
            if LABEL.match(text) or BRANCH.match(text):
                return index
            if not self.is_of_the_compiler(number + 1):
                return self.location_of(number + 1)
        return index

    def walk(self, index):
        while index >= 0:
            (file, source_line, _), inlined_at = self.locations[index]
            yield self.files.get(file, "?"), int(source_line)
            if inlined_at is None:
                if source_line != "0":
                    return
                index -= 1
            else:
                same = self.indices[inlined_at]
                before = bisect.bisect_left(same, index) - 1
                index = same[before] if before >= 0 else -1

    def own_frames(self, line):
        """The same without the compiler's own."""
        return tuple(frame for frame in self.frames(line) if frame[1] != 0)

    def text_of(self, file, line):
        if file not in self.source_lines:
            path = os.path.join(self.root, file)
            lines = []
            if os.path.exists(path):
                with open(path, encoding="utf-8") as source:
                    lines = source.read().splitlines()
            self.source_lines[file] = lines
        lines = self.source_lines[file]
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def source(self, line):
        """For the eye."""
        frames = self.frames(line)[:6]
        return " < ".join(f"{os.path.basename(file)}:{at}" for file, at in frames) or "?"

    def source_text(self, line):
        """For the reviewed list: files and what stands there, without line numbers."""
        return " < ".join(f"{file}: {self.text_of(file, at)}" for file, at in self.frames(line))


def shipped(index, root):
    """{kernel: Ptx}. The PTX of a kernel's targets must differ in nothing else."""
    kernels = {}
    with open(index, encoding="utf-8") as file:
        names = [line.split()[1] for line in file if line.strip()]
    for name in names:
        kernel = name.split(".")[0]
        ptx = Ptx(os.path.join(os.path.dirname(index), name), root)
        if kernel in kernels and kernels[kernel].code != ptx.code:
            sys.exit(f"ptx_coverage: the targets of {kernel} have different PTX; "
                     "coverage has to be kept for each")
        kernels[kernel] = ptx
    return kernels


def coverage(folder):
    """{kernel: {line: executed}}, added up over processes."""
    executed = collections.defaultdict(dict)
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".coverage"):
            continue
        lines = executed[name.split(".")[0]]
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for text in file:
                line, was_executed = map(int, text.split())
                lines[line] = lines.get(line, 0) | was_executed
    return executed


class Executed:
    """What was executed of one kernel."""

    def __init__(self, ptx, lines):
        self.ptx = ptx
        self.total = len(lines)
        self.missed = sorted(line for line, executed in lines.items() if not executed)
        self.lines = lines
        self.sources = None

    def elsewhere(self, line):
        """Another copy of what the compiler made this instruction from was executed."""
        if self.sources is None:
            self.sources = {self.ptx.own_frames(at) for at, done in self.lines.items()
                            if done and not self.ptx.is_of_the_compiler(at)}
        return self.ptx.own_frames(line) in self.sources


class Unreachable:
    """The reviewed list."""

    COPY = "copy "

    def __init__(self, path):
        self.entries = []  # (number of line, copies only, patterns of kernel, instruction, source)
        self.used = set()
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                text = text.strip()
                if not text or text.startswith("#"):
                    continue
                fields = [field.strip() for field in text.split(" | ")]
                if len(fields) != 4 or not all(fields):
                    sys.exit(f"{path}:{number}: kernel | instruction | source | reason, please")
                is_copy = fields[1].startswith(self.COPY)
                fields[1] = fields[1].removeprefix(self.COPY)
                self.entries.append((number, is_copy, *map(re.compile, fields[:3])))

    def has(self, kernel, executed, line):
        instruction = executed.ptx.instruction(line)
        source = executed.ptx.source_text(line)
        found = False
        for number, is_copy, kernels, instructions, sources in self.entries:
            if (kernels.search(kernel) and instructions.match(instruction)
                    and sources.search(source)
                    and (not is_copy or executed.elsewhere(line))):
                self.used.add(number)
                found = True
        return found

    def stale(self, kernels):
        """Lines of entries for kernels that exist but that excuse no instruction."""
        return [number for number, _, pattern, _, _ in self.entries
                if number not in self.used and any(map(pattern.search, kernels))]


def check(index, folder, unreachable_path, root):
    kernels, covered = shipped(index, root), coverage(folder)
    unreachable = Unreachable(unreachable_path)
    instructions = excused = missed = 0
    failed = []
    for kernel, ptx in sorted(kernels.items()):
        if kernel not in covered:
            failed.append(f"{kernel}: was never launched")
            continue
        executed = Executed(ptx, covered[kernel])
        left = [line for line in executed.missed if not unreachable.has(kernel, executed, line)]
        instructions += executed.total
        excused += len(executed.missed) - len(left)
        if left:
            missed += len(left)
            failed.append(f"{kernel}: {len(left)} of {executed.total} instructions")
            failed += [f"  PTX line {line}  {ptx.source(line)}  {ptx.instruction(line)}"
                       for line in left[:SHOWN]]
            if len(left) > SHOWN:
                failed.append(f"  and {len(left) - SHOWN} more")
    for number in unreachable.stale(kernels):
        failed.append(f"{unreachable_path}:{number}: excuses nothing")
    if not kernels:
        failed.append(f"{index} lists no kernel")
    print(f"{len(kernels)} kernels, {instructions} instructions, {missed} never executed, "
          f"{excused} known to be unreachable")
    if failed:
        print("Not executed by the problems of tests/gpu on the virtual GPU:")
        print("\n".join(failed))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="what BWGEMM_VGPU_COVERAGE names")
    parser.add_argument("--reset", action="store_true", help="empty the folder, check nothing")
    parser.add_argument("--index", help="kernels.index, with the PTX beside it")
    parser.add_argument("--unreachable", help="the reviewed list")
    parser.add_argument("--root", help="folder of src")
    args = parser.parse_args()
    if args.reset:
        shutil.rmtree(args.folder, ignore_errors=True)
        os.makedirs(args.folder)
        return 0
    return check(args.index, args.folder, args.unreachable, args.root)


if __name__ == "__main__":
    sys.exit(main())
