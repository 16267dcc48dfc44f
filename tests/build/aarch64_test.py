# SPDX-License-Identifier: Apache-2.0
"""The libraries for 64-bit Arm hosts: like those of this machine, and at work under qemu, over the false
driver and the doubles of cuBLAS and cuBLASLt."""

import os
import re
import unittest

import arm
import environment
from environment import output


class Arm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        arm.build("bwgemm", "bwgemm_cublas")

    def test_the_libraries_are_those_of_other_hosts(self):
        for name in ("libbwgemm.so.1", "libbwgemm_cublas.so"):
            ours, others = (os.path.join(folder, name)
                            for folder in (arm.LIB, os.path.dirname(environment.LIBRARY)))
            self.assertRegex(output("readelf", "-h", ours), r"Machine: +AArch64")
            names = [set(re.findall(r" [TWVBDiuR] (\S+)", output("nm", "-D", "--defined-only", path)))
                     for path in (ours, others)]
            self.assertEqual(*names)
            environment.check_oldest_systems(self, ours)

    def test_in_front_of_cublas(self):
        doubles = arm.doubles()
        preloaded = {"LD_PRELOAD": os.path.join(arm.LIB, "libbwgemm_cublas.so"),
                     "BWGEMM_CUBLAS_POLICY": "all"}
        program = arm.compiled("program", ["dropin/program.c"], *doubles)
        self.assertEqual(arm.run(program), "0 0 0 0 0, 3 products\n")
        self.assertEqual(arm.run(program, **preloaded), "0 0 0 0 0, 1 products\n")
        finder = arm.compiled("finder", ["dropin/finder.c"], "-Wno-pedantic")
        found = arm.run(finder, *doubles, "cublasGemmEx", "cublasSetMathMode", **preloaded)
        self.assertTrue(found.startswith("0 0 0 0, 0 products, 0 of Lt\n"), found)
        self.assertIn("cublasGemmEx libbwgemm_cublas.so libbwgemm_cublas.so\n", found)
        self.assertIn("cublasSetMathMode libcublas.so.13 nowhere\n", found)
        following = arm.compiled("libbwgemm_dropin_next.so", ["dropin/next.c", "dropin/early.c"],
                                 "-shared")
        self.assertEqual(
            arm.run(arm.compiled("next", ["dropin/next_program.c"], following), **preloaded), "next\n")


if __name__ == "__main__":
    arm.main()
