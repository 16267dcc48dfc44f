# SPDX-License-Identifier: Apache-2.0
"""libbwgemm_cublas.so as users have it: a program in C linked to (a double of) cuBLAS, run by
bwgemm-run, over the false driver; the counts that it leaves; and what the library is as a file."""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "build"))

import environment  # noqa: E402

BIN, LIB = os.path.join(environment.BUILD, "bin"), os.path.join(environment.BUILD, "lib")
RUN = os.path.join(BIN, "bwgemm-run")
PROGRAM = os.path.join(BIN, "bwgemm_dropin_program")
LIBRARY = os.path.join(LIB, "libbwgemm_cublas.so")
HOST = os.path.join(BIN, "bwgemm_dropin_host")
PLUGIN = os.path.join(LIB, "libbwgemm_dropin_plugin.so")
WHEEL_PLUGIN = os.path.join(LIB, "libbwgemm_dropin_wheel_plugin.so")
LINKED_PLUGIN = os.path.join(LIB, "libbwgemm_dropin_linked_plugin.so")
TOGETHER = os.path.join(BIN, "bwgemm_dropin_together")
CONSTRUCTOR = os.path.join(LIB, "libbwgemm_dropin_constructor.so")
FINDER = os.path.join(BIN, "bwgemm_dropin_finder")
NEXT_PROGRAM = os.path.join(BIN, "bwgemm_dropin_next_program")
CUBLAS = os.path.join(LIB, "fake_cublas_13", "libcublas.so.13")
CUBLASLT = os.path.join(LIB, "fake_cublaslt_13", "libcublasLt.so.13")
CUBLAS_12 = os.path.join(LIB, "fake_cublas_12", "libcublas.so.12")
CUBLASLT_12 = os.path.join(LIB, "fake_cublaslt_12", "libcublasLt.so.12")
FALSE_DRIVER = os.path.join(LIB, "libbwgemm_fake_libcuda.so")
HEADERS = [os.path.join(environment.SOURCE, "src", "dropin", name)
           for name in ("cublas_abi.h", "cublaslt_abi.h")]
PAGE = os.path.join(environment.SOURCE, "packaging", "docs", "dropin.md")
# The C++ library is its own.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
ALL_FORWARDED, ONE_FORWARDED = "0 0 0 0 0, 3 products\n", "0 0 0 0 0, 1 products\n"

PLAIN = {name: value for name, value in os.environ.items()
         if not name.startswith(("BWGEMM_", "CUBLAS", "LD_"))}
SERVES = {"BWGEMM_CUBLAS_POLICY": "all"}  # nobody has times of the false driver's device


def run(*command, **variables):
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
        env={**PLAIN, **SERVES, "BWGEMM_LIBCUDA": FALSE_DRIVER, **variables})


