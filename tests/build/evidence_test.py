# SPDX-License-Identifier: Apache-2.0
"""bench/evidence and bench/log: what is cited exists, what exists is cited, the figures of the front page and of
the page on performance follow from their files, charts are drawn from them, entries of the log are whole, and
the tree stays small. Environment: see environment.py."""

import csv
import glob
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

import environment

sys.path.insert(0, os.path.join(environment.SOURCE, "bench"))
import evidence  # noqa: E402

ROOT = environment.SOURCE
README = os.path.join(ROOT, "README.md")
PERFORMANCE = os.path.join(ROOT, "packaging", "docs", "performance.md")
LOG = os.path.join(ROOT, "bench", "log")
DAYS = sorted(glob.glob(os.path.join(LOG, "20*.md")))
LABELS = ("**Question.**", "**Prediction.**", "**Result.**", "**Kept?**", "Evidence: ")
WIDTH = 120
# Bytes. The whole tree must stay quick to clone.
EVIDENCE_BUDGET, SOURCES_BUDGET, TREE_BUDGET = 712_000, 6_276_000, 6_988_000
FITTED = "2026-11-26-h200-fitted-"
LISTS = ("baseline", "realworld", "unaligned")


def pages():
    """Every Markdown file that may cite a measurement."""
    found = glob.glob(os.path.join(ROOT, "*.md"))
    for folder in ("bench", "packaging", "tests", "src"):
        found += glob.glob(os.path.join(ROOT, folder, "**", "*.md"), recursive=True)
    return sorted(found)


def expanded(text):
    """`a-{b,c}` is a-b and a-c; a part may be empty."""
    found = re.search(r"\{([^{}]*)\}", text)
    if not found:
        return [text]
    return [one for part in found[1].split(",")
            for one in expanded(text[:found.start()] + part + text[found.end():])]


def ids_in(text):
    """Ids that the text cites, in backquotes or as files of bench/evidence."""
    cited = re.findall(r"`(20\d\d-\d\d-\d\d-[\w{},-]+)`", text)
    cited += re.findall(r"evidence/([\w-]+)\.(?:csv|svg|txt)", text)
    return {one for name in cited for one in expanded(name)} - {"INDEX"}


def cited():
    """{id: the page that cites it first}."""
    found = {}
    for path in pages():
        for name in ids_in(environment.read(path)):
            found.setdefault(name, os.path.relpath(path, ROOT))
    return found


def compared(*names):
    """Rows of result files in which both libraries were timed."""
    rows = []
    for name in names:
        text = evidence.Store().text(evidence.index()[name])
        rows += [row for row in csv.DictReader(io.StringIO(text))
                 if float(row["bwgemm_us"]) > 0 and float(row["ratio_first"]) > 0]
    return rows


def mean(rows, column):
    return math.exp(sum(math.log(float(row[column])) for row in rows) / len(rows))


