# SPDX-License-Identifier: Apache-2.0
"""packaging/compile_kernel.py: the gate, the filter of line information, the mapping of paths."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import environment
import compile_kernel

HERE = os.path.dirname(os.path.abspath(__file__))
FINE = """ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 9 barriers, 16 bytes smem
"""


def compile_kernel_run(name, folder, target="sm_90a", *options):
    return subprocess.run(
        [sys.executable, os.path.join(environment.SOURCE, "packaging", "compile_kernel.py"),
         "--nvcc", environment.NVCC, "--ptxas", environment.PTXAS,
         "--fatbinary", environment.FATBINARY, "--target", target,
         *options, "--map", f"{HERE}=tests", "--output", os.path.join(folder, f"{name}.{target}"),
         os.path.join(HERE, f"{name}.cu")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


class Gate(unittest.TestCase):
    def refused(self, name, why):
        with tempfile.TemporaryDirectory() as folder:
            done = compile_kernel_run(name, folder)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"{name}.sm_90a is refused", done.stdout)
            self.assertRegex(done.stdout, why)
            left = [file for file in os.listdir(folder) if file.endswith((".cubin", ".fatbin"))]
            self.assertEqual(left, [])

    def test_spilling_kernel(self):
        self.refused("bad_kernel_spill", r"[1-9]\d* bytes spill stores")

    def test_stack_frame(self):
        self.refused("bad_kernel_stack", r"[1-9]\d* bytes stack frame, 0 bytes spill stores")

    def test_serialized_wgmma(self):
        self.refused("bad_kernel_wgmma", r"\(C751\d\) Potential Performance Loss")

    def test_descriptors_that_threads_compute(self):
        self.refused("bad_kernel_descriptors", "threads compute descriptors of wgmma")

    def test_internal_linkage(self):
        self.refused("bad_kernel_internal", "internal linkage")

    def test_good_kernel_and_its_resources(self):
        with tempfile.TemporaryDirectory() as folder:
            done = compile_kernel_run("good_kernel", folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            row = environment.read(os.path.join(folder, "good_kernel.sm_90a.csv")).split(",")
            self.assertEqual(row[:2], ["good_kernel", "sm_90a"])
            self.assertGreater(int(row[2]), 0)
            fatbin = os.path.join(folder, "good_kernel.sm_90a.fatbin")
            self.assertGreater(os.path.getsize(fatbin), 0)
            self.assertNotIn(b".target sm_90a", environment.read(fatbin, "rb"))

    def test_one_ptx_becomes_images_for_several_targets(self):
        with tempfile.TemporaryDirectory() as folder:
            done = compile_kernel_run("good_kernel", folder, "sm_100f", "--also", "sm_100a")
            self.assertEqual(done.returncode, 0, done.stdout)
            for target in ("sm_100f", "sm_100a"):
                file = os.path.join(folder, f"good_kernel.{target}")
                self.assertGreater(os.path.getsize(f"{file}.fatbin"), 0)
                self.assertIn(f".target {target}", environment.read(f"{file}.ptx"))
                self.assertEqual(environment.read(f"{file}.csv").split(",")[1], target)

    def test_a_bad_image_for_a_further_target_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            done = compile_kernel_run("bad_kernel_spill", folder, "sm_100f", "--also", "sm_100a",
                                      "--only-warn")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("bad_kernel_spill.sm_100a:", done.stdout)
            done = compile_kernel_run("bad_kernel_spill", folder, "sm_100f", "--also", "sm_100a")
            self.assertNotEqual(done.returncode, 0)

    def test_a_kernel_that_is_not_shipped_may_be_bad(self):
        with tempfile.TemporaryDirectory() as folder:
            done = compile_kernel_run("bad_kernel_spill", folder, "sm_90a", "--only-warn")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertRegex(done.stdout, r"[1-9]\d* bytes spill stores")
            self.assertTrue(os.path.exists(os.path.join(folder, "bad_kernel_spill.sm_90a.fatbin")))

    def test_ptx_goes_into_the_fatbin_when_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            done = compile_kernel_run("good_kernel", folder, "sm_90a", "--embed-ptx")
            self.assertEqual(done.returncode, 0, done.stdout)
            fatbin = os.path.join(folder, "good_kernel.sm_90a.fatbin")
            self.assertIn(b".target sm_90a", environment.read(fatbin, "rb"))

    def test_every_listed_message(self):
        self.assertEqual(compile_kernel.complaints(FINE), [])
        codes = ["C7504", "C7508"] + [f"C75{number}" for number in range(10, 18)]
        for code in codes:
            line = f"ptxas info    : ({code}) something happened in function 'k'\n"
            self.assertEqual(compile_kernel.complaints(FINE + line), [line.strip()])
        for line in ("ptxas info    : (C9999) Potential Performance Loss: something new",
                     "ptxas info    : Used 64 registers, 8 bytes lmem",
                     "ptxas warning : something",
                     "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                     "    0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads",
                     "    0 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads"):
            self.assertEqual(compile_kernel.complaints(FINE + line), [line.strip()])

    def test_silence_is_not_consent(self):
        self.assertNotEqual(compile_kernel.complaints("ptxas info    : Used 10 registers\n"), [])

    def test_resources(self):
        self.assertEqual(compile_kernel.resources(FINE), (168, 9, 16))


class Filter(unittest.TestCase):
    def test_text(self):
        ptx = ("\t.loc\t1 2 0\n\tadd.s32 %r1, %r2, %r3;  // .loc in a comment stays\n"
               "\t.loc\t1 2 41, function_name $L__info_string0, inlined_at 1 2 41\n\tret;\n}\n"
               "\t.file\t1 \"/x/a.cu\"\n\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95\n\t}\n"
               "// end\n")
        self.assertEqual(compile_kernel.without_line_info(ptx),
                         "\tadd.s32 %r1, %r2, %r3;  // .loc in a comment stays\n\tret;\n}\n// end\n")

    def test_same_instructions_as_without_line_information(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(compile_kernel_run("good_kernel", folder).returncode, 0)
            with_lines = environment.read(os.path.join(folder, "good_kernel.sm_90a.ptx"))
            self.assertIn('"tests/good_kernel.cu"', with_lines)
            self.assertNotIn(HERE, with_lines)
            plain = os.path.join(folder, "plain.ptx")
            subprocess.run([environment.NVCC, "-std=c++20", "-ptx", "-arch=compute_90a", "-o", plain,
                            os.path.join(HERE, "good_kernel.cu")], check=True)
            stripped = compile_kernel.without_line_info(with_lines)
            self.assertEqual(instructions(stripped), instructions(environment.read(plain)))

    def test_paths_are_mapped_longest_prefix_first(self):
        ptx = '\t.file\t1 "/r/build/k/a.cu", 123, 456\n\t.file 2 "/r/src/../src/b.h"\n\t.file 3 "/s/c"\n'
        mapped = compile_kernel.with_mapped_paths(ptx, [("/r", "root"), ("/r/build", ".")])
        self.assertEqual(mapped, '\t.file\t1 "./k/a.cu"\n\t.file 2 "root/src/b.h"\n\t.file 3 "/s/c"\n')

    def test_hashes_of_the_folder_are_zeroed(self):
        name = b"_ZN30_INTERNAL_1f3a0c71_1_a_"
        zeroed = b"_ZN30_INTERNAL_00000000_1_a_"
        for separator in (",", "\n.b8 "):
            def listed(text):
                return "{\n$L__info_string0:\n.b8 " + separator.join(map(str, text)) + "\n}\n"
            self.assertEqual(compile_kernel.with_zeroed_hashes(listed(name)), listed(zeroed))


def instructions(ptx):
    """The lines of PTX, without blank ones and temporary labels of the debug information."""
    label = re.compile(r"\s*\$L__(tmp|func_begin|func_end)\d+:\s*")
    return [line for line in ptx.splitlines() if line.strip() and not label.fullmatch(line)]


class Kernels(unittest.TestCase):
    """The filter applied to the kernels that this build ships."""

    def test_only_line_information_goes(self):
        for _, path in environment.index():
            kept = environment.read(path).splitlines()
            stripped = compile_kernel.without_line_info("\n".join(kept)).splitlines()
            for pattern in (r"^\s*\.(loc|file|section)\b", r"^[^/]*\"[^\"]*/"):
                found = [line for line in stripped if re.search(pattern, line)]
                self.assertEqual(found, [], path)
            expected, in_body = [], False
            for line in kept:  # bodies are what lies between { and } at the left margin
                in_body = (in_body or line == "{") and line != "}"
                if in_body and not line.lstrip().startswith(".loc"):
                    expected.append(line)
            actual, in_body = [], False
            for line in stripped:
                in_body = (in_body or line == "{") and line != "}"
                if in_body:
                    actual.append(line)
            self.assertGreater(len(expected), 10, path)
            self.assertEqual(actual, expected, path)

    def test_kept_ptx_has_lines_and_no_folder_of_this_machine(self):
        for _, path in environment.index():
            ptx = environment.read(path)
            files = re.findall(r'^\s*\.file\s+\d+ "([^"]*)"', ptx, flags=re.MULTILINE)
            self.assertIn("src/families/", " ".join(files), path)
            for folder in (environment.SOURCE, environment.BUILD, environment.KERNELS):
                self.assertNotIn(folder + os.sep, ptx, path)

    def test_blackwell_targets_differ_only_in_the_target(self):
        pairs = 0
        for _, path in environment.index():
            if not path.endswith(".sm_100a.ptx"):
                continue
            specific = environment.read(path)
            family = environment.read(path.replace(".sm_100a.ptx", ".sm_100f.ptx"))
            self.assertEqual(specific.count("\n"), family.count("\n"), path)
            differing = [lines for lines in zip(specific.splitlines(), family.splitlines())
                         if lines[0] != lines[1]]
            self.assertEqual(differing, [(".target sm_100a", ".target sm_100f")], path)
            pairs += 1
        self.assertGreater(pairs, 0)


if __name__ == "__main__":
    unittest.main()
