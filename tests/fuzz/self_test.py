# SPDX-License-Identifier: Apache-2.0
"""The fuzzer finds what is wrong, says so in a line that can be pasted back, and draws the same
cases from the same seed. Argument: bwgemm_fuzz. The environment names the GPU."""

import re
import shlex
import subprocess
import sys
import unittest

FUZZ = sys.argv.pop()
SUMMARY = re.compile(r"^(\d+) cases, (\d+) calls .*, (\d+) failures$", re.MULTILINE)


def run(*arguments):
    return subprocess.run([FUZZ, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def failures(output):
    """[(the case, kernels, what was wrong)] of every line that says FAILED."""
    found = []
    for line in output.splitlines():
        if not line.startswith("FAILED "):
            continue
        command, kernels, wrong = line[len("FAILED "):].split(" : ", 2)
        words = shlex.split(command)
        found.append((words[words.index("--replay") + 1], kernels, wrong))
    return found


class Fuzzer(unittest.TestCase):
    def check(self, damage, expected):
        done = run("--seed", "5", "--calls", "6", "--self-test", damage)
        self.assertEqual(done.returncode, 1, done.stdout)
        found = failures(done.stdout)
        self.assertGreaterEqual(len(found), 3, done.stdout)
        for case, kernels, wrong in found:
            self.assertRegex(wrong, expected)
            again = run("--replay", case, "--self-test", damage)
            self.assertEqual(again.returncode, 1, again.stdout)
            self.assertEqual(failures(again.stdout), [(case, kernels, wrong)])
        case = found[0][0]
        healthy = run("--replay", case)
        self.assertEqual(healthy.returncode, 0, healthy.stdout)
        return case

    def test_a_wrong_element_is_found(self):
        self.check("element", r"element \(\d+, \d+\) of batch \d+ is .*1 of \d+ elements are wrong")

    def test_a_write_beside_the_elements_is_found(self):
        self.check("row", "memory that is no element was written")

    def test_a_failure_shrinks(self):
        case = self.check("element", "elements are wrong")
        done = run("--replay", case, "--self-test", "element", "--shrink")
        shrunk = re.search(r'^SHRUNK .*--replay "(.*)"$', done.stdout, re.MULTILINE)
        self.assertIsNotNone(shrunk, done.stdout)
        self.assertRegex(shrunk.group(1), r"^call (kernel=\S+ )?alpha=1 beta=0( [mnk]=8)*"
                                          r"( transa=T)?( transb=T)?( in=f16)?( round[abc]=8)*"
                                          r"( seed=\d+)?$")
        again = run("--replay", shrunk.group(1), "--self-test", "element")
        self.assertEqual(again.returncode, 1, again.stdout)
        self.assertIn("elements are wrong", again.stdout)

    def test_what_the_seed_decides(self):
        first = run("--seed", "7", "--calls", "40", "--list").stdout.splitlines()
        self.assertEqual(first, run("--seed", "7", "--calls", "40", "--list").stdout.splitlines())
        self.assertEqual(first[1:], run("--seed", "8", "--calls", "39", "--list").stdout.splitlines())
        self.assertEqual(len(set(first)), 40)
        for case in first[:10]:
            self.assertEqual(run("--replay", case, "--list").stdout.strip(), case)

    def test_kernels_are_forced_and_counted(self):
        done = run("--seed", "50", "--calls", "30")
        self.assertEqual(done.returncode, 0, done.stdout)
        cases, calls, failed = map(int, SUMMARY.search(done.stdout).groups())
        self.assertEqual((cases, failed), (30, 0))
        counts = re.findall(r"^ +(\d+)  bwgemm_", done.stdout, re.MULTILINE)
        self.assertGreaterEqual(calls, sum(map(int, counts)))
        self.assertGreater(sum(map(int, counts)), 20)
        self.assertGreater(int(re.search(r"\((\d+) with a forced kernel", done.stdout).group(1)), 10)

    def test_wrong_arguments_are_named(self):
        for arguments, word in ((["--speed"], "--speed"), (["--seed", "x"], "x"),
                                (["--replay", "call m=1 q=2"], "q=2"),
                                (["--replay", "call in=f8"], "f8")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
