#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs bwgemm_mutate over kernels and fails where a mutant survives that is not in survivors.txt.

One kernel stands for each class of code; --sample N takes N mutants of each, at random but always
the same. Survivors are named by where their instruction comes from in the CUDA source, not by line
numbers. Instructions that ../unreachable.txt excuses are not mutated. An entry of the list that
excuses nothing fails a run that could have met it. --report writes the tables (Markdown and CSV).
"""

import argparse
import collections
import concurrent.futures
import csv
import datetime
import lzma
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tests", "build"))
import ptx_coverage  # noqa: E402

FIELDS = "operation change line instruction result killer problem schedule runs ms finding".split()
LEAST_KILLED = 0.92  # of all mutants, whatever is in the list
SHOWN = 40


class Mutant:
    def __init__(self, kernel, text):
        values = text.rstrip("\n").split("\t")
        if len(values) != len(FIELDS):
            raise ValueError(f"{kernel}: not a mutant: {text!r}")
        self.kernel = kernel
        for name, value in zip(FIELDS, values):
            setattr(self, name, value)
        self.line, self.runs, self.ms = int(self.line), int(self.runs), float(self.ms)
        self.reason = None

    def is_mutant(self):
        return self.result != "no program"

    def mutation(self):
        return f"{self.operation}: {self.change}" if self.change else self.operation


class Survivors:
    """The reviewed list: kernel | mutation | instruction | source | reason."""

    COUNT = re.compile(r"(\d+)x ")  # before the mutation

    def __init__(self, path):
        self.path = path
        self.entries = []  # (line number, most, kernel, mutation, instruction, source, reason)
        self.used = collections.Counter()  # by line number and kernel
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                text = text.strip()
                if not text or text.startswith("#"):
                    continue
                fields = [field.strip() for field in text.split(" | ")]
                if len(fields) != 5 or not all(fields):
                    sys.exit(f"{path}:{number}: kernel | mutation | instruction | source | reason, "
                             "please")
                count = self.COUNT.match(fields[1])
                most = int(count.group(1)) if count else sys.maxsize
                fields[1] = fields[1][count.end() if count else 0:]
                self.entries.append((number, most, *map(re.compile, fields[:4]), fields[4]))

    def reason(self, mutant, source):
        for number, most, kernel, mutation, instruction, place, reason in self.entries:
            if (kernel.search(mutant.kernel) and mutation.fullmatch(mutant.mutation())
                    and instruction.match(mutant.instruction) and place.search(source)
                    and self.used[number, mutant.kernel] < most):
                self.used[number, mutant.kernel] += 1
                return reason
        return None

    def stale(self, kernels):
        used = {number for number, _ in self.used}
        return [number for number, _, kernel, *_ in self.entries
                if number not in used and any(map(kernel.search, kernels))]


def run_shard(program, kernel, arguments, shard, keep):
    command = [program, "--kernel", kernel, *arguments, "--shard", shard]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    if keep:
        name = f"{kernel}.{shard.replace('/', '-')}.tsv"
        with open(os.path.join(keep, name), "w", encoding="utf-8") as file:
            file.write(done.stdout)
    return read_results(kernel, done.stdout.splitlines())


class Results:
    """What bwgemm_mutate has printed for one kernel, or for a part of its mutants."""

    def __init__(self):
        self.lines = {}  # of PTX that hold an instruction: whether the kernel executes it
        self.mutants = []

    def add(self, other):
        self.lines.update(other.lines)
        self.mutants += other.mutants


def read_results(kernel, lines):
    results = Results()
    for line in lines:
        words = line.split("\t")
        if words[0] in ("executed", "missed"):
            results.lines.update((int(number), words[0] == "executed") for number in words[1:])
        else:
            results.mutants.append(Mutant(kernel, line))
    return results


def classes(program):
    done = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def ptx_of(kernel, folder):
    names = [name for name in sorted(os.listdir(folder))
             if name.startswith(kernel + ".") and name.endswith(".ptx")]
    return os.path.join(folder, names[0]) if names else None


def review(kernel, results, folder, survivors, unreachable):
    """Gives survivors their reasons; returns the mutants without those of unreachable code."""
    ptx = ptx_coverage.Ptx(ptx_of(kernel, folder), ROOT)
    executed = ptx_coverage.Executed(ptx, results.lines)
    kept = []
    for mutant in results.mutants:
        if not mutant.is_mutant():
            continue
        if mutant.result != "killed":
            source = ptx.source_text(mutant.line)
            mutant.source = ptx.source(mutant.line)
            if mutant.result == "unreached" and unreachable.has(kernel, executed, mutant.line):
                continue
            mutant.reason = survivors.reason(mutant, source)
        kept.append(mutant)
    return kept


class Count:
    def __init__(self, mutants=()):
        self.all = len(mutants)
        self.killed = sum(mutant.result == "killed" for mutant in mutants)
        self.listed = sum(mutant.reason is not None for mutant in mutants)
        self.open = self.all - self.killed - self.listed

    @classmethod
    def read(cls, row):
        count = cls()
        count.all, count.killed, count.listed, count.open = map(int, row)
        return count

    def add(self, other):
        self.all += other.all
        self.killed += other.killed
        self.listed += other.listed
        self.open += other.open

    def raw(self):
        return self.killed / self.all if self.all else 1.0

    def row(self):
        return [self.all, self.killed, self.listed, self.open]


class Table:
    """REPORT.csv.xz: counts by kernel and operation, and when each kernel was run last."""

    HEADER = ["kernel", "operation", "mutants", "killed", "listed", "open", "date"]

    def __init__(self, path, kernels):
        self.path = path
        self.rows = {}  # (kernel, operation): (count, date)
        if not os.path.exists(path):
            return
        with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["kernel"] in kernels:  # others are no representatives any more
                    count = Count.read(row[name] for name in self.HEADER[2:6])
                    self.rows[row["kernel"], row["operation"]] = count, row["date"]

    def renew(self, mutants, date):
        kernels = {mutant.kernel for mutant in mutants}
        self.rows = {key: of for key, of in self.rows.items() if key[0] not in kernels}
        for key, of in grouped(mutants, lambda mutant: (mutant.kernel, mutant.operation)):
            self.rows[key] = Count(of), date

    def write(self):
        with lzma.open(self.path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.HEADER)
            for key, (count, date) in sorted(self.rows.items()):
                writer.writerow([*key, *count.row(), date])

    def sums(self, column):
        """By kernel (0) or operation (1), with the dates."""
        sums = {}
        for key, (count, date) in sorted(self.rows.items()):
            total, dates = sums.setdefault(key[column], (Count(), set()))
            total.add(count)
            dates.add(date)
        return sorted(sums.items())

    def total(self):
        total = Count()
        for count, _ in self.rows.values():
            total.add(count)
        return total


def grouped(mutants, key):
    groups = collections.defaultdict(list)
    for mutant in mutants:
        groups[key(mutant)].append(mutant)
    return sorted(groups.items())


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def counted(count):
    return (f"{count.all} mutants, {count.killed} killed ({100 * count.raw():.1f} %), {count.listed}"
            f" survivors with a reason in [survivors.txt](survivors.txt), {count.open} without")


def report(path, mutants, command, seconds, all_kernels, note):
    """Counts of kernels that this run has not had stay as they were in the CSV."""
    counts = Table(os.path.splitext(path)[0] + ".csv.xz", all_kernels)
    counts.renew(mutants, str(datetime.date.today()))
    counts.write()
    kernels = counts.sums(0)
    lines = ["# Mutants", "", f"{len(kernels)} of {len(all_kernels)} classes: "
             f"{counted(counts.total())}.", "",
             f"The last run: {datetime.date.today()}, `{command}`, {seconds / 60:.0f} minutes,"
             f" {len({mutant.kernel for mutant in mutants})} classes: {counted(Count(mutants))}.", ""]
    if note:
        lines += [note, ""]
    not_run = sorted(set(all_kernels) - {kernel for kernel, _ in kernels})
    if not_run:
        lines += ["Not run: " + ", ".join(f"`{kernel}`" for kernel in not_run) + ".", ""]
    lines += ["How it works is in the [README](../README.md). Each kernel stands for its class of"
              " code.", "", "## Kernels", ""]
    lines += table(["kernel", "mutants", "killed", "listed", "open", "killed, %", "run"],
                   [[f"`{kernel}`", *count.row(), f"{100 * count.raw():.1f}", max(dates)]
                    for kernel, (count, dates) in kernels])
    lines += ["", "## Operations", ""]
    lines += table(["operation", "mutants", "killed", "listed", "open", "killed, %"],
                   [[operation, *count.row(), f"{100 * count.raw():.1f}"]
                    for operation, (count, _) in counts.sums(1)])
    killed = [mutant for mutant in mutants if mutant.result == "killed"]
    lines += ["", "## What killed, in the last run", ""]
    lines += table(["verdict", "mutants", "of these only under an adversarial schedule"],
                   [[killer, len(of), sum(m.schedule.startswith("adversarial") for m in of)]
                    for killer, of in grouped(killed, lambda mutant: mutant.killer)])
    left = [mutant for mutant in mutants if mutant.result != "killed" and not mutant.reason]
    if left:
        lines += ["", "## Open", ""]
        lines += table(["kernel", "mutation", "result", "source"],
                       [[f"`{m.kernel}`", m.mutation(), m.result, m.source] for m in left])
    lines += ["", "## Survivors of the last run", ""]
    lines += table(["reason", "mutants"],
                   [[reason, len(of)] for reason, of in grouped(
                       [m for m in mutants if m.reason], lambda mutant: mutant.reason)])
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def check(mutants, survivors, kernels, is_complete, least):
    failed = []
    left = [mutant for mutant in mutants if mutant.result != "killed" and mutant.reason is None]
    for mutant in left[:SHOWN]:
        failed.append(f"survived: {mutant.kernel} | {mutant.mutation()} | PTX line {mutant.line}"
                      f" {mutant.instruction} | {mutant.source} ({mutant.result})")
    if len(left) > SHOWN:
        failed.append(f"and {len(left) - SHOWN} more")
    if is_complete:
        failed += [f"{survivors.path}:{number}: excuses nothing"
                   for number in survivors.stale(kernels)]
    if not mutants:
        failed.append("no mutant was made")
    total = Count(mutants)
    if total.raw() < least:
        failed.append(f"only {100 * total.raw():.1f} % killed; at least {100 * least:.0f} %, please")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="bwgemm_mutate")
    parser.add_argument("--ptx", required=True, help="folder of the kernels' PTX")
    parser.add_argument("--kernels", default="", help="regular expression")
    parser.add_argument("--operation", default="", help="only these mutants")
    parser.add_argument("--sample", type=int, default=0, help="mutants of each kernel; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--schedules", type=int, default=3, help="adversarial ones")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--survivors", default=os.path.join(HERE, "survivors.txt"))
    parser.add_argument("--report", help="REPORT.md; the CSV lies beside it")
    parser.add_argument("--note", default="", help="a sentence for the report")
    parser.add_argument("--keep", help="folder for what bwgemm_mutate prints")
    parser.add_argument("--from", dest="kept", help="judge what --keep has left, run nothing")
    args = parser.parse_args()
    survivors = Survivors(args.survivors)
    unreachable = ptx_coverage.Unreachable(os.path.join(os.path.dirname(HERE), "unreachable.txt"))
    start = time.monotonic()
    found = collections.defaultdict(Results)
    wanted = re.compile(args.kernels)
    if args.kept:
        for name in sorted(os.listdir(args.kept)):
            kernel = name.split(".")[0]
            if name.endswith(".tsv") and wanted.search(kernel):
                with open(os.path.join(args.kept, name), encoding="utf-8") as file:
                    found[kernel].add(read_results(kernel, file.read().splitlines()))
        all_kernels = classes(args.program) if args.program else list(found)
    else:
        all_kernels = classes(args.program)
        chosen = [kernel for kernel in all_kernels if wanted.search(kernel)]
        missing = [kernel for kernel in chosen if ptx_of(kernel, args.ptx) is None]
        if missing:
            print(f"mutate: skipped, no PTX of {missing[0]} in {args.ptx}")
            return 77
        os.environ["BWGEMM_VGPU_PTX"] = args.ptx
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
        arguments = ["--operation", args.operation, "--sample", str(args.sample),
                     "--seed", str(args.seed), "--schedules", str(args.schedules)]
        shards = 4 if args.jobs > 1 and not args.sample else 1
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            running = [(kernel, pool.submit(run_shard, args.program, kernel, arguments,
                                            f"{shard}/{shards}", args.keep))
                       for kernel in chosen for shard in range(shards)]
            for kernel, result in running:
                found[kernel].add(result.result())
    mutants = [mutant for kernel, of in sorted(found.items())
               for mutant in review(kernel, of, args.ptx, survivors, unreachable)]
    seconds = (sum(mutant.ms for mutant in mutants) / 1000 if args.kept
               else time.monotonic() - start)
    total = Count(mutants)
    print(f"{len(found)} kernels, {total.all} mutants: {total.killed} killed"
          f" ({100 * total.raw():.1f} %), {total.listed} in the list, {total.open} open;"
          f" {seconds:.0f} s")
    if args.report:
        shown = [f"--{name} {value}" for name, value in
                 (("kernels", args.kernels), ("operation", args.operation),
                  ("sample", args.sample), ("seed", args.seed if args.sample else 0),
                  ("schedules", args.schedules)) if value not in ("", 0)]
        report(args.report, mutants, " ".join(["mutate.py", *shown]), seconds, all_kernels,
               args.note)
    # A part is too small for a ratio and for finding what excuses nothing.
    is_part = bool(args.sample or args.operation)
    is_all = not is_part and not args.kernels
    failed = check(mutants, survivors, list(found), is_all, 0 if is_part else LEAST_KILLED)
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
