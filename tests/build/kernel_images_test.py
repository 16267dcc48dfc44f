# SPDX-License-Identifier: Apache-2.0
"""The script that compares the machine code of kernels sees every part of an image, and only what
is code. Environment: see environment.py."""

import os
import unittest

import environment
import kernel_images


def changed(image, prefix):
    """The image with another bit in the first byte of a section."""
    for name, _, _, _, at, content in kernel_images.sections(image):
        if name.startswith(prefix) and content:
            return image[:at] + bytes([image[at] ^ 1]) + image[at + 1:]
    raise ValueError(f"no section {prefix}")


class Images(unittest.TestCase):
    def setUp(self):
        _, ptx = environment.index()[0]
        with open(ptx.removesuffix(".ptx") + ".cubin", "rb") as file:
            self.image = file.read()
        self.before = {"kernel sm": kernel_images.hashes(self.image)}

    def told(self, image):
        return kernel_images.differences(self.before, {"kernel sm": kernel_images.hashes(image)})

    def test_a_changed_part_is_named(self):
        for part, prefix in (("text", ".text"), ("info", ".nv.info"), ("constant", ".nv.constant"),
                             ("relocations", ".rela")):
            self.assertEqual(self.told(changed(self.image, prefix)), [f"changed  kernel sm: {part}"])

    def test_what_is_no_code_may_change(self):
        self.assertEqual(self.told(changed(self.image, ".note.nv.tkinfo")), [])

    def test_added_and_removed_images_are_listed(self):
        now = {"other sm": self.before["kernel sm"]}
        self.assertEqual(kernel_images.differences(self.before, now),
                         ["removed  kernel sm", "added    other sm"])

    def test_the_baseline_is_that_of_this_tree(self):
        """After a change of kernels: packaging/kernel_images.py write"""
        baseline = os.path.join(environment.SOURCE, "packaging/kernel_images.txt")
        wrote = kernel_images.assembler(environment.KERNELS)
        if kernel_images.assembler_of(baseline) != wrote:
            self.skipTest(f"the baseline is not of the assembler {wrote}")
        before = kernel_images.read(baseline)
        now = kernel_images.built(environment.KERNELS)
        if now.keys() != before.keys():  # only some are built, or some are new
            before = {name: before[name] for name in before.keys() & now.keys()}
            now = {name: now[name] for name in before}
        self.assertEqual(kernel_images.differences(before, now), [])


if __name__ == "__main__":
    unittest.main()
