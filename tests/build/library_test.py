# SPDX-License-Identifier: Apache-2.0
"""What libbwgemm.so is as a file: names, dependencies, exported symbols, hardening, size, paths."""

import os
import re
import sys
import unittest

import environment
from environment import output

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOWED_LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}
MAX_IMAGES, MAX_MEGABYTES = 300, 40  # README, the changelog and packaging/README.md state them
MAX_LOAD_SECONDS = 0.005

LOAD_TIME = """
import ctypes, time
ctypes.CDLL("libstdc++.so.6")
start = time.perf_counter()
ctypes.CDLL({library!r})
print(time.perf_counter() - start)
"""
UNLOAD = """
import _ctypes, ctypes
library = ctypes.CDLL({library!r})
library.bwgemmGetLastErrorString.restype = ctypes.c_char_p
library.bwgemmGetLastErrorString()
handle = ctypes.c_void_p()
library.bwgemmCreate(ctypes.byref(handle))
library.bwgemmDestroy(handle)
_ctypes.dlclose(library._handle)
print("libbwgemm" in open("/proc/self/maps").read())
"""


class Library(unittest.TestCase):
    def setUp(self):
        self.dynamic = output("readelf", "-dW", environment.LIBRARY)

    def entries(self, tag):
        return re.findall(rf"\({tag}\).*\[(.*)\]", self.dynamic)

    def test_names(self):
        self.assertEqual(self.entries("SONAME"), ["libbwgemm.so.1"])
        folder = os.path.dirname(environment.LIBRARY)
        self.assertEqual(os.readlink(os.path.join(folder, "libbwgemm.so")), "libbwgemm.so.1")
        self.assertRegex(os.readlink(environment.LIBRARY), r"^libbwgemm\.so\.1\.\d+\.\d+$")

    def test_needs_only_the_compilers_own_libraries(self):
        self.assertLessEqual(set(self.entries("NEEDED")), ALLOWED_LIBRARIES)

    def test_exports_exactly_the_golden_symbols(self):
        symbols = output("nm", "-D", "--defined-only", environment.LIBRARY).splitlines()
        exported = "".join(f"{line.split(maxsplit=2)[2]}\n" for line in sorted(
            symbols, key=lambda line: line.split(maxsplit=2)[2]))
        self.assertEqual(exported, environment.read(os.path.join(HERE, "symbols.txt")))

    def test_no_unique_symbols(self):
        self.assertNotIn(" UNIQUE ", output("readelf", "-sW", environment.LIBRARY))

    def test_oldest_systems(self):
        environment.check_oldest_systems(self, environment.LIBRARY)

    def test_hardening(self):
        segments = output("readelf", "-lW", environment.LIBRARY)
        self.assertRegex(segments, r"GNU_STACK.* RW ")
        self.assertIn("GNU_RELRO", segments)
        self.assertNotRegex(segments, r"LOAD.* RWE ")
        self.assertIn("BIND_NOW", self.dynamic)
        self.assertNotIn("TEXTREL", self.dynamic)

    def test_no_paths_of_the_build(self):
        self.assertEqual(self.entries("RPATH") + self.entries("RUNPATH"), [])
        content = environment.read(environment.LIBRARY, "rb")
        for folder in (environment.SOURCE, environment.BUILD, environment.KERNELS):
            self.assertNotIn(folder.encode() + b"/", content)

    def test_archive_is_hidden_read_only_data(self):
        symbols = output("readelf", "-sW", environment.LIBRARY)
        sections = output("readelf", "-SW", environment.LIBRARY)
        rodata = re.search(r"\[ *(\d+)\] \.rodata\s.*\s(A)\s", sections).group(1)
        for name in ("bwgemm_archive_begin", "bwgemm_archive_end"):
            self.assertRegex(symbols, rf"LOCAL +(?:HIDDEN|DEFAULT) +{rodata} {name}\b")

    def test_budgets(self):
        self.assertLess(os.path.getsize(environment.LIBRARY), MAX_MEGABYTES * 1000 * 1000)
        images = environment.read(os.path.join(environment.KERNELS, "kernels.csv")).splitlines()[1:]
        self.assertLessEqual(len(images), MAX_IMAGES)
        text = f"{MAX_IMAGES} images and {MAX_MEGABYTES} MB"
        for page in ("README.md", "CHANGELOG.md", os.path.join("packaging", "README.md")):
            words = " ".join(environment.read(os.path.join(environment.SOURCE, page)).split())
            self.assertIn(text, words, page)

    def test_readme_says_the_size(self):
        text = environment.read(os.path.join(environment.SOURCE, "README.md"))
        megabytes = int(re.search(r"The library has (\d+) MB", text).group(1))
        archive = os.path.getsize(os.path.join(environment.KERNELS, "kernels.archive"))
        self.assertLess(abs(megabytes - archive / 1e6), 1)

    @unittest.skipUnless(os.environ.get("BWGEMM_TEST_TIMES"), "judges a time: BWGEMM_TEST_TIMES")
    def test_load_time(self):
        script = LOAD_TIME.format(library=environment.LIBRARY)
        times = [float(output(sys.executable, "-c", script)) for _ in range(7)]
        self.assertLess(min(times), MAX_LOAD_SECONDS, times)

    def test_dlclose_unloads(self):
        script = UNLOAD.format(library=environment.LIBRARY)
        loaded = output(sys.executable, "-c", script, env={"BWGEMM_LIBCUDA": "/nonexistent/libcuda.so"})
        self.assertEqual(loaded.strip(), "False")


if __name__ == "__main__":
    unittest.main()
