# SPDX-License-Identifier: Apache-2.0
"""bwgemm.hpp compiles strictly in every dialect it promises, with and without exceptions, and
wraps every function of bwgemm.h."""

import os
import re
import shutil
import subprocess
import unittest

import environment
from header_test import INCLUDE, functions

HEADER = os.path.join(INCLUDE, "bwgemm", "bwgemm.hpp")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wold-style-cast",
          "-Wundef", "-Werror")
# Explicit instantiation and calls: what is only declared is not compiled.
WITH_EXCEPTIONS = """
int main() {
  try {
    bwgemm::Handle handle;
    handle.gemm({});
    return static_cast<int>(handle.workspace_size({}));
  } catch (const bwgemm::Error& error) {
    return error.status() == BWGEMM_STATUS_NO_DRIVER ? 0 : 1;
  }
}
"""
WITHOUT = """
int main() {
  bwgemm::StatusHandle handle;
  if (handle.try_create() != BWGEMM_STATUS_SUCCESS) return 1;
  bwgemm::StatusHandle moved(static_cast<bwgemm::StatusHandle&&>(handle));
  return static_cast<int>(moved.try_gemm({}));
}
"""


class CppHeader(unittest.TestCase):
    def compile(self, compiler, options, program):
        done = subprocess.run(
            [compiler, *options, *STRICT, "-fsyntax-only", "-x", "c++", "-I", INCLUDE, "-"],
            input=f'#include "bwgemm/bwgemm.hpp"\n#include "bwgemm/bwgemm.hpp"\n{program}',
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{compiler} {options}: {done.stdout}")

    def test_every_dialect(self):
        compilers = list(filter(shutil.which, ("g++", "clang++")))
        self.assertTrue(compilers)
        for compiler in compilers:
            for dialect in ("c++17", "c++20"):
                self.compile(compiler, (f"-std={dialect}",), WITH_EXCEPTIONS)
                self.compile(compiler, (f"-std={dialect}", "-fno-exceptions"), WITHOUT)
        self.compile(compilers[0], ("-std=c++17", "-DBWGEMM_NO_EXCEPTIONS"), WITHOUT)

    def test_with_cudas_own_types(self):
        program = ("#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
                   "static_assert(bwgemm::DataType<__half>::value == BWGEMM_R_16F);\n"
                   "static_assert(bwgemm::DataType<__nv_bfloat16>::value == BWGEMM_R_16BF);\n")
        self.compile("g++", ("-std=c++17", "-isystem", environment.CUDA_INCLUDE), program)

    def test_wraps_every_function(self):
        text = environment.read(HEADER)
        code = re.sub(r"//.*", "", text)
        for name in functions():
            self.assertRegex(code, rf"\b{name}\(", f"bwgemm.hpp does not call {name}")

    def test_every_throwing_member_has_its_pair(self):
        text = environment.read(HEADER)
        throwing = set(re.findall(r"\bcheck\(try_(\w+)\(", text)) | set(
            re.findall(r"&Handle::try_(\w+)\)", text))
        declared = set(re.findall(r"^  bwgemmStatus_t try_(\w+)\(", text, flags=re.MULTILINE))
        self.assertGreaterEqual(len(declared), 17)
        self.assertEqual(declared, throwing - {"explain"})


if __name__ == "__main__":
    unittest.main()
