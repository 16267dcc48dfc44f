# SPDX-License-Identifier: Apache-2.0
"""bwgemm-run --tune, bwgemm-tune, and what a program then gets by the file, over the false driver. There
bwgemm takes 100 microseconds for a product, and the double of cuBLAS one for each row."""

import csv
import os
import pty
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import program_test  # noqa: E402
from program_test import BIN, RUN, run  # noqa: E402

environment = program_test.environment
KINDS = os.path.join(BIN, "bwgemm_dropin_kinds")
TUNE = os.path.join(BIN, "bwgemm-tune")
SPENDS = {"FAKE_CUBLAS_SPENDS": "1"}
# What reaches cuBLAS: all; what bwgemm does not serve; besides, what the file leaves to cuBLAS.
ALL, ONE, SLOWER = "9 products, 2 of Lt\n", "1 products, 0 of Lt\n", "2 products, 1 of Lt\n"


# A program that names each signal, as its child does. SIGTERM ends it and the child with status 5.
NAMES = """
import os, signal
numbers = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
who = "program" if os.fork() else "child"
os.write(1, f"{who} is there\\n".encode())
number = 0
while number != signal.SIGTERM:
    number = signal.sigwait(numbers)
    os.write(1, f"{who} {number}\\n".encode())
os._exit(0 if who == "child" else 5)
"""


def start(*command, **options):
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**program_test.PLAIN, "BWGEMM_LIBCUDA": program_test.FALSE_DRIVER, **SPENDS}, **options)


def lines_of(started, count):
    return sorted(started.stdout.readline() for _ in range(count))


