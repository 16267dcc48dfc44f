# SPDX-License-Identifier: Apache-2.0
"""packaging/tidy.py: files that are checked together are checked as well as each alone."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import environment

TOOL = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
CLEAN = "namespace {{ int {0}_helper(int x) {{ return x + 1; }} }}\nint {0}(int x) {{ return {0}_helper(x); }}\n"
# What each kind of check finds: of names, of what is unused, of paths through a function.
FINDINGS = {
    "int BadName() { return 1; }\n": "readability-identifier-naming",
    "namespace x { class Y {}; }\nusing x::Y;\nint used() { return 1; }\n":
        "misc-unused-using-decls",
    "int null() {\n  int* p = nullptr;\n  return *p;\n}\n": "clang-analyzer-core.NullDereference",
    "int quotient(int x) {\n  if (x == 0) return 1 / x;\n  return 0;\n}\n":
        "clang-analyzer-core.DivideZero",
}
FINDING = next(iter(FINDINGS))


@unittest.skipIf(TOOL is None, "no clang-tidy")
class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bwgemm-")
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(os.path.join(environment.SOURCE, ".clang-tidy"), self.folder)

    def run_on(self, tool, **texts):
        """texts: name of a file and its content. Returns the exit status and what was said."""
        files, database = [], []
        for name, text in texts.items():
            files.append(os.path.join(self.folder, f"{name}.cpp"))
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(text)
            database.append({"directory": self.folder, "file": files[-1],
                             "command": f"c++ -std=c++20 -o {name}.o -c {files[-1]}"})
        commands = os.path.join(self.folder, "compile_commands.json")
        with open(commands, "w", encoding="utf-8") as file:
            json.dump(database, file)
        done = subprocess.run(
            [sys.executable, os.path.join(environment.SOURCE, "packaging", "tidy.py"), "--tool",
             tool, "--database", commands, "--folder", os.path.join(self.folder, "units"), *files],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        return done.returncode, done.stdout

    def test_clean_files_pass(self):
        self.assertEqual(self.run_on(TOOL, one=CLEAN.format("one"), two=CLEAN.format("two")), (0, ""))

    def test_findings_are_named_by_file_and_line(self):
        for text, check in FINDINGS.items():
            status, said = self.run_on(TOOL, one=CLEAN.format("one"), two="\n\n" + text)
            self.assertEqual(status, 1, check)
            self.assertIn(check, said)
            self.assertRegex(said, rf"{self.folder}/two\.cpp:[3-5]:", check)

    def test_each_file_of_a_unit_is_checked(self):
        texts = {f"file{i}": "\n" * i + text for i, text in enumerate(FINDINGS)}
        status, said = self.run_on(TOOL, clean=CLEAN.format("clean"), **texts)
        self.assertEqual(status, 1)
        for i, check in enumerate(FINDINGS.values()):
            self.assertRegex(said, rf"{self.folder}/file{i}\.cpp:\d+:.*{check}")

    def test_files_that_cannot_be_one_are_checked_apart(self):
        bad = CLEAN.format("same") + FINDING
        status, said = self.run_on(TOOL, one=CLEAN.format("same"), two=bad, three=bad,
                                   other=CLEAN.format("other") + FINDING)
        self.assertEqual(status, 1)
        self.assertNotIn("redefinition", said)
        for place in ("two.cpp:3:", "three.cpp:3:", "other.cpp:3:"):
            self.assertIn(place, said)

    def test_a_file_that_does_not_compile_fails(self):
        self.assertEqual(self.run_on(TOOL, one="int one() { return missing; }\n")[0], 1)

    def test_a_tool_that_dies_fails(self):
        tool = os.path.join(self.folder, "dies")
        with open(tool, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nkill -9 $$\n")
        os.chmod(tool, os.stat(tool).st_mode | stat.S_IXUSR)
        status, said = self.run_on(tool, one=CLEAN.format("one"))
        self.assertEqual(status, 1)
        self.assertIn("ended with -9", said)


if __name__ == "__main__":
    unittest.main()
