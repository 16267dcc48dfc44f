# SPDX-License-Identifier: Apache-2.0
"""README.md and the pages: relative links lead somewhere, lines fit, README stays a front page, its
example compiles, tests that pages name exist, and the tables of variables and statuses are those of
the sources. Environment: see environment.py."""

import fnmatch
import glob
import os
import re
import subprocess
import unittest

import environment
from feature_table_test import tests

WIDTH, FRONT_PAGE = 120, 120
README = os.path.join(environment.SOURCE, "README.md")
TESTS = os.path.join(environment.SOURCE, "tests", "README.md")
DOCS = os.path.join(environment.SOURCE, "packaging", "docs")
PAGES = sorted(glob.glob(os.path.join(DOCS, "*.md")))
# Written to be read as a whole, by users: these keep to the width.
VGPU = [os.path.join(environment.SOURCE, "tests", "kernels_on_vgpu", "README.md"),
        *glob.glob(os.path.join(environment.SOURCE, "tests", "vgpu", "**", "*.md"), recursive=True)]
PROSE = [README, os.path.join(environment.SOURCE, "CHANGELOG.md"), TESTS, *PAGES, *VGPU]
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def markdown():
    """Every Markdown file of the sources."""
    found = glob.glob(os.path.join(environment.SOURCE, "*.md"))
    for folder in ("bench", "packaging", "src", "tests"):
        found += glob.glob(os.path.join(environment.SOURCE, folder, "**", "*.md"), recursive=True)
    return sorted(found)


def without_code(text):
    return FENCE.sub("", text)


def anchors(path):
    """What GitHub lets links to headings of the file be."""
    seen, result = {}, set()
    for title in re.findall(r"^#+ +(.*)$", without_code(environment.read(path)), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        result.add(f"{slug}-{number}" if number else slug)
    return result


def links(path):
    """Targets of the file's relative links and images."""
    prose = re.sub(r"`[^`\n]*`", "", without_code(environment.read(path)))
    targets = re.findall(r"\]\(([^()\s]+)\)", prose)
    return [target for target in targets if not re.match(r"\w+:", target)]


def why_dead(path, target):
    file, _, anchor = target.partition("#")
    to = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    if not os.path.exists(to):
        return "no such file"
    if anchor and anchor not in anchors(to):
        return "no such heading"
    return ""


def rows(page):
    """{first cell: other cells} of the tables of a page of packaging/docs, without backquotes."""
    lines = environment.read(os.path.join(DOCS, page)).splitlines()
    cells = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
             for line in lines if line.startswith("|")]
    return {first: rest for first, *rest in cells}


class Pages(unittest.TestCase):
    def test_relative_links(self):
        dead, alive = [], 0
        for path in markdown():
            for target in links(path):
                why = why_dead(path, target)
                alive += not why
                if why:
                    dead.append(f"{os.path.relpath(path, environment.SOURCE)}: {target}: {why}")
        self.assertEqual(dead, [])
        self.assertGreater(alive, 100)

    def test_every_page_is_on_the_front_page(self):
        linked = {os.path.normpath(os.path.join(environment.SOURCE, target.partition("#")[0]))
                  for target in links(README)}
        self.assertGreaterEqual(len(PAGES), 8)
        self.assertEqual([page for page in PAGES if page not in linked], [])

    def test_lines_fit(self):
        long = [f"{os.path.relpath(path, environment.SOURCE)}: {line}"
                for path in PROSE for line in without_code(environment.read(path)).splitlines()
                if len(line) > WIDTH and not line.startswith("|")]
        self.assertEqual(long, [])

    def test_the_front_page_is_one(self):
        lines = environment.read(README).splitlines()
        self.assertLessEqual(len(lines), FRONT_PAGE)
        self.assertEqual([line for line in lines if len(line) > WIDTH], [])


class Contents(unittest.TestCase):
    def test_examples_in_c_compile(self):
        for path in (README, os.path.join(DOCS, "using.md")):
            examples = re.findall(r"^```c\n(.*?)^```$", environment.read(path),
                                  re.MULTILINE | re.DOTALL)
            self.assertEqual(len(examples), 1, path)
            subprocess.run(
                [os.environ["CC"], "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror",
                 "-fsyntax-only", "-x", "c",
                 "-I", os.path.join(environment.SOURCE, "include"), "-"],
                input=examples[0], text=True, check=True)

    def test_every_variable_and_its_default(self):
        source = environment.read(os.path.join(environment.SOURCE, "src", "api", "options.h"))
        options = dict(re.findall(r'OptionRow\{\s*Option::\w+, "(\w+)", "([^"]*)"', source))
        self.assertEqual(len(options), source.count("OptionRow{"))
        self.assertGreaterEqual(len(options), 10)
        page = {name: cells for name, cells in rows("environment.md").items()
                if name.startswith("BWGEMM_")}
        self.assertEqual(set(page), set(options))
        for name, fallback in options.items():
            self.assertIn(page[name][0], (fallback,) if fallback else ("none", "standard error"),
                          name)

    def test_every_status_and_its_value(self):
        header = environment.read(os.path.join(environment.SOURCE, "include/bwgemm/types.h"))
        statuses = dict(re.findall(r"BWGEMM_STATUS_(\w+) = (\d+),", header))
        self.assertGreaterEqual(len(statuses), 13)
        page = {name: cells[0] for name, cells in rows("statuses.md").items() if name.isupper()}
        page.pop("BWGEMM_STATUS_", None)  # the table's head
        self.assertEqual(page, statuses)

    def test_every_test_that_is_named_exists(self):
        known = tests()
        level = r"(?:unit|api|gpu|vgpu|fuzz|ladder|build)"
        for path in (TESTS, *PAGES, *VGPU):
            named = re.findall(rf"`({level}\.[^`/ ][^` ]*)`", without_code(environment.read(path)))
            self.assertGreater(len(named), 60 if path == TESTS else -1)
            for name in named:  # of a test, or of all tests below it
                if name.endswith(".py"):
                    continue
                self.assertTrue(fnmatch.filter(known, name) or fnmatch.filter(known, name + ".*"),
                                f"{os.path.basename(path)}: no test is called {name}")


if __name__ == "__main__":
    unittest.main()
