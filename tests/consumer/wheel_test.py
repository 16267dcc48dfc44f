# SPDX-License-Identifier: Apache-2.0
"""The wheel: well-formed, the same bytes each time, installed by pip where there is one, and at work
on the virtual GPU that the component vgpu installs."""

import base64
import csv
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zipfile

from prefix import HERE, PLAIN, Prefix, environment, output

MODULE = os.path.join(environment.BUILD, "lib", "python", "_native.abi3.so")
BUILD_WHEEL = os.path.join(environment.SOURCE, "packaging", "python", "build_wheel.py")


class WellFormed:
    """Tests of cls.wheel for any machine, which has cls.library and cls.module."""

    def test_record_lists_every_file(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            (record,) = [name for name in names if name.endswith("/RECORD")]
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            self.assertEqual([row[0] for row in rows], names)
            for path, digest, size in rows[:-1]:
                content = wheel.read(path)
                hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
                self.assertEqual((digest, size), (f"sha256={hashed.rstrip('=')}", str(len(content))))
            self.assertEqual(rows[-1], [record, "", ""])

    def test_the_name_says_what_the_metadata_say(self):
        name, version, *tag = os.path.basename(self.wheel)[:-len(".whl")].split("-")
        self.assertEqual("-".join(tag), f"cp38-abi3-manylinux_2_34_{self.machine}")
        with zipfile.ZipFile(self.wheel) as wheel:
            info = f"{name}-{version}.dist-info"
            self.assertIn(f"\nTag: {'-'.join(tag)}\n", wheel.read(f"{info}/WHEEL").decode())
            self.assertIn(f"\nName: {name}\nVersion: {version}\n",
                          wheel.read(f"{info}/METADATA").decode())
            self.assertEqual(wheel.read("bwgemm/libbwgemm.so.1"), environment.read(self.library, "rb"))
            self.assertEqual(wheel.read("bwgemm/_native.abi3.so"), environment.read(self.module, "rb"))

    def test_the_compiled_module_keeps_to_the_tag(self):
        """It needs no newer glibc and libstdc++ than the library, and only Python's limited interface."""
        symbols = output("nm", "-D", self.module)
        self.assertEqual(re.findall(r" [TWVBD] (\S+)", symbols), ["PyInit__native"])
        environment.check_oldest_systems(self, self.module)
        private = set(re.findall(r" U (_Py\S+)", symbols))
        self.assertLessEqual(private, {"_Py_Dealloc", "_Py_NoneStruct", "_Py_TrueStruct",
                                       "_Py_FalseStruct"})


class Wheel(WellFormed, Prefix):
    machine, module = platform.machine(), MODULE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.wheel = cls.built("wheel")
        cls.site = os.path.join(cls.folder, "site")
        if importlib.util.find_spec("pip"):
            output(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps",
                   "--disable-pip-version-check", "--root-user-action=ignore", "--no-compile",
                   "--target", cls.site, cls.wheel)
        else:
            zipfile.ZipFile(cls.wheel).extractall(cls.site)

    @classmethod
    def built(cls, folder):
        return output(sys.executable, BUILD_WHEEL, "--library", cls.library, "--module", cls.module,
                      "--output", os.path.join(cls.folder, folder)).strip()

    def test_without_the_compiled_module(self):
        done = subprocess.run([sys.executable, BUILD_WHEEL, "--library", self.library, "--module",
                               "/nonexistent/_native.abi3.so", "--output", self.folder],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("python3-dev", done.stdout)

    def test_the_tag_names_the_machine_and_the_glibc_of_the_libraries(self):
        """The machine need not be the one that builds. A newer compiler may ask for a newer glibc."""
        def file(name, number, rest=b""):
            path = os.path.join(self.folder, name)
            with open(path, "wb") as written:
                written.write(b"\x7fELF\2\1".ljust(18, b"\0") + struct.pack("<H", number) + rest)
            return path

        def build(*files):
            return subprocess.run([sys.executable, BUILD_WHEEL, "--library", files[0], "--module",
                                   files[1], "--output", os.path.join(self.folder, "others")],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False).stdout
        arm, intel, none = file("arm.so", 183), file("intel.so", 62), file("none.so", 8)
        self.assertRegex(build(arm, arm), "-cp38-abi3-manylinux_2_34_aarch64.whl\n$")
        self.assertRegex(build(intel, intel), "-cp38-abi3-manylinux_2_34_x86_64.whl\n$")
        newer = file("newer.so", 183, b"\0GLIBC_2.4\0GLIBC_2.38\0GLIBC_2.17\0GLIBC_2.99x")
        for files in ((newer, arm), (arm, newer)):
            self.assertRegex(build(*files), "-cp38-abi3-manylinux_2_38_aarch64.whl\n$")
        self.assertEqual(build(arm, intel), f"{arm} is for aarch64, {intel} for x86_64\n")
        self.assertEqual(build(none, none), f"{none} is no library for x86_64 or aarch64\n")

    def test_same_bytes_again(self):
        self.assertEqual(environment.read(self.built("again"), "rb"),
                         environment.read(self.wheel, "rb"))

    def test_arrays(self):
        for script in ("arrays_test.py", "arrays_rules_test.py", "tensors_test.py"):
            said = output(sys.executable, os.path.join(HERE, script),
                          env={**self.virtual("h200,b200"), "PYTHONPATH": self.site})
            self.assertIn("\nOK", said)
            self.assertNotIn("vgpu: error", said)

    def test_torch(self):
        """bwgemm.torch over torch's products on the CPU, where there is a torch."""
        folder = os.path.join(environment.SOURCE, "tests", "torch")
        said = output(sys.executable, os.path.join(folder, "cpu_test.py"),
                      env={"PYTHONPATH": self.site})
        if "NO TORCH" in said:
            self.skipTest(said.strip())
        self.assertIn("\nOK", said)

    def test_without_torch(self):
        """Nothing but bwgemm.torch needs it."""
        program = ("import sys\nsys.modules['torch'] = None\nimport bwgemm\n"
                   "try:\n    bwgemm.torch\nexcept ImportError as error:\n    print(error)\n")
        said = output(sys.executable, "-c", program, env={"PYTHONPATH": self.site})
        self.assertIn("bwgemm.torch needs torch, which is not installed", said)

    def test_without_a_driver(self):
        program = ("import bwgemm, types\n"
                   "x = types.SimpleNamespace(__cuda_array_interface__={'shape': (8, 8),\n"
                   "    'typestr': '<f2', 'data': (4096, False), 'version': 3})\n"
                   "try:\n    bwgemm.matmul(x, x, x)\n"
                   "except bwgemm.Error as error:\n    print(error.name, error)\n")
        said = output(sys.executable, "-c", program,
                      env={"PYTHONPATH": self.site, "BWGEMM_LIBCUDA": "/nonexistent/libcuda.so.1"})
        self.assertIn("BWGEMM_STATUS_NO_DRIVER", said)
        self.assertIn("/nonexistent/libcuda.so.1", said)

    def test_threads_that_call_when_python_ends(self):
        """Daemon threads that come back from a call of the library once the interpreter has ended."""
        program = ("import threading, time\nfrom bwgemm import Error, _native\n"
                   "def call():\n    while True:\n"
                   "        try:\n            _native.wait_for(0, 0, 0)\n"
                   "        except Error:\n            pass\n"
                   "class Slow:\n    def __del__(self, sleep=time.sleep):\n        sleep(0.2)\n"
                   "for _ in range(4):\n    threading.Thread(target=call, daemon=True).start()\n"
                   "time.sleep(0.1)\nlast = Slow()\nprint('ended')\n")
        said = output(sys.executable, "-c", program,
                      env={"PYTHONPATH": self.site, "BWGEMM_LIBCUDA": "/nonexistent/libcuda.so.1"})
        self.assertEqual(said, "ended\n")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to make a set-user-id program")
    def test_variables_are_ignored_with_more_rights_than_the_user(self):
        """Set-user-id root, started by nobody, Python may not open a driver that a variable names."""
        program = os.path.join(self.folder, "python")
        shutil.copy(os.path.realpath(sys.executable), program)
        os.chmod(program, 0o4755)
        os.chmod(self.folder, 0o755)
        script = ("import ctypes, os\n"
                  "from bwgemm import Error, _native\n"
                  "getauxval = ctypes.CDLL(None).getauxval\n"
                  "getauxval.restype = ctypes.c_ulong\n"
                  "print('secure:', getauxval(23))\n"  # AT_SECURE
                  "try:\n    _native.open_driver()\n"
                  "except Error as error:\n    print(error.name)\n"
                  "with open('/proc/self/maps') as maps:\n"
                  "    print('named:', os.environ['BWGEMM_LIBCUDA'] in maps.read())\n")
        done = subprocess.run([program, "-c", script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, cwd="/", user=65534,
                              env={**PLAIN, **self.virtual(), "PYTHONPATH": self.site,
                                   "PYTHONHOME": sys.base_prefix})
        if "secure: 1" not in done.stdout:
            self.skipTest(f"a set-user-id copy of Python has no effect here: {done.stdout}")
        self.assertIn("named: False", done.stdout)


if __name__ == "__main__":
    unittest.main()
