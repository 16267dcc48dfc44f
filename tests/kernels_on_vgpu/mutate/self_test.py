# SPDX-License-Identifier: Apache-2.0
"""mutate.py passes with the reviewed list, and fails where a mutant survives that is not in it, where
a listed one may survive once and does so more often, and where it is given nothing to do. The mutants
run once; each list judges what was kept. Arguments: bwgemm_mutate, the folder of the kernels' PTX."""

import os
import subprocess
import sys
import tempfile
import unittest

PTX = sys.argv.pop()
PROGRAM = sys.argv.pop()
HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = "sm90_b16_kk_64x64x64_.*_o3_coop"
SKIPPED = 77


def mutate(*arguments):
    command = [sys.executable, os.path.join(HERE, "mutate.py"), "--program", PROGRAM, "--ptx", PTX,
               "--kernels", KERNEL, "--operation", "accumulate", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)


class Mutate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="bwgemm-")
        cls.addClassCleanup(folder.cleanup)
        cls.kept = folder.name
        cls.first = mutate("--schedules", "1", "--keep", cls.kept)
        if cls.first.returncode == SKIPPED:
            print("NO PTX")
            raise unittest.SkipTest("no PTX")

    def check(self, done, status):
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def judge(self, status, *arguments):
        return self.check(mutate("--from", self.kept, *arguments), status)

    def with_list(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".txt")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return ["--survivors", file.name]

    def test_the_reviewed_list_suffices(self):
        self.assertIn("6 in the list, 0 open", self.check(self.first, 0))

    def test_a_survivor_that_is_not_listed_fails(self):
        output = self.judge(1, *self.with_list(""))
        self.assertIn("6 open", output)
        self.assertEqual(output.count("survived: bwgemm_sm90_b16_kk_64x64x64"), 6, output)
        self.assertIn("accumulate: always", output)

    def test_an_entry_for_one_excuses_one(self):
        entry = ". | 1x accumulate: always | wgmma | . | for the test\n"
        self.assertIn("1 in the list, 5 open", self.judge(1, *self.with_list(entry)))

    def test_nothing_to_do_is_no_success(self):
        done = mutate("--schedules", "1", "--operation", "none of these")
        self.assertIn("no mutant was made", self.check(done, 1))


if __name__ == "__main__":
    unittest.main()
