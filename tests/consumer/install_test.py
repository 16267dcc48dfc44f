# SPDX-License-Identifier: Apache-2.0
"""Installs this build, moves the prefix, and uses it the ways users do: find_package, pkg-config,
ctypes. Without a driver, so that the text of the error is the same everywhere."""

import os
import shutil
import sys
import unittest

from prefix import HERE, Prefix, environment, output

PAGES = os.listdir(os.path.join(environment.SOURCE, "packaging", "docs"))
NO_DRIVER = {"BWGEMM_LIBCUDA": "/nonexistent/libcuda.so.1"}


class Install(Prefix):
    def check_error(self, text):
        version, status, *_ = text.split()
        self.assertGreaterEqual(int(version), 10000)
        self.assertEqual(status, "BWGEMM_STATUS_NO_DRIVER")
        self.assertIn("/nonexistent/libcuda.so.1", text)

    def test_find_package(self):
        build = os.path.join(self.folder, "build")
        output(environment.CMAKE, "-G", "Ninja", "-S", HERE, "-B", build,
               f"-DCMAKE_PREFIX_PATH={self.prefix}",
               f"-DCUDA_INCLUDE_DIR={environment.CUDA_INCLUDE}")
        output(environment.CMAKE, "--build", build, "--target", "consumer_c", "consumer_cxx")
        self.check_error(output(os.path.join(build, "consumer_c"), env=NO_DRIVER))
        self.assertIn("bwgemm_sm90_", output(os.path.join(build, "consumer_cxx"), env=NO_DRIVER))

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        package = {"PKG_CONFIG_PATH": os.path.join(self.libraries, "pkgconfig")}
        flags = output("pkg-config", "--cflags", "--libs", "bwgemm", env=package)
        self.assertIn(self.prefix, flags)
        self.assertNotIn(self.installed, flags)
        version = output("pkg-config", "--modversion", "bwgemm", env=package).strip()
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        program = os.path.join(self.folder, "program")
        output(os.environ["CC"], os.path.join(HERE, "consumer.c"), *flags.split(), "-o", program)
        self.check_error(output(program, env={**NO_DRIVER, "LD_LIBRARY_PATH": self.libraries}))

    def test_ctypes(self):
        self.check_error(output(sys.executable, os.path.join(HERE, "consumer.py"), self.library,
                                env=NO_DRIVER))

    def test_nothing_names_the_build(self):
        for folder, _, files in os.walk(self.prefix):
            for file in files:
                content = environment.read(os.path.join(folder, file), "rb")
                for path in (environment.SOURCE, environment.BUILD, environment.KERNELS,
                             self.installed):
                    self.assertNotIn(path.encode() + b"/", content, file)

    def test_components(self):
        all_files = []
        for component, present in (
                ("runtime", {"libbwgemm.so.1", "LICENSE", "THIRD-PARTY-NOTICES"}),
                ("dropin", {"libbwgemm_cublas.so", "bwgemm-run", "bwgemm-tune"}),
                ("dev", {"libbwgemm.so", "bwgemm.h", "types.h", "gemm.h", "matmul.h", "tuning.h",
                         "bwgemm.hpp", "bwgemm.pc", "bwgemmConfig.cmake", *PAGES}),
                ("vgpu", {"libcuda.so.1", "kernels.index", "kernels.csv"})):
            prefix = os.path.join(self.folder, component)
            output(environment.CMAKE, "--install", environment.BUILD, "--prefix", prefix,
                   "--component", component)
            files = [os.path.relpath(os.path.join(folder, name), prefix)
                     for folder, _, names in os.walk(prefix) for name in names]
            self.assertLessEqual(present, set(map(os.path.basename, files)), component)
            all_files += files
        everything = [os.path.relpath(os.path.join(folder, name), self.prefix)
                      for folder, _, names in os.walk(self.prefix) for name in names]
        self.assertEqual(sorted(all_files), sorted(everything))


if __name__ == "__main__":
    unittest.main()
