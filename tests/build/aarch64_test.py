# SPDX-License-Identifier: Apache-2.0
"""The preset aarch64: the libraries for 64-bit Arm hosts, built by a compiler that runs here, and run by
qemu over the false driver and the doubles of cuBLAS and cuBLASLt."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import environment

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
SYSTEM = "/usr/aarch64-linux-gnu"
BUILD = os.path.join(environment.BUILD, "aarch64")
LIB = os.path.join(BUILD, "lib")
TESTS = os.path.join(environment.SOURCE, "tests")
SUPPORT = ["fake_libcuda.cpp", "fake_libcuda_events.cpp", "fake_libcuda_graphs.cpp",
           "fake_libcuda_kernels.cpp", "fake_libcuda_streams.cpp"]
DOUBLES = {"libcublasLt.so.13": ("fake_cublaslt.cpp", "fake_lt_multiply.cpp", "fake_cublaslt.map"),
           "libcublas.so.13": ("fake_cublas.cpp", "fake_products.cpp", "fake_multiply.cpp",
                               "fake_cublas.map")}


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def compiled(name, sources, *flags):
    """The path of a program or a library of the tests. Sources in C are compiled as C."""
    path = os.path.join(LIB, name)
    folders = (TESTS, os.path.join(environment.SOURCE, "src"), os.path.join(environment.SOURCE, "include"))
    is_c = sources[0].endswith(".c")
    output(COMPILER[:-2] + "cc" if is_c else COMPILER, *([] if is_c else ["-std=c++20"]), "-O0", "-fPIC",
           "-fvisibility=hidden", *(f"-I{folder}" for folder in folders), "-isystem",
           environment.CUDA_INCLUDE, "-o", path, *(os.path.join(TESTS, source) for source in sources),
           *flags, "-ldl", "-lpthread")
    return path


def run(program, **variables):
    named = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
    return output(EMULATOR, "-L", SYSTEM, "-E", f"LD_LIBRARY_PATH={LIB}", "-E",
                  f"BWGEMM_LIBCUDA={os.path.join(LIB, 'libbwgemm_fake_libcuda.so')}", *named, *program)


class Arm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        output(environment.CMAKE, "-S", environment.SOURCE, "-B", BUILD, "--preset", "aarch64",
               "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0",
               f"-DBWGEMM_CUDA_ROOT={environment.CUDA_ROOT}",
               f"-DBWGEMM_KERNEL_ARCHIVE={os.path.join(environment.KERNELS, 'kernels.archive')}")
        output(environment.CMAKE, "--build", BUILD, "--target", "bwgemm", "bwgemm_cublas")
        compiled("libbwgemm_fake_libcuda.so", [f"support/{name}" for name in SUPPORT], "-shared")

    def test_the_libraries_are_those_of_other_hosts(self):
        for name in ("libbwgemm.so.1", "libbwgemm_cublas.so"):
            ours, others = (os.path.join(folder, name) for folder in (LIB, os.path.dirname(environment.LIBRARY)))
            self.assertRegex(output("readelf", "-h", ours), r"Machine: +AArch64")
            names = [set(re.findall(r" [TWVBDiuR] (\S+)", output("nm", "-D", "--defined-only", path)))
                     for path in (ours, others)]
            self.assertEqual(*names)
            used = re.findall(r"\bGLIBC_([0-9.]+)", output("readelf", "-VW", ours))
            self.assertLessEqual(max(tuple(map(int, version.split("."))) for version in used), (2, 34))

    def test_packages_name_the_machine(self):
        self.assertIn('set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "arm64")\n',
                      environment.read(os.path.join(BUILD, "CPackConfig.cmake")))

    def test_a_product_is_launched(self):
        program = compiled("smoke", ["build/aarch64_smoke.cpp"], f"-L{LIB}", "-lbwgemm")
        self.assertEqual(run([program]), "ok\n")

    def test_in_front_of_cublas(self):
        doubles = []
        for name, (*sources, symbols) in DOUBLES.items():
            doubles.append(compiled(
                name, [f"dropin/{source}" for source in sources], "-shared", f"-Wl,-soname,{name}",
                "-Wl,--version-script=" + os.path.join(TESTS, "dropin", symbols), *doubles))
        preloaded = {"LD_PRELOAD": os.path.join(LIB, "libbwgemm_cublas.so")}
        program = compiled("program", ["dropin/program.c"], *reversed(doubles))
        self.assertEqual(run([program]), "0 0 0 0 0, 3 products\n")
        self.assertEqual(run([program], **preloaded), "0 0 0 0 0, 1 products\n")
        finder = compiled("finder", ["dropin/finder.c"], "-Wno-pedantic")
        found = run([finder, *reversed(doubles), "cublasGemmEx", "cublasSetMathMode"], **preloaded)
        self.assertTrue(found.startswith("0 0 0 0, 0 products, 0 of Lt\n"), found)
        self.assertIn("cublasGemmEx libbwgemm_cublas.so libbwgemm_cublas.so\n", found)
        self.assertIn("cublasSetMathMode libcublas.so.13 nowhere\n", found)
        following = compiled("libbwgemm_dropin_next.so", ["dropin/next.c", "dropin/early.c"], "-shared")
        self.assertEqual(run([compiled("next", ["dropin/next_program.c"], following)], **preloaded), "next\n")


if __name__ == "__main__":
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            print(f"NO {tool}: packaging/setup.sh installs it")
            sys.exit(0)
    unittest.main()
