#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The measurements that the project keeps (bench/evidence): what INDEX.csv lists, and where each one lies.

evidence.py show ID                       prints the measurement as the CSV that a program wrote
evidence.py unpack FOLDER [--role ROLE] [ID...]    writes such files, ID.csv
evidence.py add-sweeps TABLE FILE...      adds sweeps to a table of a card, or makes it
evidence.py add-history [--to PAGES] FILE...    adds files, ID.csv, as sections of history.csv.xz, or of PAGES
evidence.py fit BWGEMM_FIT [OPTION...]    runs bwgemm_fit on the sweeps with role fit, those with role held
                                          held out; of a sweep with role split every third problem is
                                          held out, those whose number is 2, 5, 8, ...

A measurement is a section of pages.csv.xz or history.csv.xz, or a sweep in a table of a card, sweeps-CARD.csv.xz:

    variant,KERNEL,TILE_M,TILE_N,TILE_K,SPLITS,SUMS,OPERANDS     the first has number 0, the next 1
    sweep,ID,DEVICE                                              what follows is of this sweep
    problem,NAME,M,N,K,...                                       one of its problems
    variants,NUMBER,STEP,...                                     what was timed, for each problem in order
    us,TIME,...                                                  and its times, four digits, likewise

A section begins with a line `== ID`. In pages.csv.xz it is the whole file that a program wrote: pages and tests
compute figures from it. In history.csv.xz it has of a result file what its entry in the log rests on: names,
kernels, times and ratios. Where bench/results/ID.csv was in the tree,
`git show COMMIT:bench/results/ID.csv` has the whole.
"""
import argparse
import collections
import csv
import io
import itertools
import lzma
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "evidence")
HISTORY = "history.csv.xz"
SWEEPS = "sweeps-"  # how the name of a table of a card begins
PROBLEM = ("name,m,n,k,transa,transb,dtype,out,alpha,beta,scalars,batch,lda,ldb,ldc,stridea,strideb,stridec,"
           "aligna,alignb,alignc,epilogue,gate").split(",")
VARIANT = "kernel,tile_m,tile_n,tile_k,splits,sums,operands".split(",")
# What older files have not: there was only this.
DEFAULTS = {"epilogue": "none", "gate": "none", "sums": "memory", "operands": "in_place"}
# Columns that sweeps have and a table does not keep.
NOT_KEPT = {"predicted_us": "0", "sm_mhz": "0", "watts": "0", "launches": "1"}


def index():
    """Rows of INDEX.csv by id."""
    with open(os.path.join(FOLDER, "INDEX.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {row["id"]: row for row in rows}
    if len(found) != len(rows):
        raise SystemExit("evidence: INDEX.csv has an id twice")
    return found


def read_table(path):
    """{id: (device, [(problem, [(variant, us)])])} of a table of a card."""
    variants, sweeps, problems = [], {}, None
    all_timed, all_numbers, all_us = [], [], []
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        for kind, *cells in csv.reader(file):
            if kind == "variant":
                variants.append(tuple(cells))
            elif kind == "sweep":
                problems = []
                sweeps[cells[0]] = (cells[1], problems)
            elif kind == "problem":
                all_timed.append([])
                problems.append((tuple(cells), all_timed[-1]))
            elif kind == "variants":
                all_numbers.append(itertools.accumulate(map(int, cells)))
            elif kind == "us":
                all_us.append(cells)
            else:
                raise SystemExit(f"evidence: {path}: no such line: {kind}")
    for timed, numbers, us in zip(all_timed, all_numbers, all_us):
        timed.extend(zip((variants[number] for number in numbers), us))
    return sweeps


def write_compressed(path, text):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
    with lzma.open(path, "wt", filters=filters, encoding="utf-8", newline="") as file:
        file.write(text)


def write_table(path, sweeps):
    known = sorted({variant for _, problems in sweeps.values() for _, timed in problems
                    for variant, _ in timed})
    number = {variant: i for i, variant in enumerate(known)}
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerows(("variant", *variant) for variant in known)
    all_timed = []
    for name, (device, problems) in sorted(sweeps.items()):
        lines.writerow(("sweep", name, device))
        for problem, timed in problems:
            lines.writerow(("problem", *problem))
            all_timed.append(sorted(timed, key=lambda one: number[one[0]]))
    for timed in all_timed:
        numbers = [number[variant] for variant, _ in timed]
        lines.writerow(("variants", *(one - before for one, before in zip(numbers, [0, *numbers]))))
    for timed in all_timed:
        lines.writerow(("us", *(f"{float(us):.4g}" for _, us in timed)))
    write_compressed(path, text.getvalue())


def cells_of(row, columns):
    return tuple(row[column] if column in row else DEFAULTS[column] for column in columns)


def device_of(rows):
    devices = {row.get("device") or ("b200" if "_sm100_" in row["kernel"] else "h200") for row in rows}
    if len(devices) != 1:
        raise SystemExit("evidence: a sweep of several devices")
    return devices.pop()


def read_sweep(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    problems = collections.OrderedDict()
    for row in rows:
        problems.setdefault(cells_of(row, PROBLEM), []).append((cells_of(row, VARIANT), row["us"]))
    return device_of(rows), list(problems.items())


def sweep_text(device, problems):
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow((*PROBLEM, *VARIANT, "device", "us", *NOT_KEPT))
    for problem, timed in problems:
        for variant, us in timed:
            lines.writerow((*problem, *variant, device, us, *NOT_KEPT.values()))
    return text.getvalue()


def read_sections(path):
    """{id: text}."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        sections = ("\n" + file.read().rstrip("\n")).split("\n== ")
    return {name: text + "\n" for name, text in (section.split("\n", 1) for section in sections[1:])}


