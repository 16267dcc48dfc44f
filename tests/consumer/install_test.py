# SPDX-License-Identifier: Apache-2.0
"""Installs this build, moves the prefix, and uses it the ways users do: find_package, pkg-config,
ctypes. Without a driver, so that the text of the error is the same everywhere."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "build"))

import environment  # noqa: E402

NO_DRIVER = {**os.environ, "BWGEMM_LIBCUDA": "/nonexistent/libcuda.so.1"}


def output(*command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**NO_DRIVER, **(env or {})}, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="bwgemm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        installed = os.path.join(cls.folder, "installed")
        output(environment.CMAKE, "--install", environment.BUILD, "--prefix", installed)
        cls.prefix = os.path.join(cls.folder, "moved", "prefix")
        shutil.move(installed, cls.prefix)
        found = [os.path.join(folder, "libbwgemm.so") for folder, _, files in os.walk(cls.prefix)
                 if "libbwgemm.so" in files]
        (cls.library,) = found

    def check_error(self, text):
        version, status, *_ = text.split()
        self.assertGreaterEqual(int(version), 10000)
        self.assertEqual(status, "BWGEMM_STATUS_NO_DRIVER")
        self.assertIn("/nonexistent/libcuda.so.1", text)

    def test_find_package(self):
        build = os.path.join(self.folder, "build")
        output(environment.CMAKE, "-G", "Ninja", "-S", HERE, "-B", build,
               f"-DCMAKE_PREFIX_PATH={self.prefix}")
        output(environment.CMAKE, "--build", build)
        self.check_error(output(os.path.join(build, "consumer_c")))
        self.assertIn("bwgemm_sm90_", output(os.path.join(build, "consumer_cxx")))

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_pkg_config(self):
        package = os.path.join(os.path.dirname(self.library), "pkgconfig")
        flags = output("pkg-config", "--cflags", "--libs", "bwgemm", env={"PKG_CONFIG_PATH": package})
        self.assertIn(self.prefix, flags)
        program = os.path.join(self.folder, "program")
        output(os.environ["CC"], os.path.join(HERE, "consumer.c"), *flags.split(), "-o", program)
        self.check_error(output(program, env={"LD_LIBRARY_PATH": os.path.dirname(self.library)}))

    def test_ctypes(self):
        self.check_error(output(sys.executable, os.path.join(HERE, "consumer.py"), self.library))

    def test_nothing_names_the_build(self):
        for folder, _, files in os.walk(self.prefix):
            for file in files:
                content = environment.read(os.path.join(folder, file), "rb")
                for path in (environment.SOURCE, environment.BUILD, os.path.join(self.folder, "installed")):
                    self.assertNotIn(path.encode() + b"/", content, file)

    def test_components(self):
        for component, present, absent in (("runtime", "libbwgemm.so.1", "bwgemm.h"),
                                           ("devel", "bwgemm.h", "libbwgemm.so.1")):
            prefix = os.path.join(self.folder, component)
            output(environment.CMAKE, "--install", environment.BUILD, "--prefix", prefix,
                   "--component", component)
            files = [file for _, _, names in os.walk(prefix) for file in names]
            self.assertIn(present, files)
            self.assertNotIn(absent, files)
            notices = {"LICENSE", "THIRD-PARTY-NOTICES"}
            self.assertEqual(notices & set(files), notices if component == "runtime" else set())


if __name__ == "__main__":
    unittest.main()
