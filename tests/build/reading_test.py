# SPDX-License-Identifier: Apache-2.0
"""The reading lists are whole: what their files include is on the list, or left out by name.
Environment: see environment.py."""

import glob
import os
import tempfile
import unittest

import environment
import reading


class Lists(unittest.TestCase):
    def test_lists_are_whole(self):
        lists = reading.read(environment.SOURCE)
        self.assertEqual(sorted(lists), ["blackwell", "cold call", "hopper"])
        for name, (files, left_out) in lists.items():
            with self.subTest(name):
                self.assertEqual(reading.unlisted(environment.SOURCE, files, left_out), [])
                for path in files + left_out:
                    self.assertTrue(os.path.exists(f"{environment.SOURCE}/src/{path}"), path)

    def test_parts_are_those_of_images(self):
        for arch in ("sm90", "sm100"):
            images = set()
            for path in glob.glob(f"{environment.KERNELS}/rows/bwgemm_{arch}_*.cu"):
                images.add(tuple(name for name in reading.included(environment.SOURCE, path)
                                 if name.startswith(f"families/{arch}/")))
            roots = {name: files for name, files in reading.ROOTS.items() if f" {arch}" in name}
            self.assertIn(roots[f"includes of {arch}"], images)
            self.assertEqual(set().union(*images), set().union(*roots.values()))

    def test_an_unlisted_file_is_named(self):
        with tempfile.TemporaryDirectory() as root:
            for path, text in (("api/a.h", '#include "api/b.h"\n#include "core/c.h"\n'),
                               ("api/b.h", '#include "api/a.h"\n'), ("core/c.h", "\n\n")):
                os.makedirs(os.path.dirname(f"{root}/src/{path}"), exist_ok=True)
                with open(f"{root}/src/{path}", "w", encoding="ascii") as file:
                    file.write(text)
            self.assertEqual(reading.unlisted(root, ["api/a.h"], []), ["api/a.h includes api/b.h"])
            self.assertEqual(reading.unlisted(root, ["api/a.h"], ["api/b.h"]), [])
            self.assertEqual(sorted(reading.closure(root, "api/a.h")),
                             ["api/a.h", "api/b.h", "core/c.h"])
            self.assertEqual(reading.lines(root, ["api/a.h", "core/c.h"]), 4)


if __name__ == "__main__":
    unittest.main()
