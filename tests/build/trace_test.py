# SPDX-License-Identifier: Apache-2.0
"""Traced kernels: one of each way to stamp is compiled and run on the virtual GPU, and the trace
file that `bwgemm_bench --trace` writes holds every role's work on every tile."""

import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import environment

BENCH = os.path.join(environment.BUILD, "bin", "bwgemm_bench")
VIRTUAL = {"BWGEMM_LIBCUDA": os.path.join(environment.BUILD, "lib", "vgpu", "libcuda.so.1"),
           "BWGEMM_VGPU_INDEX": os.path.join(environment.KERNELS, "kernels.index")}


def built_kernels():
    with open(os.path.join(environment.KERNELS, "kernels.csv"), newline="",
              encoding="utf-8") as file:
        return {row["name"] for row in csv.DictReader(file)}


def compile_traced(kernel):
    """As the target bwgemm_trace_kernels, and where that leaves it."""
    packaging = os.path.join(environment.SOURCE, "packaging")
    done = subprocess.run(
        [sys.executable, os.path.join(packaging, "trace_kernels.py"), "--rows",
         os.path.join(environment.KERNELS, "rows"), "--match", f"^{re.escape(kernel)}$", "--output",
         os.path.join(environment.BUILD, "lib", "trace"), "--",
         os.path.join(packaging, "compile_kernel.py"), "--nvcc", environment.NVCC, "--ptxas",
         environment.PTXAS, "--fatbinary", environment.FATBINARY,
         "--include", os.path.join(environment.SOURCE, "src"),
         "--include", os.path.join(environment.SOURCE, "include"),
         "--include", os.path.join(environment.KERNELS, "generated")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


class Trace:
    """A trace file: of each CTA and role, what it does for each tile and its states in detail."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        named = {(event["pid"], event["tid"]): event["args"]["name"]
                 for event in events if event["name"] == "thread_name"}
        self.tiles = collections.defaultdict(list)   # {role: [(tile, is it the epilogue)]}
        self.states = collections.defaultdict(set)   # {role: names of states}
        self.tracks = collections.defaultdict(list)  # {(process, thread): [(begin, end)]}
        for event in events:
            if event["ph"] != "X":
                continue
            key = event["pid"], event["tid"]
            self.tracks[key].append((event["ts"], event["ts"] + event["dur"]))
            role = named[key].split()[2].rstrip(":")
            name, index = event["name"].rsplit(" ", 1)
            if named[key].endswith(": tiles"):
                self.tiles[role].append((int(index), name == "epilogue of tile"))
            else:
                self.states[role].add(name)


class TracedKernels(unittest.TestCase):
    def traced(self, kernel, device, problem):
        if kernel not in built_kernels():
            self.skipTest(f"{kernel} is not built")
        compile_traced(kernel)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            done = subprocess.run(
                [BENCH, "--trace", path, "--kernel", kernel, "--problem", problem],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                env={**os.environ, **VIRTUAL, "BWGEMM_VGPU": device})
            self.assertEqual(done.returncode, 0, done.stdout)
            trace = Trace(path)
        for spans in trace.tracks.values():
            for (begin, end), (following, _) in zip(spans, spans[1:] + [(float("inf"), None)]):
                self.assertLessEqual(begin, end)
                self.assertLessEqual(end, following + 0.002)  # rounded to a nanosecond
        return done.stdout, trace

    def test_cooperative(self):
        text, trace = self.traced("bwgemm_sm90_b16_kk_64x64x64_s13_coop", "h200",
                                  "m=130,n=72,k=128,transb=T")
        tiles = set(range(6))
        self.assertEqual({tile for tile, _ in trace.tiles["producer"]}, tiles)
        for is_epilogue in (False, True):
            self.assertEqual({tile for tile, epilogue in trace.tiles["consumer"]
                              if epilogue == is_epilogue}, tiles)
        self.assertLessEqual({"issue loads"}, trace.states["producer"])
        self.assertLessEqual({"wait for operands", "multiply", "epilogue"},
                             trace.states["consumer"])
        self.assertIn("store", trace.states["output"])
        self.assertRegex(text, r"\nconsumer: .*% multiply")
        self.assertIn("tensor cores idle: ", text)

    def test_lines_that_start_anywhere(self):
        text, trace = self.traced("bwgemm_sm90_b16_kk_128x128x64_s6_u_coop", "h200",
                                  "m=130,n=72,k=129,transb=T")
        self.assertEqual({tile for tile, _ in trace.tiles["producer"]}, {0, 1})
        self.assertEqual(set(trace.tiles["consumer"]),
                         {(tile, epilogue) for tile in (0, 1) for epilogue in (False, True)})
        self.assertLessEqual({"wait for a slot", "issue loads", "wait for loads", "move lines"},
                             trace.states["producer"])
        self.assertIn("tensor cores idle: ", text)

    def test_loaders(self):
        _, trace = self.traced("bwgemm_sm100_b16_128xNx64_u_single", "b200",
                               "m=130,n=72,k=129,transb=T")
        tiles = {tile for tile, _ in trace.tiles["mma"]}
        self.assertEqual({tile for tile, _ in trace.tiles["loader"]}, tiles)
        self.assertEqual(set(trace.tiles["epilogue"]), {(tile, True) for tile in tiles})
        self.assertLessEqual({"wait for a slot", "issue loads", "move lines"},
                             trace.states["loader"])

    def test_tensor_memory(self):
        text, trace = self.traced("bwgemm_sm100_b16_128xNx64_single", "b200",
                                  "m=130,n=72,k=128,transb=T")
        tiles = {tile for tile, _ in trace.tiles["producer"]}
        self.assertEqual(tiles, set(range(len(tiles))))
        self.assertEqual({tile for tile, _ in trace.tiles["mma"]}, tiles)
        self.assertEqual(set(trace.tiles["epilogue"]), {(tile, True) for tile in tiles})
        self.assertLessEqual({"wait for operands", "multiply"}, trace.states["mma"])
        self.assertLessEqual({"wait for products", "epilogue"}, trace.states["epilogue"])
        self.assertIn("store", trace.states["output"])
        self.assertIn("tensor cores idle: ", text)

    def test_direct(self):
        for arch, device in (("sm90", "h200"), ("sm100", "b200")):
            text, trace = self.traced(f"bwgemm_{arch}_b16_64x64x32_direct", device,
                                      "m=65,n=66,k=67,transb=T")
            self.assertGreaterEqual({tile for tile, _ in trace.tiles["team"]}, set(range(4)))
            self.assertLessEqual({"issue loads", "wait for operands", "multiply", "epilogue"},
                                 trace.states["team"])
            self.assertIn("tensor cores idle: ", text)

    def test_teams(self):
        text, trace = self.traced("bwgemm_sm90_b16_8x16x128_dot", "h200", "m=2,n=40,k=300,transb=T")
        self.assertEqual(set(trace.tiles["team"]),
                         {(tile, epilogue) for tile in range(len(trace.tiles["team"]) // 2)
                          for epilogue in (False, True)})
        self.assertLessEqual({"stage activations", "wait for operands", "multiply", "add sums",
                              "epilogue"}, trace.states["team"])
        self.assertIn("tensor cores idle: ", text)

    def test_vectors(self):
        text, trace = self.traced("bwgemm_sm90_b16_1x4x2048_dot", "h200", "m=1,n=9,k=300,transb=T")
        self.assertLessEqual({"issue loads", "multiply", "add sums"}, trace.states["team"])
        self.assertIn("products not on tensor cores", text)


if __name__ == "__main__":
    unittest.main()
