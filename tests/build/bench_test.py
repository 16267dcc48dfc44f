# SPDX-License-Identifier: Apache-2.0
"""What bwgemm_bench does without a GPU: a sweep covers every kernel of the library, the committed
lists are read whole, wrong arguments are named."""

import csv
import os
import re
import subprocess
import tempfile
import unittest

import environment

BENCH = os.path.join(environment.BUILD, "bin", "bwgemm_bench")
PEER = os.path.join(environment.BUILD, "bin", "bwgemm_peer")
PROBLEM = ["--problem", "m=512,n=512,k=512,transb=T"]
NO_DRIVER = {**os.environ, "BWGEMM_LIBCUDA": "/nonexistent/libcuda.so.1"}
NO_DRIVER.pop("BWGEMM_FORCE_KERNEL", None)
VIRTUAL = {"BWGEMM_LIBCUDA": os.path.join(environment.BUILD, "lib", "vgpu", "libcuda.so.1"),
           "BWGEMM_VGPU_INDEX": os.path.join(environment.KERNELS, "kernels.index")}

# Each epilogue, and what the kernels and the check have several ways for.
EPILOGUES = """\
name,M,N,K,transB,dtype,out,epilogue,gate,batch,alpha,scalars
none,64,128,64,T,bf16,bf16,none,,1,1,host
beta1,64,128,64,T,bf16,bf16,beta1,,1,1,host
residual,64,128,64,T,bf16,bf16,residual,,1,1,host
residual.f32,64,128,64,T,bf16,f32,residual,,1,1,device
bias,64,128,64,T,f16,f16,bias,,1,1,host
bias.batch,7,37,64,T,f16,f32,bias,,3,0.5,host
relu,64,128,64,T,bf16,bf16,relu,,1,1,host
gelu_tanh,64,128,64,T,f16,f16,gelu_tanh,,1,0.125,host
bias_relu,64,128,64,T,bf16,bf16,bias_relu,,1,1,host
bias_gelu_tanh,64,128,64,N,f16,f16,bias_gelu_tanh,,1,1,host
bias_residual,64,128,64,T,f16,f16,bias_residual,,1,1,host
gelu_erf,64,128,64,T,bf16,bf16,gelu_erf,,1,0.125,host
bias_gelu_erf,64,128,64,T,f16,f16,bias_gelu_erf,,1,0.125,host
silu,64,128,64,T,bf16,bf16,silu,,1,0.125,host
silu.odd,37,53,64,T,bf16,bf16,bias_silu,,3,1,host
swiglu,64,128,64,T,bf16,bf16,swiglu,,1,0.125,host
swiglu.stacked,64,128,64,T,f16,f16,swiglu,stacked,1,0.125,device
swiglu.batch,8,128,64,T,bf16,bf16,bias_swiglu,stacked,3,1,host
swiglu.odd,7,38,64,T,bf16,bf16,swiglu,interleaved,2,1,host
geglu,16,256,64,T,f16,f16,bias_geglu,,1,0.125,host
geglu.odd,7,38,64,T,f16,f16,geglu,stacked,2,0.125,host
drelu,64,128,64,T,bf16,bf16,drelu,,1,1,host
dgelu,64,128,64,T,bf16,bf16,dgelu,,1,1,host
"""


def run(*arguments, **variables):
    return subprocess.run([BENCH, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**NO_DRIVER, **variables}, check=False)


def built_kernels():
    """Names in the order of the table, each once: Blackwell kernels have two targets. Those that
    add up bias gradients or copy operands are in no table: nothing chooses among them."""
    with open(os.path.join(environment.KERNELS, "kernels.csv"), newline="") as file:
        names = dict.fromkeys(row["name"] for row in csv.DictReader(file))
        return [name for name in names if not name.endswith(("_sums", "_copy"))]


