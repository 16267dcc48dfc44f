# SPDX-License-Identifier: Apache-2.0
"""Debian packages and the wheel for 64-bit Arm hosts: made on this machine, and at work under qemu from
where they are unpacked, over the false driver and the doubles of cuBLAS and cuBLASLt."""

import csv
import glob
import os
import re
import shutil
import tempfile
import unittest
import zipfile

import package_test
import wheel_test
from prefix import HERE, environment, output

import arm  # on the path that prefix adds to

PYTHON = os.path.join(environment.SOURCE, "build", "aarch64-python")


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
class Packages(package_test.Made):
    @classmethod
    def setUpClass(cls):
        arm.build("bwgemm", "bwgemm_cublas", "bwgemm_tune")
        cls.make(arm.BUILD, "DEB")
        cls.files = cls().unpack(["libbwgemm1", "libbwgemm-cublas", "libbwgemm-dev"], "arm64")
        cls.prefix = os.path.join(cls.root, "usr")
        cls.libraries = os.path.join(cls.prefix, "lib")

    def test_programs_and_libraries_are_for_the_machine(self):
        paths = [os.path.join(self.root, path) for path in self.files]
        found = [path for path in paths if environment.read(path, "rb")[:4] == b"\x7fELF"]
        self.assertEqual({os.path.basename(os.path.realpath(path)) for path in found},
                         {os.path.basename(os.path.realpath(os.path.join(arm.BUILD, path)))
                          for path in ("lib/libbwgemm.so", "lib/libbwgemm_cublas.so", "bin/bwgemm-tune")})
        for path in found:
            self.assertRegex(output("readelf", "-h", path), r"Machine: +AArch64")
            environment.check_oldest_systems(self, path)

    def test_a_program_built_against_them(self):
        program = arm.compiled("smoke", ["consumer/arm_smoke.cpp"], f"-L{self.libraries}", "-lbwgemm",
                               include=os.path.join(self.prefix, "include"))
        self.assertEqual(arm.run(program, libraries=self.libraries), "ok\n")

    def test_a_program_of_cublas_is_recorded_and_timed(self):
        """The launcher is a script. What it starts is qemu, which gives the variables to the program."""
        kinds = arm.compiled("kinds", ["dropin/kinds.c"], *arm.doubles())
        calls, chosen = (os.path.join(self.folder, name) for name in ("calls.csv", "chosen.csv"))
        said = output("env", "BWGEMM_CUBLAS_POLICY=all", os.path.join(self.prefix, "bin", "bwgemm-run"),
                      "-q", "-m", "log", "-l", calls, *arm.emulated(kinds))
        self.assertEqual(said, "9 products, 2 of Lt\n")
        said = arm.run(os.path.join(self.prefix, "bin", "bwgemm-tune"), calls, chosen,
                       libraries=f"{self.libraries}:{arm.LIB}", FAKE_CUBLAS_SPENDS="1")
        self.assertIn("of 10 kinds of calls bwgemm serves 8, cuBLAS keeps 2, 0 are not timed", said)
        with open(chosen, newline="", encoding="utf-8") as file:
            self.assertEqual({(line["serve"], line["m"] != "64") for line in csv.DictReader(file)},
                             {("1", True), ("0", False)})


class Wheel(wheel_test.WellFormed, unittest.TestCase):
    machine = "aarch64"
    library = os.path.join(arm.LIB, "libbwgemm.so.1")
    module = os.path.join(arm.LIB, "python", "_native.abi3.so")

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(os.path.join(arm.BUILD, "wheel"), ignore_errors=True)
        arm.build("bwgemm_wheel")
        (cls.wheel,) = glob.glob(os.path.join(arm.BUILD, "wheel", "*.whl"))

    def test_the_module_is_for_the_machine(self):
        """It asks Python for what this machine's module asks for: the limited interface has no more."""
        self.assertRegex(output("readelf", "-h", self.module), r"Machine: +AArch64")
        ours, others = (set(re.findall(r" U (_?Py\w+)", output("nm", "-D", module)))
                        for module in (self.module, wheel_test.MODULE))
        self.assertEqual(ours, others)

    @unittest.skipUnless(os.path.exists(PYTHON), "NO Python for Arm: packaging/setup.sh unpacks it")
    def test_a_product(self):
        site = tempfile.mkdtemp(prefix="bwgemm-")
        self.addCleanup(shutil.rmtree, site)
        zipfile.ZipFile(self.wheel).extractall(site)
        (python,) = glob.glob(os.path.join(PYTHON, "usr/bin/python3.*"))
        said = arm.run(python, os.path.join(HERE, "arm_product.py"), root=PYTHON,
                       PYTHONPATH=site, PYTHONHOME=os.path.join(PYTHON, "usr"))
        self.assertEqual(said, f"aarch64 {os.path.join(site, 'bwgemm')} 1 launch\n")


if __name__ == "__main__":
    arm.main()
