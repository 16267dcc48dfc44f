# SPDX-License-Identifier: Apache-2.0
"""tests/vgpu is a project by itself: a copy of the folder, with nothing around it and no nvcc, is
configured (Quick), and is built and passes its tests (Full). Environment: see environment.py."""

import os
import shutil
import subprocess
import tempfile
import unittest

import environment

CTEST = os.path.join(os.path.dirname(environment.CMAKE), "ctest")


class Alone(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vgpu-")
        self.addCleanup(folder.cleanup)
        self.source = os.path.join(folder.name, "vgpu")
        self.build = os.path.join(folder.name, "build")
        shutil.copytree(os.path.join(environment.SOURCE, "tests", "vgpu"), self.source)
        self.run_tool(environment.CMAKE, "-G", "Ninja", "-S", self.source, "-B", self.build,
                      f"-DCUDA_INCLUDE={environment.CUDA_INCLUDE}")

    def run_tool(self, *command):
        # The build around has variables of its own, which must not help.
        plain = {name: value for name, value in os.environ.items()
                 if not name.startswith(("BWGEMM_", "CUDA")) and name != "LD_LIBRARY_PATH"}
        plain["PATH"] = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep)
                                        if not os.path.exists(os.path.join(folder, "nvcc")))
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=plain, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout


class Quick(Alone):
    def test_it_is_configured(self):
        """And knows its tests that are programs by themselves."""
        listing = self.run_tool(CTEST, "--test-dir", self.build, "-N")
        for name in ("vgpu.example.race", "vgpu.calibration.facts"):
            self.assertIn(name, listing)

    def test_nothing_around_is_named(self):
        """Neither folders of the sources nor of the build, in which CUDA's headers may lie."""
        with open(os.path.join(self.build, "build.ninja"), encoding="utf-8") as file:
            steps = file.read().replace(environment.CUDA_INCLUDE, "")
        for folder in (environment.SOURCE, environment.BUILD):
            self.assertNotIn(folder + os.sep, steps)


class Full(Alone):
    def test_its_tests_pass(self):
        self.run_tool(environment.CMAKE, "--build", self.build)
        report = self.run_tool(CTEST, "--test-dir", self.build, "--output-on-failure",
                               "--no-tests=error")
        self.assertIn("100% tests passed, 0 tests failed", report)


if __name__ == "__main__":
    unittest.main()
