# SPDX-License-Identifier: Apache-2.0
"""bwgemm_fit on a small sweep: it starts from what the library predicts, and the constants that it
changes are those of the model."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import environment

sys.path.insert(0, os.path.join(environment.SOURCE, "bench"))
import evidence  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(FOLDER.cleanup)
SWEEP, = evidence.unpack(FOLDER.name, [evidence.index()["2026-11-26-h100-sweep-random-3001"]])


def run(program, *arguments):
    return subprocess.run([os.path.join(environment.BUILD, "bin", program), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


class Fit(unittest.TestCase):
    def output(self, program, *arguments):
        done = run(program, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def test_one_round_lowers_the_objective(self):
        text = self.output("bwgemm_fit", "--rounds", "1", "--held", SWEEP, SWEEP)
        before, after = map(float, re.findall(r"(?m)^round \d+: ([\d.]+)$", text))
        self.assertLess(after, before)
        constants = re.findall(r"(?m)^(\S+) ([\d.e+-]+) ([\d.e+-]+)$", text)
        self.assertIn("launch_us", {name for name, _, _ in constants})
        # Of the table and of the copy of slowdowns.
        for of_slowdowns in (False, True):
            self.assertTrue(any(old != new for name, old, new in constants
                                if name.startswith("slowdown.") == of_slowdowns), of_slowdowns)

    def test_it_starts_from_what_the_library_predicts(self):
        regrets = []
        explained = self.output("bwgemm_bench", "--regret", "--from", SWEEP, "--explain")
        for problem in re.split(r"(?m)^== .* ==$", explained)[1:]:
            times = re.findall(r"(?m) ([\d.]+) us  predicted +([\d.]+)  x", problem)
            timed = [(float(predicted), float(us)) for us, predicted in times if float(predicted)]
            regrets.append(min(timed)[1] / min(us for _, us in timed) - 1)
        text = self.output("bwgemm_fit", "--rounds", "1", "--held", SWEEP, SWEEP)
        before = re.findall(
            r"(?m)^before .*: (\d+) problems, mean ([\d.]+)%.*worst ([\d.]+)%$", text)
        self.assertEqual(len(before), 2)
        for problems, mean, worst in before:
            self.assertEqual(int(problems), len(regrets))
            self.assertAlmostEqual(float(mean), 100 * sum(regrets) / len(regrets), delta=0.02)
            self.assertAlmostEqual(float(worst), 100 * max(regrets), delta=0.02)

    def test_it_starts_from_the_constants_of_a_file(self):
        start = os.path.join(environment.SOURCE, "bench", "fit", "start-2026-11-27.txt")
        with open(start, encoding="utf-8") as file:
            wanted = dict(line.split() for line in file if not line.startswith("#"))
        text = self.output("bwgemm_fit", "--rounds", "1", "--start", start, SWEEP)
        began = dict(re.findall(r"(?m)^(\S+) ([\d.e+-]+) [\d.e+-]+$", text))
        self.assertEqual({name: float(value) for name, value in began.items()},
                         {name: float(value) for name, value in wanted.items()})

    def test_a_file_of_constants_must_be_one(self):
        for line, text in (("nonsense 1", "no such constant: nonsense"),
                           ("launch_us", "not a name and a value above 0: launch_us"),
                           ("launch_us 0", "not a name and a value above 0: launch_us 0")):
            path = os.path.join(FOLDER.name, "start.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"# a comment\n{line}\n")
            done = run("bwgemm_fit", "--start", path, SWEEP)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(text, done.stderr)

    def test_wrong_arguments_are_named(self):
        for arguments, text in (([], "no sweep"), (["--rounds", "0", SWEEP], "--rounds"),
                                (["--what", "1", SWEEP], "--what"), (["/none.csv"], "/none.csv"),
                                (["--start", "/none.txt", SWEEP], "/none.txt: cannot open it")):
            done = run("bwgemm_fit", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
