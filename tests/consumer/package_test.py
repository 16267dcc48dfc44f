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


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="bwgemm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        generators = "TGZ;DEB" if shutil.which("dpkg-deb") else "TGZ"
        cpack = os.path.join(os.path.dirname(environment.CMAKE), "cpack")
        output(cpack, "--config", os.path.join(environment.BUILD, "CPackConfig.cmake"),
               "-G", generators, "-B", cls.folder)
        header = environment.read(os.path.join(environment.SOURCE, "include/bwgemm/bwgemm.h"))
        cls.version = ".".join(re.findall(r"#define BWGEMM_VERSION_\w+ (\d+)", header)[:3])

    def named(self, pattern):
        (found,) = [name for name in os.listdir(self.folder) if re.fullmatch(pattern, name)]
        return os.path.join(self.folder, found)

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
        root = os.path.join(self.folder, "root")
        files = set()
        for package in PACKAGES:
            deb = self.named(rf"{package}_[\d.]+_\w+\.deb")
            output("dpkg-deb", "-x", deb, root)
            fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", deb).splitlines()
                          if re.match(r"\S+: ", line))
            self.assertEqual(fields["Package"], package)
            self.assertEqual(fields["Version"], self.version)
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
        self.assertLessEqual({"./usr/lib/bwgemm/vgpu/kernels.index", "./usr/bin/bwgemm-run",
                              "./usr/bin/bwgemm-tune", "./usr/lib/libbwgemm_cublas.so"}, files)
        self.assertFalse([path for path in files if re.fullmatch(r"\./usr/lib/libcuda.*", path)],
                         "the virtual driver lies where the dynamic linker looks")
        control = os.path.join(self.folder, "control")
        output("dpkg-deb", "-e", self.named(r"libbwgemm1_.*\.deb"), control)
        self.assertEqual(environment.read(os.path.join(control, "shlibs")),
                         f"libbwgemm 1 libbwgemm1 (>= {self.version})\n")
        for script in ("shlibs", "triggers"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(control, script)).st_mode), 0o644)

        prefix = os.path.join(root, "usr")
        flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lbwgemm"]
        if shutil.which("pkg-config"):
            flags = output("pkg-config", "--cflags", "--libs", "bwgemm",
                           env={"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
        self.check_prefix(prefix, flags)

    def test_oldest_systems(self):
        """The virtual driver needs no newer system than the packages say."""
        driver = os.path.join(environment.BUILD, "lib", "vgpu", "libcuda.so.1")
        for node, newest in (("GLIBC", (2, 34)), ("GLIBCXX", (3, 4, 29)), ("CXXABI", (1, 3, 13))):
            used = re.findall(rf"\b{node}_([0-9.]+)", output("objdump", "-T", driver))
            self.assertLessEqual(max(tuple(map(int, version.split("."))) for version in used), newest)


if __name__ == "__main__":
    unittest.main()