def table_rows(text):
    """Cells of the rows of tables, without heads and rules."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in text.splitlines() if line.startswith("|")]
    return [row for row in cells if any(re.search(r"\d\.\d\d", cell) for cell in row[1:])]


def number(cell):
    return float(re.match(r"[\d.]+", cell)[0])


class Index(unittest.TestCase):
    def test_what_is_cited_is_in_the_index(self):
        known = evidence.index()
        self.assertEqual({name: page for name, page in cited().items() if name not in known}, {})

    def test_what_is_in_the_index_is_cited(self):
        found = cited()
        uncited = [name for name, row in evidence.index().items()
                   if name not in found and row["role"] not in ("fit", "held")]
        self.assertEqual(uncited, [])

    def test_files_and_the_index_agree(self):
        named = {row["file"] for row in evidence.index().values()} - {""}
        self.assertEqual(named | {"INDEX.csv"}, set(os.listdir(evidence.FOLDER)))

    def test_every_measurement_can_be_read(self):
        store = evidence.Store()
        for name, row in evidence.index().items():
            self.assertRegex(row["date"], r"^20\d\d-\d\d-\d\d$", name)
            self.assertRegex(row["commit"], r"^[0-9a-f]{7,}$", name)
            self.assertTrue(row["card"] and row["command"], name)
            self.assertEqual(row["role"] == "dropped", not row["file"], name)
            if row["file"]:
                self.assertGreater(len(store.text(row).splitlines()), 1, name)

    def test_tables_hold_no_sweep_that_is_not_in_the_index(self):
        known = evidence.index()
        for path in glob.glob(os.path.join(evidence.FOLDER, "sweeps-*.xz")):
            for name in evidence.read_table(path):
                self.assertIn(name, known)
                self.assertEqual(known[name]["file"], os.path.basename(path))

    def test_a_sweep_survives_a_table(self):
        problem = tuple("p,4,5,6,T,N,bf16,f32,1,0,host,1,4,5,6,7,8,9,0,0,0,none,none".split(","))
        variants = [(f"bwgemm_sm90_{name}", "64", "32", "64", "2", "memory", "in_place") for name in "ba"]
        sweep = {"x": ("h100", [(problem, [(variants[0], "3.25"), (variants[1], "1260.184")])])}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.csv.xz")
            evidence.write_table(path, sweep)
            read = evidence.read_table(path)
            file = os.path.join(folder, "x.csv")
            with open(file, "w", encoding="utf-8") as out:
                out.write(evidence.sweep_text(*read["x"]))
            self.assertEqual(evidence.read_sweep(file), read["x"])
        self.assertEqual(dict(read["x"][1][0][1]), {variants[1]: "1260", variants[0]: "3.25"})

    def test_files_become_sections(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = os.path.join(folder, "some.csv.xz")
            for name, text in (("b", "x,y\n1,2\n"), ("a", "one line"), ("b", "x\n3\n"), ("bad", "x\n== y\n")):
                file = os.path.join(folder, name + ".csv")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
                done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "evidence.py"), "add-history",
                                       "--to", archive, file], stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1 if name == "bad" else 0, done.stderr)
            self.assertIn("bad.csv has a line that begins as a section does", done.stderr)
            self.assertEqual(evidence.read_sections(archive), {"a": "one line\n", "b": "x\n3\n"})

    def test_a_third_of_a_split_sweep_is_held_out(self):
        for row in evidence.with_role("split"):
            with tempfile.TemporaryDirectory() as folder:
                path, = evidence.unpack(folder, [row])
                whole, fitted, held = (evidence.read_sweep(one)[1] for one in (path, *evidence.halves(path)))
            self.assertEqual(sorted(fitted + held), sorted(whole))
            thirds = [{int(problem[0].rsplit(".", 1)[1]) % 3 for problem, _ in part} for part in (fitted, held)]
            self.assertEqual(thirds, [{0, 1}, {2}])


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def assert_near(self, cell, value, of):
        self.assertLessEqual(abs(number(cell) - value), 0.00501, f"{of}: {cell}, its file says {value:.4f}")

    def test_the_front_page_follows_from_its_files(self):
        rows = table_rows(environment.read(README).split("## Example")[0])
        self.assertGreaterEqual(len(rows), 5)
        for title, first, best, worst, card, names in rows:
            ids = sorted(ids_in(names))
            problems = [row for row in compared(*ids) if row["epilogue"] == "none"]
            self.assertEqual(int(re.search(r"\d+", title)[0]), len(problems), title)
            self.assert_near(first, mean(problems, "ratio_first"), title)
            self.assert_near(best, mean(problems, "ratio_best"), title)
            self.assert_near(worst, min(float(row["ratio_first"]) for row in problems), title)
            self.assertEqual({evidence.index()[name]["card"] for name in ids}, {card}, title)

    def test_measured_figures_of_the_front_page_name_their_ids(self):
        for line in environment.read(README).split("## Example")[0].splitlines():
            if re.search(r"\d\.\d\d|\d %", line):
                self.assertTrue(ids_in(line), line)

    def summary(self, *names):
        """{class: row} as bwgemm_bench sees result files; and the file."""
        paths = evidence.unpack(self.folder, [evidence.index()[name] for name in names])
        path = os.path.join(self.folder, "summary.csv")
        subprocess.run([os.path.join(environment.BUILD, "bin", "bwgemm_bench"), "--summary",
                        ",".join(paths), "--csv", path], stdout=subprocess.DEVNULL, check=True)
        with open(path, newline="", encoding="utf-8") as file:
            return {row["class"]: row for row in csv.DictReader(file)}, path

    def check_classes(self, section, names, least):
        page = environment.read(PERFORMANCE).split(f"## {section}\n")[1].split("\n## ")[0]
        self.assertEqual(ids_in(page) & set(names), set(names))
        classes, _ = self.summary(*names)
        without = self.summary(*(name for name in names if not name.endswith("unaligned")))[0]
        rows = table_rows(page)
        self.assertGreaterEqual(len(rows), least)
        for title, problems, first, best, worst in rows:
            name = {"the rest": "rest", "gates": "fused gate: SwiGLU, GeGLU"}.get(title, title)
            row = without["all"] if title.startswith("all but") else classes[name]
            self.assertEqual(problems, row["problems"], title)
            self.assert_near(first, float(row["mean_first"]), title)
            self.assert_near(best, float(row["mean_best"]), title)
            self.assert_near(worst, float(row["worst_first"]), title)

    def test_classes_of_an_h200(self):
        self.check_classes("By class of problem, H200", [FITTED + name for name in LISTS], 10)

    def test_classes_of_an_h100(self):
        self.check_classes("H100", [f"2026-11-26-h100-fitted-{name}" for name in LISTS], 12)

    def test_sentences_of_the_page(self):
        page = re.sub(r"\s+", " ", environment.read(PERFORMANCE))
        said = r"([\d.]+)"
        for name, sentence, columns in (
                ("2026-11-24-copies-odd-outputs", rf"by {said} in the mean of 59 .*? The worst is {said} \(`",
                 ("mean first", "worst first")),
                ("2026-11-25-first-loads-straddling",
                 rf"In 40 random products cuBLASLt is ahead: {said} of its first and {said} of its best. "
                 rf"The worst is {said} of its first and {said} of its best \(",
                 ("mean first", "mean best", "worst first", "worst best")),
                (FITTED + "models", rf"In 146 layers .*? The worst is {said} of the first and {said} of the best",
                 ("worst first", "worst best"))):
            figures = re.search(sentence, page)
            self.assertTrue(figures, sentence)
            rows = [row for row in compared(name) if row["epilogue"] == "none"]
            for cell, column in zip(figures.groups(), columns, strict=True):
                what, of = column.split()
                value = mean(rows, f"ratio_{of}") if what == "mean" else min(
                    float(row[f"ratio_{of}"]) for row in rows)
                self.assert_near(cell, value, f"{name}, {column}")
            self.assertIn(name, page)
        rows = [row for row in compared(FITTED + "models") if row["epilogue"] == "none"]
        ahead = re.search(rf"ahead by {said} % of the first and {said} % of the best", page)
        for cell, of in zip(ahead.groups(), ("first", "best"), strict=True):
            self.assertLessEqual(abs(float(cell) - 100 * (mean(rows, f"ratio_{of}") - 1)), 0.0501)

    def test_fused_epilogues(self):
        page = environment.read(PERFORMANCE).split("## Fused epilogues\n")[1].split("\n## ")[0]
        classes, _ = self.summary("2026-11-23-realworld", "2026-11-23-epilogues")
        names = {"derivatives": "fused derivative", "gates": "fused gate: SwiGLU, GeGLU", "residual": "fused residual",
                 "bias": "fused bias, relu, gelu", "silu": "fused silu, gelu by erf"}
        rows = table_rows(page)
        self.assertEqual(len(rows), len(names))
        for title, first in rows:
            self.assert_near(first, float(classes[names[re.match(r"\w+", title)[0]]]["mean_first"]), title)

    def test_prices_of_epilogues(self):
        """In per cent, at 4096^3; gates are the mean of three."""
        rows = csv.DictReader(io.StringIO(evidence.Store().text(evidence.index()["2026-11-22-at-once-price"])))
        price = {row["name"].replace("sq4096.", ""): 100 * (float(row["price"]) - 1) for row in rows}
        price["gates"] = sum(price[name] for name in ("swiglu", "swiglu_stacked", "geglu")) / 3
        lines = environment.read(PERFORMANCE).splitlines()
        head = lines.index("| bias | relu | gates | silu | gelu by tanh | gelu by erf | bias and gelu |")
        cells = [cell.strip() for cell in lines[head + 2].strip("|").split("|")]
        names = ("bias", "relu", "gates", "silu", "gelu_tanh", "gelu_erf", "bias_gelu_tanh")
        for name, cell in zip(names, cells, strict=True):
            self.assertLessEqual(abs(float(cell) - price[name]), 0.0501, f"{name}: {price[name]:.3f}")

    def test_the_price_of_batch_invariance(self):
        rows = list(csv.DictReader(io.StringIO(
            evidence.Store().text(evidence.index()["2026-11-21-batch-invariant"]))))
        said = re.search(r"BATCH_INVARIANT` takes ([\d.]+) times", environment.read(PERFORMANCE))
        self.assert_near(said[1], mean(rows, "price"), "batch invariance")

    def test_charts_are_drawn_from_the_files(self):
        names = [FITTED + name for name in LISTS]
        _, summary = self.summary(*names)
        *results, ceilings = evidence.unpack(
            self.folder, [evidence.index()[name] for name in (*names, "2026-11-21-ceiling")])
        for chart, options in (("ratios", ("--summary", summary)), ("roofline", ("--ceilings", ceilings))):
            path = os.path.join(self.folder, chart + ".svg")
            subprocess.run([sys.executable, os.path.join(ROOT, "packaging", "chart.py"), chart, "--results",
                            ",".join(results), *options, "--output", path], check=True)
            self.assertEqual(environment.read(path),
                             environment.read(os.path.join(evidence.FOLDER, chart + ".svg")), chart)


class Fit(unittest.TestCase):
    def test_a_fit_reads_what_the_index_names(self):
        """echo in the place of bwgemm_fit: the options, what is held out, and what is fitted to."""
        done = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "evidence.py"), "fit", "echo",
                               "--rounds", "3"], stdout=subprocess.PIPE, text=True, check=True)
        words = done.stdout.split()
        held = [words[i + 1] for i, word in enumerate(words) if word == "--held"]
        fitted = words[2 + 2 * len(held):]
        self.assertEqual(words[:2], ["--rounds", "3"])
        for role, paths, half in (("held", held, "-held"), ("fit", fitted, "-fitted")):
            self.assertEqual([os.path.splitext(os.path.basename(path))[0] for path in paths],
                             [row["id"] for row in evidence.with_role(role)] +
                             [row["id"] + half for row in evidence.with_role("split")])


class Log(unittest.TestCase):
    def entries(self, path):
        """[(title, text)] of a day."""
        parts = re.split(r"(?m)^## (.*)$", environment.read(path))
        return list(zip(parts[1::2], parts[2::2]))

    def test_the_index_has_a_line_for_each_entry(self):
        index = environment.read(os.path.join(LOG, "README.md"))
        self.assertGreaterEqual(len(DAYS), 6)
        days = re.split(r"(?m)^## \[(.*)\]\(.*\)$", index)[1:]
        self.assertEqual([day + ".md" for day in days[::2]], [os.path.basename(path) for path in DAYS])
        for path, lines in zip(DAYS, days[1::2]):
            titles = [title for title, _ in self.entries(path)]
            lines = [line for line in lines.splitlines() if line]
            self.assertEqual(len(lines), len(titles), path)
            for title, line in zip(titles, lines):
                self.assertRegex(line, rf"^\* {re.escape(title)}: \S")

    def test_nothing_else_lies_there(self):
        self.assertEqual({os.path.basename(path) for path in DAYS} | {"README.md"}, set(os.listdir(LOG)))

    def test_entries_are_whole(self):
        for path in DAYS:
            for title, text in self.entries(path):
                missing = [label for label in LABELS if f"\n{label}" not in text]
                self.assertEqual(missing, [], f"{os.path.basename(path)}: {title}")
                self.assertTrue(ids_in(text) or "Evidence: none kept" in text, title)

    def test_lines_fit(self):
        for path in (*DAYS, os.path.join(LOG, "README.md"), README):
            for line in environment.read(path).splitlines():
                self.assertLessEqual(len(line), WIDTH, f"{os.path.basename(path)}: {line}")


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path)
               if "__pycache__" not in folder for name in names)


class Sizes(unittest.TestCase):
    def test_the_tree_is_small(self):
        kept = size(evidence.FOLDER)
        whole = sum(size(os.path.join(ROOT, name))
                    for name in ("include", "src", "tests", "bench", "packaging", "CMakeLists.txt",
                                 "CMakePresets.json", "README.md", "CHANGELOG.md", "LICENSE"))
        self.assertLessEqual(kept, EVIDENCE_BUDGET)
        self.assertLessEqual(whole - kept, SOURCES_BUDGET)
        self.assertLessEqual(whole, TREE_BUDGET)


if __name__ == "__main__":
    unittest.main()
