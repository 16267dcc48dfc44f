# SPDX-License-Identifier: Apache-2.0
"""The public headers compile in every dialect, with no CUDA folder given, and all of them links."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import environment

INCLUDE = os.path.join(environment.SOURCE, "include")
HEADERS = sorted(glob.glob(os.path.join(INCLUDE, "bwgemm", "*.h")))
DIALECTS = {"c": ("c89", "c99", "c11", "c17"), "c++": ("c++11", "c++14", "c++17", "c++20")}
COMPILERS = {"c": ("gcc", "clang"), "c++": ("g++", "clang++")}
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-Wundef", "-Wstrict-prototypes")


def functions():
    text = re.sub(r"/\*.*?\*/", "", "".join(map(environment.read, HEADERS)), flags=re.DOTALL)
    return re.findall(r"BWGEMM_API[^;]*?\b(bwgemm\w+)\(", text)


class Header(unittest.TestCase):
    def test_every_dialect(self):
        compiled = 0
        for language, dialects in DIALECTS.items():
            for compiler in filter(shutil.which, COMPILERS[language]):
                for dialect in dialects:
                    options = [o for o in STRICT if language == "c" or o != "-Wstrict-prototypes"]
                    done = subprocess.run(
                        [compiler, f"-std={dialect}", *options, "-fsyntax-only", "-x", language,
                         "-I", INCLUDE, "-"],
                        input='#include "bwgemm/bwgemm.h"\nint x = BWGEMM_VERSION;\n'
                              'bwgemmMatmulDesc_t y = BWGEMM_MATMUL_DESC_INIT;\n'
                              'bwgemmAutotuneOptions_t z = BWGEMM_AUTOTUNE_OPTIONS_INIT;\n',
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                    self.assertEqual(done.returncode, 0, f"{compiler} {dialect}: {done.stdout}")
                    compiled += 1
        self.assertGreaterEqual(compiled, 8)

    def test_includes_only_the_standard(self):
        parts = {f'"bwgemm/{os.path.basename(header)}"' for header in HEADERS}
        self.assertGreaterEqual(len(parts), 5)
        for header in HEADERS:
            text = environment.read(header)
            included = set(re.findall(r"^#include (.*)$", text, flags=re.MULTILINE))
            self.assertLessEqual(included, parts | {"<stddef.h>", "<stdint.h>"}, header)

    def test_each_stands_alone(self):
        for header in HEADERS:
            subprocess.run([os.environ["CC"], "-std=c99", *STRICT, "-fsyntax-only", "-x", "c", "-I",
                            INCLUDE, "-"], text=True, check=True,
                           input=f'#include "bwgemm/{os.path.basename(header)}"\nint x;\n')

    def test_every_function_links_from_c(self):
        names = functions()
        self.assertGreaterEqual(len(names), 27)
        table = ", ".join(f"(function)&{name}" for name in names)
        source = ('#include "bwgemm/bwgemm.h"\ntypedef void (*function)(void);\n'
                  f"static function volatile table[] = {{{table}}};\n"
                  "int main(void) { return table[0] == 0; }\n")
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            sanitizers = [f"-fsanitize={os.environ['SANITIZE']}"] if os.environ["SANITIZE"] else []
            subprocess.run([os.environ["CC"], "-x", "c", *sanitizers, "-I", INCLUDE, "-o", program,
                            "-", "-x", "none", environment.LIBRARY], input=source, text=True,
                           check=True)
            subprocess.run([program], check=True,
                           env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(environment.LIBRARY)})

    def test_export_map_lists_the_functions(self):
        exports = environment.read(os.path.join(environment.SOURCE, "packaging", "exports.map"))
        self.assertEqual(sorted(re.findall(r"^\s+(bwgemm\w+);", exports, flags=re.MULTILINE)),
                         sorted(functions()))


if __name__ == "__main__":
    unittest.main()
