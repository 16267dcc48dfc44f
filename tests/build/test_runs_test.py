# SPDX-License-Identifier: Apache-2.0
"""packaging/test.sh leaves out what needs a GPU where there is none, and says so in one line; and
tests of the machine's GPU do not run beside one another. Environment: see environment.py."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import environment

CTEST = os.path.join(os.path.dirname(environment.CMAKE), "ctest")
# Programs of the script, which say how they were called.
SAYS = '#!/bin/sh\necho "$(basename "$0") $*"\n'
FAKE_CTEST = SAYS + 'case "$*" in *-N*) echo "Total Tests: 2650";; *) exit ${CTEST_FAILS:-0};; esac\n'


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("packaging/setup.sh", SAYS), ("path/cmake", SAYS),
                           ("path/ctest", FAKE_CTEST)):
            self.write(name, text)
        shutil.copy(os.path.join(environment.SOURCE, "packaging", "test.sh"),
                    os.path.join(self.folder, "packaging"))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def run_script(self, probe, **variables):
        """(lines, exit status) where the fuzzer, which asks for a GPU, does that."""
        self.write("build/release/bin/bwgemm_fuzz", "#!/bin/sh\n" + probe)
        path = os.path.join(self.folder, "path") + os.pathsep + os.environ["PATH"]
        done = subprocess.run([os.path.join(self.folder, "packaging/test.sh"), "-R", "unit"],
                              stdout=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, "PATH": path, **variables})
        return done.stdout.splitlines(), done.returncode

    def test_without_a_gpu(self):
        lines, status = self.run_script('echo "no CUDA driver"; exit 77\n')
        self.assertEqual(status, 0)
        self.assertRegex(lines[-2], r"^ctest .*-LE nightly\|\^gpu\$ .*-R unit$")
        self.assertEqual(lines[-1], "Left out: 2650 tests of the machine's GPU (label gpu), "
                                    "because there is none: no CUDA driver")

    def test_with_a_gpu(self):
        for probe in ("exit 0\n", "exit 1\n"):  # one that fails is there
            lines, status = self.run_script(probe)
            self.assertEqual(status, 0)
            self.assertRegex(lines[-1], r"^ctest .*-LE nightly -j \d+ -R unit$")

    def test_failures_are_passed_on(self):
        for probe in ("exit 0\n", "exit 77\n"):
            self.assertEqual(self.run_script(probe, CTEST_FAILS="8")[1], 8)


class Gpu(unittest.TestCase):
    def test_one_after_the_other(self):
        listing = subprocess.run(
            [CTEST, "--test-dir", environment.BUILD, "-L", "^gpu$", "--show-only=json-v1"],
            stdout=subprocess.PIPE, check=True).stdout
        found = json.loads(listing)["tests"]
        self.assertGreater(len(found), 2)
        free = [test["name"] for test in found
                if {"name": "RESOURCE_LOCK", "value": ["gpu"]} not in test["properties"]]
        self.assertEqual(free, [])


if __name__ == "__main__":
    unittest.main()
