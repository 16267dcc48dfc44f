# SPDX-License-Identifier: Apache-2.0
"""The installed component vgpu: a user's project and the examples compute on it, outside of the
build and without any file of it."""

import os
import shutil
import unittest

from prefix import HERE, Prefix, environment, output

EXAMPLES = os.path.join(environment.SOURCE, "packaging", "examples")


class Project(Prefix):
    """tests/consumer as somebody else's project, with its own tests on the virtual GPU."""

    def test_its_own_tests_pass(self):
        source, build = (os.path.join(self.folder, name) for name in ("source", "build"))
        shutil.copytree(HERE, source)
        output(environment.CMAKE, "-G", "Ninja", "-S", source, "-B", build,
               f"-DCMAKE_PREFIX_PATH={self.prefix}",
               f"-DCUDA_INCLUDE_DIR={environment.CUDA_INCLUDE}")
        output(environment.CMAKE, "--build", build, "--target", "application")
        ctest = os.path.join(os.path.dirname(environment.CMAKE), "ctest")
        report = output(ctest, "--test-dir", build, "--output-on-failure", "--no-tests=error")
        self.assertIn("100% tests passed, 0 tests failed out of 2", report)

    def test_the_index_is_the_librarys(self):
        """Every blob's PTX is there, and nothing that the index does not name."""
        folder = os.path.dirname(self.find("libcuda.so.1"))
        index = environment.read(os.path.join(folder, "kernels.index")).split()[1::2]
        files = [name for name in os.listdir(folder) if name.endswith(".ptx")]
        self.assertEqual(sorted(index), sorted(files))


class C(Prefix):
    def test_dlopen(self):
        program = os.path.join(self.folder, "program")
        include = os.path.join(self.prefix, "include")
        output(os.environ["CC"], "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", include,
               os.path.join(EXAMPLES, "dlopen.c"), "-o", program, "-ldl")
        for device in ("h200", "b200"):
            said = output(program, self.library + ".1", env=self.virtual(device))
            self.assertEqual(said, "dlopen from C: right\n")


@unittest.skipUnless(shutil.which("rustc"), "NO RUSTC: THE EXAMPLE IN RUST IS NOT TESTED")
class Rust(Prefix):
    def test_dlopen(self):
        program = os.path.join(self.folder, "program")
        output("rustc", "--edition", "2021", "-D", "warnings", "-o", program,
               os.path.join(EXAMPLES, "dlopen.rs"))
        said = output(program, self.library + ".1", env=self.virtual("b200"))
        self.assertEqual(said, "dlopen from Rust: right\n")


@unittest.skipUnless(shutil.which("go"), "NO GO: THE EXAMPLE IN GO IS NOT TESTED")
class Go(Prefix):
    def test_dlopen(self):
        program = os.path.join(self.folder, "program")
        output("go", "build", "-o", program, os.path.join(EXAMPLES, "dlopen.go"),
               env={"GOCACHE": os.path.join(self.folder, "cache"), "GO111MODULE": "off",
                    "CGO_ENABLED": "1", "CC": os.environ["CC"]})
        said = output(program, self.library + ".1", env=self.virtual("h200"))
        self.assertEqual(said, "dlopen from Go: right\n")


@unittest.skipUnless(shutil.which("julia"), "NO JULIA: THE EXAMPLE IN JULIA IS NOT TESTED")
class Julia(Prefix):
    def test_dlopen(self):
        said = output("julia", "--startup-file=no", os.path.join(EXAMPLES, "dlopen.jl"),
                      self.library + ".1", env=self.virtual("h200"))
        self.assertEqual(said, "dlopen from Julia: right\n")


if __name__ == "__main__":
    unittest.main()
