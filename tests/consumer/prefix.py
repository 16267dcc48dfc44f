# SPDX-License-Identifier: Apache-2.0
"""A prefix that this build is installed into and that was moved since, and how tests run what uses
it: without any variable that could lead a program back to the build."""

import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "build"))

import environment  # noqa: E402
from environment import PLAIN, output  # noqa: E402, F401


class Prefix(unittest.TestCase):
    """cls.folder: removed at the end; cls.prefix: below it, installed and moved."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="bwgemm-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.installed = os.path.join(cls.folder, "installed")
        output(environment.CMAKE, "--install", environment.BUILD, "--prefix", cls.installed)
        cls.prefix = os.path.join(cls.folder, "moved", "prefix")
        shutil.move(cls.installed, cls.prefix)
        cls.library = cls.find("libbwgemm.so")
        cls.libraries = os.path.dirname(cls.library)

    @classmethod
    def find(cls, name):
        (found,) = [os.path.join(folder, name) for folder, _, files in os.walk(cls.prefix)
                    if name in files]
        return found

    @classmethod
    def virtual(cls, device="h200"):
        """The environment of a program that is to run on the installed virtual GPU."""
        return {"BWGEMM_LIBCUDA": cls.find("libcuda.so.1"), "BWGEMM_VGPU": device}