def times(line):
    """Of the double: an algorithm's number, and 2 with a target of multiprocessors."""
    if line["function"] == "cublasLtMatmul" and line["epilogue"] == "164":
        return 3
    return 2 if line["function"] == "cublasSgemmEx" else 1


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Tune(program_test.Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tuned = os.path.join(cls.shared, "tuned.csv")
        cls.done = run(RUN, "--tune", cls.tuned, "--", KINDS, **SPENDS)

    def lines(self):
        with open(self.tuned, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def by_file(self, text, policy, **variables):
        """The run of the program by a file of that text."""
        path = self.path("chosen.csv")
        write(path, text)
        return run(RUN, "-q", KINDS, BWGEMM_CUBLAS_POLICY=policy, BWGEMM_CUBLAS_CHOSEN=path,
                   **variables)

    def test_each_kind_of_call_is_timed_by_both(self):
        self.check(self.done, ALL)
        lines = self.lines()
        self.assertEqual(len(lines), 10)
        self.assertEqual({line["function"] for line in lines},
                         {"cublasGemmEx", "cublasGemmStridedBatchedEx", "cublasGemmBatchedEx",
                          "cublasSgemmEx", "cublasHgemm", "cublasHgemmStridedBatched",
                          "cublasLtMatmul"})
        for line in lines:
            rows = int(line["m"])
            self.assertEqual((float(line["cublas_us"]), float(line["bwgemm_us"]), line["serve"],
                              line["device"], line["calls"]),
                             (rows * times(line), 100, "1" if rows > 100 else "0", "h200", "1"),
                             line)
        self.assertIn("of 10 kinds of calls bwgemm serves 8, cuBLAS keeps 2, 0 are not timed: "
                      f"{self.tuned}\n", self.done.stderr)

    def test_the_file_is_obeyed(self):
        text = environment.read(self.tuned)
        for policy in ("all", "faster"):
            self.check(self.by_file(text, policy), SLOWER)

    def test_the_policy_decides_about_calls_that_are_not_listed(self):
        lines = environment.read(self.tuned).splitlines(keepends=True)
        text = "".join(line for line in lines if "cublasGemmEx,1,0,256," not in line)
        self.check(self.by_file(text, "all"), SLOWER)
        self.check(self.by_file(text, "faster"), "3 products, 1 of Lt\n")

    def test_lines_of_another_device_list_nothing(self):
        text = environment.read(self.tuned).replace(",h200\n", ",b200\n")
        for policy, said in (("all", ONE), ("faster", ALL)):
            done = self.by_file(text, policy)
            self.check(done, said)
            self.assertIn("chosen.csv: it lists no call for the device h200\n", done.stderr)

    def test_a_broken_file_lists_nothing(self):
        text = environment.read(self.tuned)
        for policy, said in (("all", ONE), ("faster", ALL)):
            done = self.by_file(text[:-9], policy)
            self.check(done, said)
            self.assertIn("chosen.csv: line 11 is not like the first one, so that it lists no call\n",
                          done.stderr)

    def test_batch_invariant_results_do_not_depend_on_the_file(self):
        text = environment.read(self.tuned)
        for policy, said in (("all", ONE), ("faster", ALL), ("", ONE)):
            done = self.by_file(text, policy, BWGEMM_CUBLAS_BATCH_INVARIANT="1")
            self.check(done, said)
            self.assertIn("chosen.csv: it is not obeyed, because results are to be batch invariant\n",
                          done.stderr)

    def test_what_cannot_be_timed_is_left_out(self):
        calls, tuned = self.path("calls.csv"), self.path("tuned.csv")
        lines = environment.read(self.tuned + ".calls").splitlines(keepends=True)
        kept = [line for line in lines if ",64,64,64," in line or line.startswith("process")]
        write(calls, "".join(kept).replace(",1000,1,", ",1000,8,"))  # no epilogue of cuBLASLt
        done = run(TUNE, calls, tuned, **SPENDS)
        self.check(done, "")
        self.assertIn("cublasLtMatmul 64 x 64 x 64: not timed: bwgemm has no such epilogue",
                      done.stderr)
        self.assertEqual(environment.read(tuned).count("\n"), 2)
        write(calls, "".join(kept).replace("/libcublas.so", "/libcublas.none"))
        done = run(TUNE, calls, self.path("none.csv"), **SPENDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("libcublas.none.13: cannot open shared object file", done.stderr)
        self.assertFalse(os.path.exists(self.path("none.csv")))

    def test_operands_are_those_of_the_calls(self):
        """The virtual GPU refuses addresses beside them, and reads of what is not there yet."""
        calls, kinds = self.path("calls.csv"), ("process,", "Batched", "cublasLtMatmul")
        lines = environment.read(self.tuned + ".calls").splitlines(keepends=True)
        write(calls, "".join(line for line in lines if any(kind in line for kind in kinds)))
        done = run(TUNE, calls, self.path("tuned.csv"), FAKE_CUBLAS_SPENDS="0", BWGEMM_VGPU="h200",
                   BWGEMM_LIBCUDA=os.path.join(program_test.LIB, "vgpu", "libcuda.so.1"),
                   BWGEMM_VGPU_INDEX=os.path.join(environment.KERNELS, "kernels.index"))
        self.check(done, "")
        self.assertIn("of 5 kinds of calls bwgemm serves 0, cuBLAS keeps 5, 0 are not timed",
                      done.stderr)

    def test_what_bwgemm_does_not_compute_is_not_timed(self):
        """cuBLAS would, and its time would stand for both."""
        calls, tuned = self.path("calls.csv"), self.path("tuned.csv")
        lines = environment.read(self.tuned + ".calls").splitlines(keepends=True)
        kept = [line for line in lines if ",64,64,64," in line or line.startswith("process")]
        write(calls, "".join(kept).replace("cublasGemmEx,1,0,64,64,64,14,14,14,14,0,1,68,-1,",
                                           "cublasGemmEx,1,0,64,64,64,14,14,14,14,0,1,68,3,"))
        done = run(TUNE, calls, tuned, **SPENDS)
        self.check(done, "")
        self.assertIn("cublasGemmEx 64 x 64 x 64: not timed: bwgemm did not compute the call, the "
                      "reason is algo\n", done.stderr)
        self.assertEqual(environment.read(tuned).count("\n"), 2)
        done = run(TUNE, calls, self.path("none.csv"), BWGEMM_FORCE_KERNEL="none",
                   **SPENDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cublasLtMatmul 64 x 64 x 64: not timed: bwgemm did not compute the call, the "
                      "reason is refused\n", done.stderr)

    def test_an_algorithm_is_checked(self):
        calls = self.path("calls.csv")
        write(calls, environment.read(self.tuned + ".calls").replace(",0000000000000003", ",3"))
        done = run(TUNE, calls, self.path("tuned.csv"), **SPENDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the column ltalgo has 3", done.stderr)

    def test_programs_without_such_calls(self):
        tuned = self.path("tuned.csv")
        for program, status in (("true", 1), ("exit 3", 3)):
            done = run(RUN, "--tune", tuned, "sh", "-c", program)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn("tuned.csv.calls has no call that bwgemm serves", done.stderr)
        self.assertFalse(os.path.exists(tuned))

    def test_an_interrupt_ends_the_program_alone(self):
        """The folder is that of the launcher's start, wherever the program goes."""
        started = start(RUN, "--tune", "tuned.csv", "sh", "-c", f"cd /; {KINDS}; kill -INT 0",
                        cwd=self.folder, start_new_session=True)
        said = started.communicate()
        self.assertEqual((started.returncode, said[0]), (130, ALL), said[1])
        self.assertIn("the program was ended by signal 2 (Interrupt); what it recorded is timed",
                      said[1])
        self.assertEqual(environment.read(self.path("tuned.csv")).count("\n"), 11)

    def test_a_signal_to_the_launcher_ends_the_program(self):
        """What a program recorded that a signal ended is not lost."""
        tuned = self.path("tuned.csv")
        started = start(RUN, "--tune", tuned, KINDS, "wait")
        self.assertEqual(started.stdout.readline(), ALL)
        started.send_signal(signal.SIGTERM)
        rest = started.communicate(timeout=300)
        self.assertEqual((started.returncode, rest[0]), (128 + signal.SIGTERM, ""), rest[1])
        self.assertIn("the program was ended by signal 15 (Terminated); what it recorded is timed",
                      rest[1])
        self.assertEqual(environment.read(tuned), environment.read(self.tuned))

    def test_nothing_recorded_leaves_an_older_file(self):
        tuned = self.path("tuned.csv")
        write(tuned, "older\n")
        done = run(RUN, "--tune", tuned, "sh", "-c", "kill -TERM $$")
        self.assertEqual(done.returncode, 128 + signal.SIGTERM)
        self.assertIn(f"{tuned}.calls has no call that bwgemm serves; {tuned} is not written",
                      done.stderr)
        self.assertEqual(environment.read(tuned), "older\n")

    def test_signals_reach_the_group_of_the_program_once(self):
        for send in (os.kill, os.killpg):
            started = start(RUN, "-q", "--tune", self.path("tuned.csv"), sys.executable, "-c", NAMES,
                            start_new_session=True)
            self.assertEqual(lines_of(started, 2), ["child is there\n", "program is there\n"])
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTERM):
                send(started.pid, number)
                self.assertEqual(lines_of(started, 2),
                                 [f"child {int(number)}\n", f"program {int(number)}\n"])
            rest = started.communicate(timeout=300)
            self.assertEqual((started.returncode, rest[0]), (5, ""), rest[1])
            self.assertIn("the program ended with status 5", rest[1])

    def test_signals_that_the_launcher_ignores_do_not_reach_the_program(self):
        started = start("sh", "-c", "trap '' HUP; exec \"$@\"", "sh", RUN, "--tune",
                        self.path("tuned.csv"), sys.executable, "-c", NAMES)
        lines_of(started, 2)
        for number in (signal.SIGHUP, signal.SIGTERM):
            started.send_signal(number)
        self.assertEqual(sorted(started.communicate(timeout=300)[0].splitlines()),
                         ["child 15", "program 15"])
        self.assertEqual(started.returncode, 5)

    def test_a_launcher_that_is_killed_ends_the_program(self):
        waits = "import os, signal; os.write(1, b'there\\n'); signal.pause()"
        started = start(RUN, "--tune", self.path("tuned.csv"), sys.executable, "-c", waits)
        self.assertEqual(started.stdout.readline(), "there\n")
        started.kill()
        self.assertEqual(started.communicate(timeout=300)[0], "")  # once nobody can write any more

    def test_the_terminal_is_the_programs(self):
        """It reads, and the keys' signals are its own: none reaches it twice."""
        launcher, terminal = pty.fork()
        if launcher == 0:
            os.execve(RUN, [RUN, "-q", "--tune", self.path("tuned.csv"), sys.executable, "-c",
                            "import os; os.write(1, b'got ' + os.read(0, 9))\n" + NAMES],
                      {**program_test.PLAIN, "BWGEMM_LIBCUDA": program_test.FALSE_DRIVER})
        seen = b""

        def until(text):
            nonlocal seen
            while text not in seen:
                seen += os.read(terminal, 4096)
        os.write(terminal, b"word\n")
        until(b"got word")
        until(b"program is there")
        until(b"child is there")
        os.write(terminal, b"\x03")
        until(b"program 2")
        until(b"child 2")
        os.write(terminal, b"\x1a")
        self.assertTrue(os.WIFSTOPPED(os.waitpid(launcher, os.WUNTRACED)[1]))
        self.assertEqual(os.tcgetpgrp(terminal), launcher)  # for the shell
        os.kill(launcher, signal.SIGCONT)
        os.write(terminal, b"\x1c")
        until(b"program 3")
        until(b"child 3")
        self.assertNotEqual(os.tcgetpgrp(terminal), launcher)
        os.kill(launcher, signal.SIGTERM)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(launcher, 0)[1]), 5, seen)
        self.assertEqual((seen.count(b"program 2"), seen.count(b"child 2")), (1, 1), seen)

    def test_what_was_set_before_is_not_obeyed(self):
        done = run(RUN, "--tune", self.path("tuned.csv"), KINDS, **SPENDS,
                   BWGEMM_CUBLAS_POLICY="faster", BWGEMM_CUBLAS_CHOSEN=self.tuned)
        self.check(done, ALL)
        self.assertEqual(environment.read(self.path("tuned.csv")), environment.read(self.tuned))

    def test_a_file_that_cannot_be_written(self):
        done = run(TUNE, self.tuned + ".calls", self.path("no/tuned.csv"), **SPENDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write " + self.path("no/tuned.csv.partial"), done.stderr)
        self.assertNotIn("2 of 10", done.stderr)

    def test_an_older_file_stays_where_nothing_could_be_timed(self):
        calls, tuned = self.path("calls.csv"), self.path("tuned.csv")
        lines = environment.read(self.tuned + ".calls").splitlines(keepends=True)
        kept = [line for line in lines if ",1000,1," in line or line.startswith("process")]
        write(calls, "".join(kept).replace(",1000,1,", ",1000,8,"))  # no epilogue of cuBLASLt
        write(tuned, "older\n")
        done = run(TUNE, calls, tuned, **SPENDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no call could be timed", done.stderr)
        self.assertEqual(environment.read(tuned), "older\n")

    def test_a_program_whose_name_looks_like_a_variable(self):
        program = self.path("a=b")
        os.symlink(KINDS, program)
        self.check(run(RUN, "--tune", self.path("tuned.csv"), program, **SPENDS), ALL)

    def test_launcher_refuses(self):
        for arguments, why in ((["--tune"], "--tune wants a file"),
                               (["--tune", "-n", KINDS], "--tune wants a file"),
                               (["--tune", "--", KINDS], "--tune wants a file"),
                               (["-l", "x", "--tune", "y", KINDS], "--tune and -l exclude each other"),
                               (["--tune", "y", "-m", "log", KINDS], "--tune and -m exclude each other"),
                               (["--tune", self.path("no/y"), KINDS], "y.calls cannot be written"),
                               (["--fast", KINDS], "usage: ")):
            done = run(RUN, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(why, done.stderr)
        self.assertEqual(run(TUNE, "x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