def exported():
    symbols = run("nm", "-D", "--defined-only", LIBRARY).stdout.split("\n")
    return {line.split()[-1] for line in symbols if line}


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class Folder(unittest.TestCase):
    """Has a folder for each test, and one that tests share."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="bwgemm-")
        cls.addClassCleanup(shutil.rmtree, cls.shared)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bwgemm-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, done, said):
        self.assertEqual((done.returncode, done.stdout), (0, said), done.stderr)


class Program(Folder):
    def test_alone(self):
        self.check(run(PROGRAM), ALL_FORWARDED)

    def test_modes(self):
        for mode, said in (("serve", ONE_FORWARDED), ("off", ALL_FORWARDED),
                           ("log", ALL_FORWARDED)):
            done = run(RUN, "-m", mode, PROGRAM)
            self.check(done, said)
            self.assertIn(f"bwgemm-run: mode {mode}, {LIBRARY}\n", done.stderr)
        self.check(run(RUN, PROGRAM), ONE_FORWARDED)
        self.check(run(RUN, PROGRAM, BWGEMM_CUBLAS="off"), ALL_FORWARDED)

    def test_plugins_of_programs_without_cublas(self):
        for plugins in ([PLUGIN], [WHEEL_PLUGIN], [LINKED_PLUGIN],
                        [PLUGIN, WHEEL_PLUGIN], [WHEEL_PLUGIN, PLUGIN]):
            for mode, products in (("serve", 1), ("off", 2)):
                with self.subTest(plugins=plugins, mode=mode):
                    self.check(run(RUN, "-q", "-m", mode, HOST, *plugins),
                               f"0 0 0, {products} products, gone\n")

    def test_programs_that_look_functions_up(self):
        missed = "undefined symbol: cublasNothing"
        for variables, said in (({}, "0 0 0 0, 0 products, 0 of Lt\n"),
                                ({"BWGEMM_CUBLAS": "off"}, "0 0 0 0, 1 products, 1 of Lt\n"),
                                ({"BWGEMM_CUBLAS_DLSYM": "0"}, "0 0 0 0, 1 products, 1 of Lt\n"),
                                ({"BWGEMM_CUBLAS_DLSYM": "x"}, "0 0 0 0, 1 products, 1 of Lt\n")):
            with self.subTest(variables=variables):
                done = run(RUN, "-q", FINDER, CUBLAS, CUBLASLT, **variables)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.startswith(said), done.stdout)
                self.assertIn(missed, done.stdout)

    def test_lookups_find_what_is_exported_and_nothing_else(self):
        names = sorted(name for name in exported() if name.startswith("cublas"))
        self.assertGreaterEqual(len(names), 19)
        real = ["cublasSetMathMode", "cublasGetStream_v2", "cublasLtMatmulDescCreate"]
        done = run(RUN, "-q", FINDER, CUBLAS, CUBLASLT, *names, *real)
        self.assertEqual(done.stdout.split("\n")[1:-2], [
            *(f"{name} libbwgemm_cublas.so libbwgemm_cublas.so" for name in names),
            "cublasSetMathMode libcublas.so.13 nowhere",
            "cublasGetStream_v2 libcublas.so.13 nowhere",
            "cublasLtMatmulDescCreate libcublasLt.so.13 nowhere", "none in Lt"])
        done = run(RUN, "-q", "-m", "off", FINDER, CUBLAS, CUBLASLT, "cublasGemmEx")
        self.assertIn("cublasGemmEx libcublas.so.13 libbwgemm_cublas.so\n", done.stdout)

    def test_lookups_in_a_second_copy_find_that_copy(self):
        done = run(RUN, "-q", FINDER, CUBLAS_12, CUBLASLT_12, LD_PRELOAD=CUBLAS)
        self.assertTrue(done.stdout.startswith("0 0 0 0, 1 products, 1 of Lt\n"), done.stdout)

    def test_lookups_of_the_next_one_are_the_callers(self):
        """Those before the C library's functions work too, as a sanitizer in front of them asks."""
        self.check(run(RUN, "-q", NEXT_PROGRAM), "next\n")

    def test_handles_made_in_the_constructor_of_a_library(self):
        """No thread waits for another one that waits for the dynamic linker."""
        for name in ("bwgemmMatmul", "cuStreamGetId", "cuGetProcAddress_v2"):
            self.check(run("timeout", "60", RUN, "-q", TOGETHER, CONSTRUCTOR, name), "0 0\n")

    def test_quiet(self):
        done = run(RUN, "-q", PROGRAM)
        self.check(done, ONE_FORWARDED)
        self.assertEqual(done.stderr, "")

    def test_counts_on_standard_error(self):
        counted = rows(run(RUN, "-q", "-m", "log", PROGRAM).stderr)
        self.assertEqual([(row["m"], row["outcome"], row["reason"], row["calls"])
                          for row in counted],
                         [("128", "servable", "", "2"), ("256", "forwarded", "algo", "1")])

    def test_counts_in_a_file(self):
        file = self.path("counts.csv")
        for _ in range(2):  # processes append
            self.check(run(RUN, "-q", "-l", file, PROGRAM), ONE_FORWARDED)
        counted = rows(environment.read(file))
        self.assertEqual([(row["function"], row["m"], row["outcome"], row["reason"], row["calls"])
                          for row in counted],
                         2 * [("cublasGemmEx", "128", "served", "", "2"),
                              ("cublasGemmEx", "256", "forwarded", "algo", "1")])
        self.assertEqual(len({row["process"] for row in counted}), 2)

    def test_mode_log_writes_a_first_call_at_once(self):
        file = self.path("counts.csv")
        self.check(run(RUN, "-q", "-m", "log", "-l", file, PROGRAM), ALL_FORWARDED)
        self.assertEqual([(row["m"], row["outcome"], row["calls"])
                          for row in rows(environment.read(file))],
                         [("128", "servable", "1"), ("256", "forwarded", "1"),
                          ("128", "servable", "1")])

    def test_a_relative_path_is_that_of_the_launchers_folder(self):
        away = self.path("away")
        os.mkdir(away)
        def run_here(*options, **variables):
            return subprocess.run([RUN, "-q", *options, "sh", "-c", f"cd away; {PROGRAM}"],
                                  cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False,
                                  env={**PLAIN, **SERVES, "BWGEMM_LIBCUDA": FALSE_DRIVER, **variables})
        self.check(run_here("-l", "counts.csv"), ONE_FORWARDED)
        self.check(run_here(BWGEMM_CUBLAS_LOG="others.csv"), ONE_FORWARDED)
        self.assertEqual((sorted(os.listdir(self.folder)), os.listdir(away)),
                         (["away", "counts.csv", "others.csv"], []))
        self.check(run_here(BWGEMM_CUBLAS_POLICY="faster", BWGEMM_CUBLAS_CHOSEN="counts.csv"),
                   ONE_FORWARDED)

    def test_policy_faster_serves_what_a_log_has(self):
        chosen = self.path("chosen.csv")
        policy = {"BWGEMM_CUBLAS_POLICY": "faster", "BWGEMM_CUBLAS_CHOSEN": chosen}
        done = run(RUN, "-q", PROGRAM, **policy)
        self.check(done, ALL_FORWARDED)
        self.assertIn(f"BWGEMM_CUBLAS_CHOSEN, {chosen}: it cannot be read", done.stderr)
        for policy_alone in ("faster", ""):
            done = run(RUN, "-q", PROGRAM, BWGEMM_CUBLAS_POLICY=policy_alone)
            self.check(done, ALL_FORWARDED)
            self.assertEqual(done.stderr.count("is not known for this device"), 1, done.stderr)
        for variables, said, warnings in (({"CUBLAS_WORKSPACE_CONFIG": ":16:8"}, ALL_FORWARDED, 1),
                                          ({"BWGEMM_CUBLAS_BATCH_INVARIANT": "1"}, ONE_FORWARDED, 0)):
            done = run(RUN, "-q", PROGRAM, BWGEMM_CUBLAS_POLICY="", **variables)
            self.check(done, said)
            self.assertEqual(done.stderr.count("are to be batch invariant"), warnings, done.stderr)
        self.check(run(RUN, "-q", "-m", "log", "-l", chosen, PROGRAM), ALL_FORWARDED)
        self.check(run(RUN, "-q", PROGRAM, **policy), ONE_FORWARDED)
        lines = environment.read(chosen).replace(",128,64,64,", ",120,64,64,")
        with open(chosen, "w", encoding="utf-8") as file:
            file.write(lines)
        log = self.path("counts.csv")
        self.check(run(RUN, "-q", "-l", log, PROGRAM, **policy), ALL_FORWARDED)
        self.assertEqual([row["reason"] for row in rows(environment.read(log))], ["policy", "algo"])

    def test_programs_without_cublas_leave_no_counts(self):
        file = self.path("counts.csv")
        self.check(run(RUN, "-q", "-l", file, "sh", "-c", "echo quiet"), "quiet\n")
        self.assertFalse(os.path.exists(file))

    def test_a_file_that_cannot_be_written(self):
        done = run(RUN, "-q", "-l", self.path("missing/counts.csv"), PROGRAM)
        self.check(done, ONE_FORWARDED)
        self.assertIn("the counts cannot be written to ", done.stderr)

    def test_a_file_of_other_columns_is_left_as_it_is(self):
        file, text = self.path("counts.csv"), "process,function\n1,cublasGemmEx\n"
        with open(file, "w", encoding="utf-8") as counts:
            counts.write(text)
        done = run(RUN, "-q", "-l", file, PROGRAM)
        self.check(done, ONE_FORWARDED)
        self.assertIn(f"the counts are not added to {file}, which has other columns", done.stderr)
        self.assertEqual(environment.read(file), text)

    def test_without_bwgemm(self):
        library = shutil.copy(LIBRARY, self.path("libbwgemm_cublas.so"))
        done = run(PROGRAM, LD_PRELOAD=library)
        self.check(done, ALL_FORWARDED)
        self.assertIn("every call goes to cuBLAS, because bwgemm cannot be opened: ", done.stderr)

    def test_without_a_driver(self):
        done = run(RUN, "-q", PROGRAM, BWGEMM_LIBCUDA="/nonexistent/libcuda.so.1")
        self.check(done, ALL_FORWARDED)
        self.assertIn("calls go to cuBLAS: ", done.stderr)

    def test_launcher_refuses(self):
        for arguments, why in ((["-m", "fast", PROGRAM], "the mode is fast"),
                               (["/nonexistent/program"], "there is no program"),
                               ([], "usage: "), (["-z"], "usage: ")):
            done = run(RUN, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(why, done.stderr)
        self.assertEqual(run(RUN, "-q", "sh", "-c", "exit 7").returncode, 7)

    def test_launcher_names_what_is_out_of_reach(self):
        static = self.path("static")
        with open(static, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n# cublasCreate_v2\n")
        os.chmod(static, 0o755)
        self.assertIn("seems to be linked to a static cuBLAS", run(RUN, static).stderr)
        self.assertNotIn("static cuBLAS", run(RUN, PROGRAM).stderr)
        os.chmod(static, 0o4755)
        self.assertIn("runs with more rights than its user", run(RUN, static).stderr)

    def test_launcher_looks_behind_scripts(self):
        interpreter, script = self.path("interpreter"), self.path("script")
        with open(interpreter, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n# cublasCreate_v2\n")
        for line in (f"#!{interpreter}\n", f"#!/usr/bin/env {interpreter}\n"):
            with open(script, "w", encoding="utf-8") as file:
                file.write(line)
            os.chmod(interpreter, 0o755)
            os.chmod(script, 0o755)
            self.assertIn(f"{interpreter} seems to be linked to a static cuBLAS",
                          run(RUN, script).stderr)

    def test_calls_that_do_not_come_by_are_noticed(self):
        opened = ("import ctypes; plugin = ctypes.CDLL({!r}, mode={}); handle = ctypes.c_void_p(); "
                  "print(plugin.plugin_create(ctypes.byref(handle)))")
        local, deep = 0, 8  # RTLD_DEEPBIND
        for mode, said in ((deep, True), (local, False)):
            done = run(RUN, sys.executable, "-c", opened.format(PLUGIN, mode))
            self.check(done, "0\n")
            self.assertEqual("no call reached this library, though the process has " in done.stderr,
                             said, done.stderr)
        done = run(RUN, "-q", sys.executable, "-c", opened.format(PLUGIN, deep))
        self.assertEqual(done.stderr, "")
        done = run(RUN, "-n", FINDER, CUBLAS, CUBLASLT)
        self.assertIn("no call reached this library", done.stderr)
        self.assertNotIn("no call reached", run(RUN, "sh", "-c", "true").stderr)

    def test_launcher_needs_the_library(self):
        bin_folder = os.path.join(self.folder, "bin")
        os.mkdir(bin_folder)
        moved = shutil.copy(RUN, bin_folder)
        done = run(moved, PROGRAM)
        self.assertEqual(done.returncode, 2)
        self.assertIn("libbwgemm_cublas.so is not there", done.stderr)


class File(unittest.TestCase):
    def setUp(self):
        self.dynamic = run("readelf", "-dW", LIBRARY).stdout

    def test_exports_what_the_page_lists_and_nothing_else(self):
        names = exported()
        self.assertEqual({name for name in names if "@" in name}, set(),
                         "with a version, the library would not be found in front of cuBLAS")
        listed = set(re.findall(r"`((?:cublas|bwgemmCublas|dl)\w+)`", environment.read(PAGE)))
        forms = {name + "_64" for name in names if name + "_64" in names}
        self.assertEqual({name for name in names - forms if name not in listed}, set())
        self.assertGreaterEqual(len(names), 21)

    def test_needs(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", self.dynamic))
        self.assertLessEqual(needed, LIBRARIES)
        self.assertEqual(re.findall(r"\(RUNPATH\).*\[(.*)\]", self.dynamic), ["$ORIGIN"])

    def test_uses_the_public_interface_alone(self):
        folder = os.path.dirname(HEADERS[0])
        for name in os.listdir(folder):
            if not name.endswith((".h", ".cpp")):
                continue
            source = environment.read(os.path.join(folder, name))
            for included in re.findall(r'#include "(.*)"', source):
                self.assertRegex(included, r"^(dropin|bwgemm)/", name)


class Abi(unittest.TestCase):
    """src/dropin/cublas*_abi.h against cuBLAS's own headers, where they are."""

    def setUp(self):
        folders = (environment.CUDA_INCLUDE, "/usr/local/cuda/include")
        self.include = next((folder for folder in folders
                             if os.path.exists(os.path.join(folder, "cublasLt.h"))), None)
        if self.include is None:
            self.skipTest("cuBLAS's headers are not installed")

    def compiles(self, program):
        done = subprocess.run(
            [os.environ["CC"], "-fsyntax-only", "-x", "c", "-I", self.include,
             "-I", os.path.join(environment.SOURCE, "src"), "-"],
            input="#include <cublas_api.h>\n#include <cublasLt.h>\n" + program, text=True, check=False,
            stderr=subprocess.PIPE)
        return done.stderr if done.returncode else ""

    def test_functions(self):
        include = '#define BWGEMM_CUBLAS_TYPES_ARE_KNOWN\n#include "dropin/cublaslt_abi.h"\n'
        self.assertEqual(self.compiles(include), "")
        for wrong in ("cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, int stream);\n",
                      "cublasStatus_t cublasLtDestroy(int handle);\n"):
            self.assertIn("conflicting types", self.compiles(include + wrong))

    def test_enumerators(self):
        values = re.findall(r"\b(CU[A-Z_0-9]+) = (-?\d+)", "".join(map(environment.read, HEADERS)))
        self.assertGreaterEqual(len(values), 60)
        self.assertEqual(self.compiles("".join(
            f'_Static_assert({name} == {value}, "{name}");\n' for name, value in values)), "")


if __name__ == "__main__":
    unittest.main()
