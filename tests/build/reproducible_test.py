# SPDX-License-Identifier: Apache-2.0
"""The build gives the same bytes from every folder: a copy of the tree elsewhere is compared.

Quick: two kernels and some of the host code. Full (nightly): everything, in full."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest

import environment
import tidy

SOURCES = ("program/tensor_map.cpp", "api/queries.cpp", "launch/archive.cpp")  # of src
PARTS = ("CMakeLists.txt", "include", "src", "packaging", "LICENSE")
SMALL_KERNELS = "^bwgemm_sm90_b16_(64x64x32_direct|kk_128x128x64_s6_coop)$"


def copy_of_the_tree(folder):
    os.makedirs(folder)
    for part in PARTS:
        source, copy = os.path.join(environment.SOURCE, part), os.path.join(folder, part)
        (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, copy)
    return folder


def cached(variable):
    for line in environment.read(os.path.join(environment.BUILD, "CMakeCache.txt")).splitlines():
        if line.startswith(f"{variable}:"):
            return line.split("=", 1)[1]
    return ""


def revision():
    header = environment.read(os.path.join(environment.BUILD, "generated", "build_info.h"))
    return header.split("source_revision[] = \"")[1].split('"')[0]


def sha256(path):
    return hashlib.sha256(environment.read(path, "rb")).hexdigest()


def objects_of(sources):
    """The objects in this build's src that have these files, each once."""
    objects = {}
    with open(os.path.join(environment.BUILD, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            words = shlex.split(entry["command"])
            if words[words.index("-o") + 1].startswith("src/CMakeFiles/"):
                for source in tidy.sources_of(entry):
                    objects[os.path.relpath(source, os.path.join(environment.SOURCE, "src"))] = (
                        words[words.index("-o") + 1])
    return sorted({objects[source] for source in sources})


def configure(tree, kernels):
    """Like this build; returns the folder."""
    build = os.path.join(tree, "out")
    same = [f"-D{variable}={cached(variable)}" for variable in
            ("CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER", "CMAKE_C_COMPILER", "CMAKE_CXX_FLAGS",
             "CMAKE_UNITY_BUILD", "CMAKE_UNITY_BUILD_BATCH_SIZE")]
    run(environment.CMAKE, "-G", "Ninja", "-S", tree, "-B", build, *same,
        "-DBWGEMM_TESTS=OFF", "-DBWGEMM_BENCH=OFF", f"-DBWGEMM_KERNEL_DIR={kernels}",
        f"-DBWGEMM_CUDA_ROOT={environment.CUDA_ROOT}", f"-DBWGEMM_SOURCE_REVISION={revision()}",
        f"-DPython3_EXECUTABLE={cached('_Python3_EXECUTABLE')}")
    return build


def build_library(tree, kernels):
    build = configure(tree, kernels)
    run(environment.CMAKE, "--build", build, "--target", "bwgemm")
    return os.path.join(build, "lib", "libbwgemm.so.1")


def build_kernels(tree, only=""):
    """Returns the folder of the kernels."""
    kernels = os.path.join(tree, "kernels")
    run(environment.CMAKE, f"-DBUILD={kernels}", f"-DCUDA_ROOT={environment.CUDA_ROOT}",
        f"-DPYTHON={cached('_Python3_EXECUTABLE')}", f"-DONLY={only}",
        "-P", os.path.join(tree, "packaging", "build_kernels.cmake"))
    return kernels


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}")


class Quick(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bwgemm-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_two_kernels(self):
        """Their images (by the sums of the index), what they use, and their PTX."""
        there = build_kernels(
            copy_of_the_tree(os.path.join(self.folder, "another", "longer folder")), SMALL_KERNELS)
        for table in ("kernels.index", "kernels.csv"):
            lines = environment.read(os.path.join(there, table)).splitlines()
            self.assertLessEqual(
                set(lines), set(environment.read(os.path.join(environment.KERNELS, table)).splitlines()))
        lines = environment.read(os.path.join(there, "kernels.index")).splitlines()
        self.assertEqual(len(lines), 2)
        for ptx in (line.split()[1] for line in lines):
            self.assertEqual(sha256(os.path.join(there, ptx)),
                             sha256(os.path.join(environment.KERNELS, ptx)))

    def test_host_code(self):
        tree = copy_of_the_tree(os.path.join(self.folder, "some", "other folder"))
        # Host code needs no kernels: there is nothing to compile.
        write(os.path.join(tree, "packaging", "build_kernels.cmake"), "")
        build = configure(tree, environment.KERNELS)
        objects = objects_of(SOURCES)
        run(environment.CMAKE, "--build", build, "--target", *objects)
        for file in objects:
            self.assertEqual(sha256(os.path.join(build, file)),
                             sha256(os.path.join(environment.BUILD, file)), file)


class Full(unittest.TestCase):
    def test_everything(self):
        with tempfile.TemporaryDirectory(prefix="bwgemm-") as folder:
            tree = copy_of_the_tree(os.path.join(folder, "some", "other folder"))
            kernels = build_kernels(tree)
            for artefact in ("archive", "index", "csv"):
                file = f"kernels.{artefact}"
                self.assertEqual(sha256(os.path.join(kernels, file)),
                                 sha256(os.path.join(environment.KERNELS, file)))
            for _, ptx in environment.index():
                self.assertEqual(sha256(os.path.join(kernels, os.path.basename(ptx))), sha256(ptx))
            self.assertEqual(sha256(build_library(tree, kernels)), sha256(environment.LIBRARY))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    unittest.main()