class Bench(unittest.TestCase):
    def output(self, *arguments, **variables):
        done = run(*arguments, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def swept(self, *arguments):
        """{kernel: what a sweep says of it} for one problem."""
        lines = self.output("--sweep", *arguments).splitlines()
        return dict(line.split("  ", 1) for line in lines if line.startswith("bwgemm_"))

    def test_a_sweep_covers_every_kernel(self):
        for how in (["--explain"], []):
            swept = self.swept(*PROBLEM, *how)
            self.assertEqual(list(swept), built_kernels())
            for kernel, text in swept.items():
                self.assertRegex(text, r"^H200: .+; B200: .+", kernel)

    def test_every_kernel_serves_some_problem_of_a_sweep(self):
        serving = set()
        for dtype in ("bf16", "f16"):
            for transa in "NT":
                for transb in "NT":
                    for sizes in ("m=1,n=512,k=512", "m=8,n=512,k=512", "m=512,n=512,k=512",
                                  "m=512,n=16,k=64"):
                        problem = f"{sizes},dtype={dtype},transa={transa},transb={transb}"
                        swept = self.swept("--problem", problem)
                        serving |= {name for name, text in swept.items() if "predicted" in text}
        self.assertEqual(serving, set(built_kernels()))

    def test_a_kernel_can_be_forced(self):
        for kernel in built_kernels():
            for text in (self.output("--kernel", kernel, *PROBLEM),
                         self.output(*PROBLEM, BWGEMM_FORCE_KERNEL=kernel)):
                self.assertRegex(text, rf"(?m)^kernel +{kernel}( is forced and cannot serve)?$")

    def test_without_a_driver_it_says_so(self):
        text = self.output(*PROBLEM)
        self.assertIn("Nothing was computed: ", text)
        self.assertIn("/nonexistent/libcuda.so.1", text)

    def test_committed_lists_are_read_whole(self):
        folder = os.path.join(environment.SOURCE, "bench", "problems")
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            with open(path, newline="") as file:
                rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
            shown = re.findall(r"(?m)^== (.*) ==$", self.output("--list", path, "--explain"))
            self.assertEqual(shown, [row["name"] for row in rows])

    def test_what_cannot_run_is_said(self):
        for problem, text in (("m=8,n=8,k=8,dtype=fp8_e4m3", "not supported yet: type fp8_e4m3"),
                              ("m=8,n=0,k=8", "nothing to launch")):
            self.assertIn(text, self.output("--problem", problem))

    def test_a_summary_reads_results(self):
        text = "name,m,n,k,bwgemm_us,ratio_first,ratio_best\nx,4096,4,4096,10,1.5,1.25\n"
        with tempfile.TemporaryDirectory() as folder:
            results, summary = os.path.join(folder, "r.csv"), os.path.join(folder, "s.csv")
            with open(results, "w", encoding="utf-8") as file:
                file.write(text)
            shown = self.output("--summary", f"{results},{results}", "--csv", summary)
            with open(summary, newline="", encoding="utf-8") as file:
                rows = {row["class"]: row for row in csv.DictReader(file)}
        self.assertRegex(shown, r"decode: M <= 16 +2  1\.500 ok +1\.250 ok")
        self.assertEqual(rows["decode: M <= 16"]["worst_best_name"], "x")

    def test_regret_of_a_sweep_needs_no_driver(self):
        header = "name,m,n,k,transa,kernel,tile_m,tile_n,tile_k,splits,us,predicted_us,sm_mhz," \
                 "watts,launches\n"
        chosen = re.search(r"(?m)^kernel +(bwgemm_sm90\w+)", self.output(
            "--problem", "m=4096,n=4096,k=4096,transa=T", "--colmajor", "--explain")).group(1)
        tile = re.search(r"_(\d+)x(\d+)x(\d+)_", chosen).groups()
        with tempfile.TemporaryDirectory() as folder:
            sweep = os.path.join(folder, "sweep.csv")
            with open(sweep, "w", encoding="utf-8") as file:
                file.write(header)
                file.write(f"p,4096,4096,4096,T,{chosen},{','.join(tile)},1,220,0,0,0,1\n")
                file.write("p,4096,4096,4096,T,bwgemm_sm90_other,64,64,64,1,200,0,0,0,1\n")
            text = self.output("--regret", "--from", sweep, "--explain")
        self.assertIn("mean 10.00%", text)
        self.assertIn("* " + chosen, text)

    def test_random_problems_are_a_list(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "random.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.output("--random-problems", "3,20"))
            shown = self.output("--list", path, "--explain")
        self.assertEqual(len(re.findall(r"(?m)^== ", shown)), 20)

    def test_the_ladder_computes_on_a_virtual_b200_and_times_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ladder.csv")
            text = self.output("--ladder", "--csv", path, BWGEMM_VGPU="b200", **VIRTUAL)
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        steps = ["v1a", "v1b", "v2a", "v2b", "v3", "v4", "v5", "v6", "v7"]
        self.assertEqual([(row["name"], row["check"], float(row["us"])) for row in rows],
                         [(step, "ok", 0) for step in steps])
        self.assertNotIn("TFLOP", text)
        uneven = run("--ladder", "--size", "300", BWGEMM_VGPU="b200", **VIRTUAL)
        self.assertEqual((uneven.returncode, uneven.stdout), (2, ""))
        self.assertIn("--size: step v1a: m must be a multiple", uneven.stderr)
        refused = run("--ladder", BWGEMM_VGPU="h200", **VIRTUAL)
        self.assertEqual((refused.returncode, refused.stdout), (3, ""))
        self.assertIn("the ladder needs sm_100", refused.stderr)

    def test_the_ladder_without_a_driver_is_a_table(self):
        text = self.output("--ladder")
        self.assertRegex(text, r"(?m)^v6 +256 x 256 x 64 +2 +7 +2  ")
        self.assertIn("Nothing was computed: ", text)

    def on_epilogues(self, *options, **variables):
        """{name: row of the CSV} of a run over EPILOGUES on a virtual GPU, and the run."""
        with tempfile.TemporaryDirectory() as folder:
            problems, results = os.path.join(folder, "p.csv"), os.path.join(folder, "r.csv")
            with open(problems, "w", encoding="utf-8") as file:
                file.write(EPILOGUES)
            done = run("--list", problems, "--no-time", "--csv", results, *options,
                       **{**VIRTUAL, "BWGEMM_VGPU": "h200", **variables})
            with open(results, newline="", encoding="utf-8") as file:
                return {row["name"]: row for row in csv.DictReader(file)}, done

    def test_every_epilogue_is_computed_on_a_virtual_gpu(self):
        wanted = {row["name"]: row for row in csv.DictReader(EPILOGUES.splitlines())}
        for device in ("h200", "b200"):
            rows, done = self.on_epilogues("--no-cublaslt", BWGEMM_VGPU=device)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertEqual({name: row["check"] for name, row in rows.items()},
                             dict.fromkeys(wanted, "ok"))
            for name, row in rows.items():
                epilogue = wanted[name]["epilogue"].replace("beta1", "none")
                gate = wanted[name]["gate"] or ("interleaved" if "glu" in epilogue else "none")
                self.assertEqual((row["epilogue"], row["gate"]), (epilogue, gate), name)

    def test_the_kernel_behind_a_gemm_is_checked_with_the_price_of_epilogues(self):
        for device in ("h200", "b200"):
            rows, done = self.on_epilogues("--epilogue-price", BWGEMM_VGPU=device)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            fused = [row["name"] for row in csv.DictReader(EPILOGUES.splitlines())
                     if row["epilogue"] not in ("none", "beta1")]
            self.assertEqual({name: row["check"] for name, row in rows.items()},
                             dict.fromkeys(fused, "ok"))
            self.assertIn("not run: it has no epilogue", done.stdout)

    def test_epilogues_are_explained(self):
        text = self.output("--problem", "m=64,n=4096,k=4096,transb=T,epilogue=bias_swiglu,"
                           "gate=stacked,batch=2")
        self.assertRegex(text, r"(?m)^with +bias bf16 for each column, silu, stacked gate$")
        self.assertIn(" batch 2 ", text)

    def test_the_model_of_cublas_judges_results(self):
        """One problem that bwgemm surely computes faster, one that it does not, one that cuBLAS never gets."""
        head = ("name,forced,m,n,k,transa,transb,dtype,out,alpha,beta,scalars,batch,lda,ldb,ldc,stridea,strideb,"
                "stridec,aligna,alignb,alignc,epilogue,gate,ratio_first\n")
        rest = "f16,f16,1,0,host,1"
        rows = (f"fast,,256,8,64,T,N,{rest},64,64,256,0,0,0,0,0,0,none,none,1.5\n"
                f"slow,,31,33,26120,N,N,{rest},31,26120,31,0,0,0,0,0,0,none,none,0.4\n"
                f"gate,,256,8,64,T,N,{rest},64,64,256,0,0,0,0,0,0,swiglu,stacked,1.5\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write(head + rows)
            said = environment.output(PEER, "judge", path)
            features = environment.output(PEER, "features", path).splitlines()
            refused = subprocess.run([PEER, "judge"], stderr=subprocess.PIPE, check=False)
        self.assertEqual(said, "2 problems, 50.0 % of them more than 3 % slower than cuBLASLt\n"
                               "1 served: 0.0 % of them more than 3 % slower, 100.0 % of the 1 faster ones\n")
        self.assertEqual([line.split(",")[:5] for line in features],
                         [["fast", "1.5000", "256", "8", "64"], ["slow", "0.4000", "31", "33", "26120"]])
        self.assertIn(b"usage", refused.stderr)

    def test_a_file_without_later_columns_is_resumed(self):
        problems = "name,M,N,K,transB\nold,64,64,64,T\nnew,64,64,64,T\n"
        with tempfile.TemporaryDirectory() as folder:
            path, results = os.path.join(folder, "p.csv"), os.path.join(folder, "r.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write(problems)
            measure = ["--list", path, "--no-time", "--no-cublaslt", "--csv", results]
            virtual = {**VIRTUAL, "BWGEMM_VGPU": "h200"}
            self.output(*measure, **virtual)
            with open(results, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            later = ("epilogue", "gate", "first_check")
            with open(results, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, [key for key in rows[0] if key not in later],
                                        extrasaction="ignore", lineterminator="\n")
                writer.writeheader()
                writer.writerow({**rows[0], "bwgemm_us": "12.500"})
            self.output(*measure, "--resume", **virtual)
            with open(results, newline="", encoding="utf-8") as file:
                resumed = list(csv.DictReader(file))
            self.assertEqual(resumed, [{**rows[0], "bwgemm_us": "12.500"}, rows[1]])
            with open(results, "w", encoding="utf-8") as file:
                file.write("name,forced,m\nold,,64\n")
            refused = run(*measure, "--resume", **virtual)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("has no column best_us and cannot be resumed", refused.stderr)

    def test_help(self):
        self.assertIn("--problem TEXT", self.output("--help"))

    def test_wrong_arguments(self):
        for arguments, text in (
                ([], "either --problem or --list"),
                (["--problem"], "--problem wants a value"),
                (["--problem", "m=8,n=8,k=8,foo=1"], "unknown key 'foo'; known are: m n k"),
                (["--list", "/nonexistent.csv"], "cannot open /nonexistent.csv"),
                ([*PROBLEM, "--list", "x.csv"], "either --problem or --list"),
                ([*PROBLEM, "--fast"], "unknown argument --fast"),
                ([*PROBLEM, "--pairs", "0"], "--pairs is 0"),
                ([*PROBLEM, "--pairs", "1.5"], "--pairs is '1.5'"),
                ([*PROBLEM, "--warm-ms", "long"], "--warm-ms is 'long'"),
                ([*PROBLEM, "--shard", "2/2"], "--shard's I is 2"),
                (["--random-problems", "3"], "--random-problems is '3' but must be SEED,COUNT"),
                ([*PROBLEM, "--from", "x.csv"], "--from belongs to --regret"),
                ([*PROBLEM, "--measured", "8"], "--measured belongs to --regret"),
                ([*PROBLEM, "--sm-count", "4"], "--sm-count belongs to --trace"),
                ([*PROBLEM, "--ceiling"], "--problem and --list mean nothing here"),
                (["--list", "x.csv", "--trace", "t.json"], "--trace takes one --problem"),
                ([*PROBLEM, "--ladder"], "--problem and --list mean nothing here"),
                (["--ladder", "--size", "64"], "--size is 64 but must be 256 to 65536"),
                ([*PROBLEM, "--sweep", "--host"], "only one of --sweep"),
                ([*PROBLEM, "--batch-invariant", "--epilogue-price"], "only one of --sweep"),
                (["--problem", "m=8,n=7,k=8,epilogue=swiglu"], "n is 7 but must be even"),
                (["--summary", "/nonexistent.csv"], "cannot open /nonexistent.csv"),
                ([*PROBLEM, "--resume"], "--resume needs --csv"),
                ([*PROBLEM, "--kernel", "cutlass"], "no kernel is called cutlass"),
                ([*PROBLEM, "--kernel", "x", "--sweep"], "--sweep and --kernel exclude each other")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