def write_sections(path, sections):
    write_compressed(path, "".join(f"== {name}\n{text}" for name, text in sorted(sections.items())))


class Store:
    """What lies in bench/evidence; a compressed file is read once."""

    def __init__(self):
        self.read = {}

    def compressed(self, path):
        if path not in self.read:
            is_table = os.path.basename(path).startswith(SWEEPS)
            self.read[path] = read_table(path) if is_table else read_sections(path)
        return self.read[path]

    def text(self, row):
        """The measurement as a CSV. Of role dropped there is none."""
        if not row["file"]:
            raise SystemExit(f"evidence: {row['id']} is kept in the history only:\n"
                             f"    git show {row['commit']}:bench/results/{row['id']}.csv")
        path = os.path.join(FOLDER, row["file"])
        if not path.endswith(".xz"):
            with open(path, encoding="utf-8") as file:
                return file.read()
        found = self.compressed(path)[row["id"]]
        return found if isinstance(found, str) else sweep_text(*found)


def unpack(folder, rows):
    """Paths of the written files."""
    os.makedirs(folder, exist_ok=True)
    store, paths = Store(), []
    for row in rows:
        paths.append(os.path.join(folder, row["id"] + ".csv"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(store.text(row))
    return paths


def with_role(role):
    return [row for row in index().values() if row["role"] == role]


def is_held(problem):
    """Of a problem of a sweep with role split. Its name ends with its number."""
    return int(problem[0].rsplit(".", 1)[1]) % 3 == 2


def halves(path):
    """Paths of two files beside the sweep's: problems to fit to, and problems held out."""
    device, problems = read_sweep(path)
    paths = [path[:-len(".csv")] + end for end in ("-fitted.csv", "-held.csv")]
    for held, half in enumerate(paths):
        with open(half, "w", encoding="utf-8") as file:
            file.write(sweep_text(device, [one for one in problems if is_held(one[0]) == held]))
    return paths


def fit(program, options):
    with tempfile.TemporaryDirectory() as folder:
        fitted, held = unpack(folder, with_role("fit")), unpack(folder, with_role("held"))
        for path in unpack(folder, with_role("split")):
            for paths, half in zip((fitted, held), halves(path)):
                paths.append(half)
        command = [program, *options]
        for path in held:
            command += ["--held", path]
        return subprocess.run(command + fitted, check=False).returncode


def id_of(file):
    return os.path.splitext(os.path.basename(file))[0]


def add_sweeps(table, files):
    path = os.path.join(FOLDER, table)
    sweeps = read_table(path) if os.path.exists(path) else {}
    sweeps.update((id_of(file), read_sweep(file)) for file in files)
    write_table(path, sweeps)


def add_history(to, files):
    path = os.path.join(FOLDER, to)
    sections = read_sections(path) if os.path.exists(path) else {}
    for name in files:
        with open(name, encoding="utf-8", newline="") as file:
            text = file.read().rstrip("\n") + "\n"
        if text.startswith("== ") or "\n== " in text:
            raise SystemExit(f"evidence: {name} has a line that begins as a section does, with `== `")
        sections[id_of(name)] = text
    write_sections(path, sections)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("show").add_argument("id")
    unpacks = commands.add_parser("unpack")
    unpacks.add_argument("folder")
    unpacks.add_argument("--role", action="append", default=[])
    unpacks.add_argument("id", nargs="*")
    adds = commands.add_parser("add-sweeps")
    adds.add_argument("table")
    adds.add_argument("file", nargs="+")
    histories = commands.add_parser("add-history")
    histories.add_argument("--to", default=HISTORY)
    histories.add_argument("file", nargs="+")
    fits = commands.add_parser("fit")
    fits.add_argument("program")
    fits.add_argument("option", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.command == "show":
        sys.stdout.write(Store().text(index()[args.id]))
    elif args.command == "unpack":
        rows = [row for role in args.role for row in with_role(role)]
        unpack(args.folder, rows + [index()[name] for name in args.id])
    elif args.command == "add-sweeps":
        add_sweeps(args.table, args.file)
    elif args.command == "add-history":
        add_history(args.to, args.file)
    else:
        return fit(args.program, args.option)
    return 0


if __name__ == "__main__":
    sys.exit(main())
