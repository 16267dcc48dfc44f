# SPDX-License-Identifier: Apache-2.0
"""packaging/docs/coming-from-cublaslt.md: it names every attribute of cuBLASLt and every member of
bwgemmMatmulDesc_t, and every test that it names exists and is run. Environment: see
environment.py."""

import fnmatch
import os
import re
import unittest

import environment
from feature_table_test import tests

PAGE = environment.read(os.path.join(environment.SOURCE, "packaging", "docs", "coming-from-cublaslt.md"))
CUBLASLT = [path for folder in (environment.CUDA_INCLUDE, "/usr/local/cuda/include")
            for path in (os.path.join(folder, "cublasLt.h"),) if os.path.exists(path)]


def body(text, name):
    """Of `typedef enum {...} name` or `typedef struct name {...} name`."""
    return re.search(r"typedef (?:enum|struct)[^{;]*\{([^}]*)\} " + name + ";", text).group(1)


class PortingPage(unittest.TestCase):
    def check_named(self, names):
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertTrue(re.search(rf"`[^`\n]*\b{name}\b", PAGE), f"the page does not name {name}")

    def test_every_member_of_the_struct(self):
        header = environment.read(os.path.join(environment.SOURCE, "include/bwgemm/matmul.h"))
        members = re.sub(r"/\*.*?\*/", "", body(header, "bwgemmMatmulDesc_t"), flags=re.DOTALL)
        names = re.findall(r"(\w+)(?=[,;])", members)
        self.assertGreater(len(names), 45)
        self.check_named(names)

    @unittest.skipUnless(CUBLASLT, "no cublasLt.h")
    def test_every_attribute_of_cublaslt(self):
        header = re.sub(r"/\*.*?\*/", "", environment.read(CUBLASLT[0]), flags=re.DOTALL)
        for name, prefix in (("cublasLtMatmulDescAttributes_t", "CUBLASLT_MATMUL_DESC_"),
                             ("cublasLtMatrixLayoutAttribute_t", "CUBLASLT_MATRIX_LAYOUT_"),
                             ("cublasLtEpilogue_t", "CUBLASLT_EPILOGUE_"),
                             ("cublasLtMatmulPreferenceAttributes_t", "CUBLASLT_MATMUL_PREF_")):
            self.check_named(re.findall(rf"^\s*{prefix}(\w+) =", body(header, name), re.MULTILINE))

    def test_every_test_it_names_is_run(self):
        known = tests()
        named = re.findall(r"`((?:api|gpu|unit|build)\.[^`]+)`", PAGE)
        self.assertGreater(len(named), 30)
        for name in named:
            self.assertTrue(fnmatch.filter(known, name), f"no test is called {name}")

    def test_lines_fit(self):
        self.assertEqual([line for line in PAGE.splitlines() if len(line) > 120], [])


if __name__ == "__main__":
    unittest.main()
