# SPDX-License-Identifier: Apache-2.0
"""The fuzzer finds what is wrong, says so in a line that can be pasted back, and draws the same
cases from the same seed. Argument: bwgemm_fuzz. The environment names the GPU."""

import re
import shlex
import subprocess
import sys
import unittest

FUZZ = sys.argv.pop()
SUMMARY = re.compile(r"^(\d+) cases, (\d+) calls .*, (\d+) failures$", re.MULTILINE)
COPIES = re.compile(r"(\d+) divided\), (\d+) copies of operands")
UNALIGNED = "call alpha=1 beta=0 m=33 n=43 k=43 "  # TMA can load neither operand


def run(*arguments):
    return subprocess.run([FUZZ, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)


def failures(output):
    """[(the case, kernels, what was wrong)] of every line that says FAILED."""
    found = []
    for line in output.splitlines():
        if not line.startswith("FAILED "):
            continue
        command, kernels, wrong = line[len("FAILED "):].split(" : ", 2)
        words = shlex.split(command)
        found.append((words[words.index("--replay") + 1], kernels, wrong))
    return found


class Fuzzer(unittest.TestCase):
    def check(self, damage, expected, seed="5", calls="6", least=3):
        done = run("--seed", seed, "--calls", calls, "--self-test", damage)
        self.assertEqual(done.returncode, 1, done.stdout)
        found = failures(done.stdout)
        self.assertGreaterEqual(len(found), least, done.stdout)
        for case, kernels, wrong in found:
            self.assertRegex(wrong, expected)
            again = run("--replay", case, "--self-test", damage)
            self.assertEqual(again.returncode, 1, again.stdout)
            [(case_again, kernels_again, wrong_again)] = failures(again.stdout)
            self.assertEqual((case_again, wrong_again), (case, wrong))
            if " tune=" not in case:  # else time decides which kernel is best
                self.assertEqual(kernels_again, kernels)
        case = found[0][0]
        healthy = run("--replay", case)
        self.assertEqual(healthy.returncode, 0, healthy.stdout)
        return case

    def test_a_wrong_element_is_found(self):
        self.check("element", r"element \(\d+, \d+\) of batch \d+ is .*1 of \d+ elements are wrong")

    def test_a_write_beside_the_elements_is_found(self):
        self.check("row", "memory that is no element was written")

    def check_other_output(self, damage, wrong, seed, kept):
        """What only some calls write stays when the case shrinks."""
        case = self.check(damage, wrong, seed=seed, calls="24", least=1)
        done = run("--replay", case, "--self-test", damage, "--shrink")
        shrunk = re.search(r'^SHRUNK .*--replay "(.*)"$', done.stdout, re.MULTILINE)
        self.assertIsNotNone(shrunk, done.stdout)
        words = dict(word.split("=") for word in shrunk.group(1).split() if "=" in word)
        self.assertEqual(words["entry"], "matmul")
        self.assertRegex(words[damage], kept)
        self.assertLess(len(words), 13, shrunk.group(1))

    def test_a_wrong_element_of_aux_is_found(self):
        self.check_other_output("aux", r"aux \(\d+, \d+\) of batch \d+ is ", "40", "store")

    def test_a_wrong_sum_is_found(self):
        self.check_other_output("gradient", r"bias gradient \d+ of batch \d+ is ", "40",
                                "rows|columns|a|b")

    def test_a_failure_shrinks(self):
        found = failures(run("--seed", "5", "--calls", "6", "--self-test", "element").stdout)
        case = found[0][0]
        done = run("--replay", case, "--self-test", "element", "--shrink")
        shrunk = re.search(r'^SHRUNK .*--replay "(.*)"$', done.stdout, re.MULTILINE)
        self.assertIsNotNone(shrunk, done.stdout)
        self.assertRegex(shrunk.group(1), r"^call (kernel=\S+ )?alpha=1 beta=0( [mnk]=8)*"
                                          r"( transa=T)?( transb=T)?( in=f16)?( round[abc]=8)*"
                                          r"( seed=\d+)?$")
        again = run("--replay", shrunk.group(1), "--self-test", "element")
        self.assertEqual(again.returncode, 1, again.stdout)
        self.assertIn("elements are wrong", again.stdout)

    def test_what_the_seed_decides(self):
        first = run("--seed", "7", "--calls", "40", "--list").stdout.splitlines()
        self.assertEqual(first, run("--seed", "7", "--calls", "40", "--list").stdout.splitlines())
        self.assertEqual(first[1:], run("--seed", "8", "--calls", "39", "--list").stdout.splitlines())
        self.assertEqual(len(set(first)), 40)
        for case in first[:10]:
            self.assertEqual(run("--replay", case, "--list").stdout.strip(), case)

    def test_what_matmul_can_do_is_drawn(self):
        """Each field of the text, with each of its words."""
        drawn = {}
        for case in run("--seed", "1", "--calls", "4000", "--list").stdout.splitlines():
            for word in case.split():
                name, _, value = word.partition("=")
                drawn.setdefault(name, set()).add(value)
        words = {"entry": "batched typed arrays matmul", "gate": "interleaved stacked",
                 "aux": "store derivative", "activation": "relu gelu erf silu sigmoid clamp",
                 "bias": "m n", "gradient": "rows columns a b",
                 "preload": "everything call", "capture": "global thread relaxed",
                 "determinism": "invariant", "operands": "in_place copied copied_a copied_b",
                 "denormals": "flushed"}
        words.update(dict.fromkeys(("ordera", "orderb", "orderc", "orderapart"), "rows"))
        words.update(dict.fromkeys(("typeapart", "typeaux", "typebias", "typegradient"), "f32"))
        words.update(dict.fromkeys(("apart", "arrays", "nobeta", "override", "rowscale",
                                    "columnscale", "threads", "repeat", "chain"), "1"))
        for name, values in words.items():
            self.assertEqual(drawn.get(name), set(values.split()), name)
        for name in ("alpha", "beta"):
            self.assertTrue(any(0 < abs(float(value)) < 2.0**-126 for value in drawn[name]), name)
        for name in ("tune", "listed", "strideapart", "strideaux", "stridebias", "striderowscale",
                     "offsetbias", "offsetcolumnscale", "padaux", "offsetapart", "stridegradient",
                     "offsetgradient"):
            self.assertGreater(len(drawn.get(name, ())), 2, name)

    def test_kernels_are_forced_and_counted(self):
        done = run("--seed", "50", "--calls", "30")
        self.assertEqual(done.returncode, 0, done.stdout)
        cases, calls, failed = map(int, SUMMARY.search(done.stdout).groups())
        self.assertEqual((cases, failed), (30, 0))
        counts = re.findall(r"^ +(\d+)  bwgemm_", done.stdout, re.MULTILINE)
        self.assertGreaterEqual(calls, sum(map(int, counts)))
        self.assertGreater(sum(map(int, counts)), 20)
        self.assertGreater(int(re.search(r"\((\d+) with a forced kernel", done.stdout).group(1)), 10)

    def check_copies(self, case, divided, copies):
        done = run("--replay", case)
        self.assertEqual(done.returncode, 0, done.stdout)
        counts = COPIES.search(done.stdout).groups()
        self.assertEqual(tuple(map(int, counts)), (divided, copies), case)

    def test_operands_are_copied(self):
        for operands, copies in (("in_place", 0), ("copied", 1), ("copied_a", 1), ("copied_b", 1)):
            self.check_copies(UNALIGNED + "operands=" + operands, 0, copies)
        for case in (UNALIGNED + "rounda=8 operands=copied_a",
                     UNALIGNED + "operands=copied_b workspace=none",
                     UNALIGNED + "rounda=8 roundb=8 operands=copied"):
            self.assertEqual(run("--replay", case).returncode, 3, case)

    def test_products_are_divided(self):
        """Into 256, 256 and 88 columns of B, 96 bytes each where they are copied."""
        case = "call alpha=1 beta=0 m=40 n=600 k=43 operands=copied bytes=30000 workspace="
        for workspace in ("limit", "own"):
            self.check_copies(case + workspace, 1, 3)
        self.check_copies(f"capture=global repeat=1 {case}own", 2, 6)
        self.check_copies(f"threads=1 {case}own {UNALIGNED}", 1, 3)

    def test_copied_operands_shrink(self):
        case = UNALIGNED + "operands=copied_a"
        done = run("--replay", case, "--self-test", "element", "--shrink")
        shrunk = re.search(r'^SHRUNK .*--replay "(.*)"$', done.stdout, re.MULTILINE)
        self.assertIsNotNone(shrunk, done.stdout)
        self.assertNotIn("operands", shrunk.group(1))

    def test_wrong_arguments_are_named(self):
        for arguments, word in ((["--speed"], "--speed"), (["--seed", "x"], "x"),
                                (["--replay", "call m=1 q=2"], "q=2"),
                                (["--replay", "call in=f8"], "f8"),
                                (["--replay", "call operands=copied_c"], "copied_c"),
                                (["--replay", "call entry=matmul gate=half"], "half"),
                                (["--self-test", "bias"], "bias")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
