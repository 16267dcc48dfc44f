# SPDX-License-Identifier: Apache-2.0
"""build/ptx_coverage.py: what it lets pass, and what not."""

import contextlib
import io
import os
import tempfile
import unittest

import ptx_coverage

# A loop that was unrolled once: lines 8 and 11 were made from line 2 of the source, called by its
# line 4; line 10 is the compiler's own.
PTX = """.target sm_90a
.file 1 "src/loop.h"
.visible .entry kernel()
{
.loc 1 4 1
 bra $L__BB0_1;
.loc 1 2 1, function_name $L__info, inlined_at 1 4 1
 add.s32 %r1, %r1, 1;
.loc 1 0 1
 mov.u32 %r2, %r1;
.loc 1 2 1, function_name $L__info, inlined_at 1 4 1
 add.s32 %r2, %r2, 1;
.loc 1 5 1
 ret;
}
"""
SOURCE = "// a loop\nadd();\n\nloop();\nreturn;\n"
LINES = (6, 8, 10, 12, 14)


class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(os.path.join(self.folder, "src"))
        self.write("src/loop.h", SOURCE)
        self.write("kernel.sm_90a.ptx", PTX)
        self.write("kernels.index", "0 kernel.sm_90a.ptx\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def judged(self, missed, unreachable=""):
        """(passes, what it says), where all but these lines were executed."""
        self.write("kernel.1.coverage", "".join(f"{line} {int(line not in missed)}\n"
                                                for line in LINES))
        self.write("unreachable", unreachable)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            result = ptx_coverage.check(os.path.join(self.folder, "kernels.index"), self.folder,
                                        os.path.join(self.folder, "unreachable"), self.folder)
        return result == 0, said.getvalue()

    def test_all_executed(self):
        self.assertTrue(self.judged([])[0])

    def test_a_missed_instruction_is_named_with_its_source(self):
        passes, said = self.judged([12])
        self.assertFalse(passes)
        self.assertIn("PTX line 12  loop.h:2 < loop.h:4  add.s32 %r2, %r2, 1;", said)

    def test_processes_add_up(self):
        self.write("kernel.2.coverage", "12 1\n")
        self.assertTrue(self.judged([12])[0])

    def test_a_kernel_that_was_never_launched(self):
        self.write("kernels.index", "0 kernel.sm_90a.ptx\n0 other.sm_90a.ptx\n")
        self.write("other.sm_90a.ptx", PTX)
        self.assertIn("other: was never launched", self.judged([])[1])

    def test_the_list_excuses(self):
        entry = r"kernel | add | add\(\); < src/loop\.h: loop | cannot be"
        self.assertTrue(self.judged([12], entry)[0])
        self.assertFalse(self.judged([12, 14], entry)[0])

    def test_what_excuses_nothing_is_no_entry(self):
        self.assertIn("unreachable:1: excuses nothing",
                      self.judged([], r"kernel | add | loop | cannot be")[1])

    def test_a_copy_needs_another_one_that_was_executed(self):
        entry = r"kernel | copy . | add\(\); | unrolled"
        self.assertTrue(self.judged([12], entry)[0])
        passes, said = self.judged([8, 12], entry)
        self.assertFalse(passes)
        self.assertIn("2 of 5 instructions", said)

    def test_the_compilers_own_belongs_to_what_it_leads_to(self):
        self.assertTrue(self.judged([10, 12], r"kernel | copy . | add\(\); | unrolled")[0])


if __name__ == "__main__":
    unittest.main()
