# SPDX-License-Identifier: Apache-2.0
"""The packages that cpack makes of this build: what they say and hold, and that a program can be
built and run against them unpacked."""

import os
import re
import shutil
import stat
import tarfile
import tempfile
import unittest

from prefix import HERE, environment, output

PACKAGES = {"libbwgemm1": "runtime", "libbwgemm-cublas": "dropin", "libbwgemm-dev": "dev",
            "bwgemm-vgpu": "vgpu"}


class Made(unittest.TestCase):
    """Packages of a build for any machine: cls.folder has them, cls.root what they hold."""

    @classmethod
    def make(cls, build, generators):
        cls.folder = tempfile.mkdtemp(prefix="bwgemm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root = os.path.join(cls.folder, "root")
        cpack = os.path.join(os.path.dirname(environment.CMAKE), "cpack")
        output(cpack, "--config", os.path.join(build, "CPackConfig.cmake"), "-G", generators, "-B",
               cls.folder)
        header = environment.read(os.path.join(environment.SOURCE, "include/bwgemm/bwgemm.h"))
        cls.version = ".".join(re.findall(r"#define BWGEMM_VERSION_\w+ (\d+)", header)[:3])

    @classmethod
    def named(cls, pattern):
        (found,) = [name for name in os.listdir(cls.folder) if re.fullmatch(pattern, name)]
        return os.path.join(cls.folder, found)

    def unpack(self, packages, machine):
        """The paths of what the Debian packages hold. What they say of themselves is checked."""
        files = set()
        for package in packages:
            deb = self.named(rf"{package}_[\d.]+_{machine}\.deb")
            output("dpkg-deb", "-x", deb, self.root)
            fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", deb).splitlines()
                          if re.match(r"\S+: ", line))
            self.assertEqual(fields["Package"], package)
            self.assertEqual(fields["Version"], self.version)
            self.assertEqual(fields["Architecture"], machine)
            depends = fields["Depends"]
            self.assertEqual(f"libbwgemm1 (= {self.version})" in depends, package != "libbwgemm1")
            self.assertEqual("libc6 (>= 2.34)" in depends, package != "libbwgemm-dev")
            listed = [line.split(None, 5) for line in output("dpkg-deb", "-c", deb).splitlines()]
            for mode, owner, *_, path in listed:
                self.assertEqual(owner, "root/root", path)
                program = path.startswith("./usr/bin/bwgemm-")
                modes = ("-rwxr-xr-x",) if program else ("drwxr-xr-x", "-rw-r--r--", "lrwxrwxrwx")
                self.assertIn(mode, modes, path)
            own = {path.split(" -> ")[0] for mode, *_, path in listed if mode[0] != "d"}
            self.assertFalse(files & own, "two packages hold the same file")
            files |= own
        self.assertLessEqual({"./usr/bin/bwgemm-run", "./usr/bin/bwgemm-tune", "./usr/lib/libbwgemm.so.1",
                              "./usr/lib/libbwgemm_cublas.so", "./usr/include/bwgemm/bwgemm.h"}, files)
        control = os.path.join(self.folder, "control")
        output("dpkg-deb", "-e", self.named(r"libbwgemm1_.*\.deb"), control)
        self.assertEqual(environment.read(os.path.join(control, "shlibs")),
                         f"libbwgemm 1 libbwgemm1 (>= {self.version})\n")
        for script in ("shlibs", "triggers"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(control, script)).st_mode), 0o644)
        return files


class Packages(Made):
    @classmethod
    def setUpClass(cls):
        cls.make(environment.BUILD, "TGZ;DEB" if shutil.which("dpkg-deb") else "TGZ")

    def check_prefix(self, prefix, compiler_flags):
        """Builds and runs consumer.c against what was unpacked, on the unpacked virtual GPU."""
        libraries = os.path.join(prefix, "lib")
        program = os.path.join(self.folder, "program")
        output(os.environ["CC"], os.path.join(HERE, "consumer.c"), *compiler_flags, "-o", program)
        said = output(program, env={
            "LD_LIBRARY_PATH": libraries,
            "BWGEMM_LIBCUDA": os.path.join(libraries, "bwgemm", "vgpu", "libcuda.so.1")})
        self.assertIn("BWGEMM_STATUS_SUCCESS", said)

    def test_archives(self):
        prefix = os.path.join(self.folder, "archives")
        for component in PACKAGES.values():
            with tarfile.open(self.named(rf"bwgemm-{component}-[\d.]+-linux-\w+\.tar\.gz")) as tar:
                for member in tar.getmembers():
                    self.assertFalse(member.name.startswith(("/", "..")), member.name)
                tar.extractall(prefix)
        self.check_prefix(prefix, [f"-I{prefix}/include", f"-L{prefix}/lib", "-lbwgemm"])

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
    def test_debian(self):
        files = self.unpack(PACKAGES, output("dpkg", "--print-architecture").strip())
        self.assertIn("./usr/lib/bwgemm/vgpu/kernels.index", files)
        self.assertFalse([path for path in files if re.fullmatch(r"\./usr/lib/libcuda.*", path)],
                         "the virtual driver lies where the dynamic linker looks")
        prefix = os.path.join(self.root, "usr")
        flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lbwgemm"]
        if shutil.which("pkg-config"):
            flags = output("pkg-config", "--cflags", "--libs", "bwgemm",
                           env={"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
        self.check_prefix(prefix, flags)

    def test_oldest_systems(self):
        """What is packaged beside the library needs no newer system than the packages say."""
        for name in ("lib/vgpu/libcuda.so.1", "lib/libbwgemm_cublas.so", "bin/bwgemm-tune"):
            environment.check_oldest_systems(self, os.path.join(environment.BUILD, name))


if __name__ == "__main__":
    unittest.main()
