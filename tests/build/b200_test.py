# SPDX-License-Identifier: Apache-2.0
"""packaging/b200.sh packs what it finds into one file, on a virtual B200 a little of everything; and
says what is missing where there is no such GPU."""

import os
import subprocess
import tarfile
import tempfile
import unittest

import environment

SCRIPT = os.path.join(environment.SOURCE, "packaging", "b200.sh")
DRIVER = os.path.join(environment.BUILD, "lib", "vgpu", "libcuda.so.1")


class B200(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_script(self, *arguments, **variables):
        known = {"BUILD_DIR": environment.BUILD, "OUT_DIR": os.path.join(self.folder.name, "found"),
                 "BWGEMM_LIBCUDA": DRIVER, "BWGEMM_TEST_SCALE": "small",
                 "BWGEMM_VGPU_INDEX": os.path.join(environment.KERNELS, "kernels.index")}
        return subprocess.run([SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env={**os.environ, **known, **variables}, check=False)

    def packed(self):
        path = os.path.join(self.folder.name, "found.tar.gz")
        with tarfile.open(path) as archive:
            return {os.path.basename(name): archive.extractfile(name).read().decode()
                    for name in archive.getnames() if archive.getmember(name).isfile()}

    def test_everything_comes_back_in_one_file(self):
        done = self.run_script("all", "--tiny", BWGEMM_VGPU="b200")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        files = self.packed()
        for name in ("machine.txt", "steps.txt", "gpu_tests.log", "conformance.log",
                     "ladder_tests.log", "tiny.csv", "ladder.csv", "sweep_tiny.log"):
            self.assertTrue(files.get(name), name)
        self.assertIn("compute capability 10.0", files["machine.txt"])
        self.assertEqual(files["steps.txt"].count("exit status 0"), 6)
        for name in ("gpu_tests.log", "conformance.log", "ladder_tests.log"):
            self.assertRegex(files[name], r"PASSED  \] [1-9]", name)
        self.assertIn("v7,ladder_v7,4096,ok", files["ladder.csv"])
        self.assertIn(",ok,", files["tiny.csv"])

    def test_what_fails_is_packed_too(self):
        done = self.run_script("validate", "--tiny", BWGEMM_VGPU="b200",
                               BUILD_DIR=os.path.join(self.folder.name, "nothing"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpu_tests: exit status 127", self.packed()["steps.txt"])

    def test_another_gpu_is_refused(self):
        done = self.run_script("all", "--tiny", BWGEMM_VGPU="h200")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "a B200 or B300 .* is needed; this is a NVIDIA H200")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_machine_without_a_driver_is_refused(self):
        done = self.run_script("validate", BWGEMM_LIBCUDA="/nonexistent/libcuda.so.1")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no CUDA driver: /nonexistent/libcuda.so.1", done.stderr)

    def test_usage(self):
        for arguments in ((), ("everything",), ("all", "--large")):
            done = self.run_script(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn("usage: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
