# SPDX-License-Identifier: Apache-2.0
"""packaging/pack_archive.py, and the archive and index that this build made with it."""

import hashlib
import os
import unittest

import environment
import pack_archive


class Format(unittest.TestCase):
    def test_layout(self):
        archive = pack_archive.packed([("first", "sm_90a", b"x" * 65), ("second", "sm_100f", b"yz")])
        self.assertEqual(archive[:16], b"BWGEMMAR\x01\0\0\0\x02\0\0\0")
        self.assertEqual(archive[16:112], b"first".ljust(96, b"\0"))
        self.assertEqual(archive[112:128], b"sm_90a".ljust(16, b"\0"))
        self.assertEqual(archive[128:144], (384).to_bytes(8, "little") + (65).to_bytes(8, "little"))
        self.assertEqual(archive[144:176], hashlib.sha256(b"x" * 65).digest())
        self.assertEqual(archive[384:], b"x" * 65 + bytes(63) + b"yz")

    def test_round_trip(self):
        entries = [(f"kernel{i}", "sm_100a", os.urandom(i * 37)) for i in range(20)]
        self.assertEqual(pack_archive.read_archive(pack_archive.packed(entries)), entries)

    def test_damage_is_found(self):
        archive = bytearray(pack_archive.packed([("k", "sm_90a", b"blob")]))
        archive[-1] ^= 1
        with self.assertRaises(ValueError):
            pack_archive.read_archive(bytes(archive))

    def test_names_that_do_not_fit(self):
        with self.assertRaises(ValueError):
            pack_archive.packed([("k" * 96, "sm_90a", b"")])


class Built(unittest.TestCase):
    def setUp(self):
        self.entries = pack_archive.read_archive(
            environment.read(os.path.join(environment.KERNELS, "kernels.archive"), "rb"))

    def test_index_names_the_ptx_of_every_blob(self):
        expected = [(hashlib.sha256(blob).hexdigest(),
                     os.path.join(environment.KERNELS, f"{name}.{target}.ptx"))
                    for name, target, blob in self.entries]
        self.assertEqual(environment.index(), expected)
        for name, target, _ in self.entries:
            ptx = environment.read(os.path.join(environment.KERNELS, f"{name}.{target}.ptx"))
            self.assertIn(f".visible .entry {name}(", ptx)
            self.assertIn(f".target {target}", ptx)

    def test_every_image_is_alone_in_its_blob(self):
        # One magic number of a fatbin and one ELF: the driver has nothing to choose.
        for name, _, blob in self.entries:
            self.assertEqual(blob[:4], b"\x50\xed\x55\xba", name)
            self.assertEqual(blob.count(b"\x7fELF"), 1, name)
            self.assertIn(name.encode(), blob)

    def test_table_has_a_line_per_image(self):
        lines = environment.read(os.path.join(environment.KERNELS, "kernels.csv")).splitlines()
        self.assertEqual([line.split(",")[:2] for line in lines[1:]],
                         [[name, target] for name, target, _ in self.entries])

    def test_the_library_embeds_it(self):
        archive = environment.read(os.path.join(environment.KERNELS, "kernels.archive"), "rb")
        self.assertIn(archive, environment.read(environment.LIBRARY, "rb"))

    def test_blobs_hold_no_folder_of_this_machine(self):
        for name, _, blob in self.entries:
            for folder in (environment.SOURCE, environment.KERNELS):
                self.assertNotIn(folder.encode() + b"/", blob, name)


if __name__ == "__main__":
    unittest.main()
