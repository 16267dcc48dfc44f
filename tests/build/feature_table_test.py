# SPDX-License-Identifier: Apache-2.0
"""packaging/docs/features.md: every test that its table names exists and is run, and every row that
says yes of bwgemm names one. Environment: see environment.py."""

import fnmatch
import json
import os
import re
import subprocess
import unittest

import environment

OURS, PROOF = 1, -1
CELL = re.compile(r"(yes|no|part|–)( \([^()]+\))?$")


def rows():
    """Cells of each row of the page's table: its head, the line below that, the features."""
    page = environment.read(os.path.join(environment.SOURCE, "packaging", "docs", "features.md"))
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def tests():
    """Names of all tests that ctest runs here."""
    ctest = os.path.join(os.path.dirname(environment.CMAKE), "ctest")
    listing = subprocess.run([ctest, "--test-dir", environment.BUILD, "--show-only=json-v1"],
                             stdout=subprocess.PIPE, check=True).stdout

    def is_disabled(test):
        return any(p["name"] == "DISABLED" and p["value"] for p in test.get("properties", ()))

    return [test["name"] for test in json.loads(listing)["tests"] if not is_disabled(test)]


class FeatureTable(unittest.TestCase):
    def test_cells_are_of_the_legend(self):
        head, _, *features = rows()
        self.assertGreater(len(features), 25)
        for row in features:
            self.assertEqual(len(row), len(head), row)
            for cell in row[OURS:PROOF]:
                self.assertRegex(cell, CELL, row)
        self.assertEqual(len({row[0] for row in features}), len(features))

    def test_what_is_ours_is_proven(self):
        known = tests()
        for row in rows()[2:]:
            named = re.findall(r"`([^`]+)`", row[PROOF])
            self.assertTrue(named, row[0])
            self.assertEqual(re.sub(r"`[^`]+`", "", row[PROOF]).strip(), "", row[0])
            for name in named:
                self.assertTrue(fnmatch.filter(known, name), f"{row[0]}: no test is called {name}")


if __name__ == "__main__":
    unittest.main()
