# SPDX-License-Identifier: Apache-2.0
"""packaging/chart.py draws every problem and every class, the worst ones by name, and the same
bytes for the same CSVs."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import environment

CHART = os.path.join(environment.SOURCE, "packaging", "chart.py")

RESULTS = """\
name,m,n,k,batch,stridea,strideb,stridec,out,beta,bwgemm_us,first_us,best_us,ratio_first,ratio_best
decode & more,4096,1,4096,1,16777216,4096,4096,bf16,0,8.0,10.0,9.0,1.25,1.125
square,4096,4096,4096,1,16777216,16777216,16777216,bf16,0,200,190,190,0.95,0.94
alone,64,64,64,1,4096,4096,4096,f32,1,3.0,0,0,0,0
untimed,64,64,64,1,4096,4096,4096,bf16,0,0,0,0,0,0
"""
SUMMARY = """\
class,problems,mean_first,wanted_first,mean_best,wanted_best,worst_first,worst_first_name,\
worst_best,worst_best_name
"all",2,1.09,1.12,1.03,1.08,0.95,square,0.94,square
"decode: M <= 16",1,1.25,1.10,1.125,1.06,1.25,decode & more,1.125,decode & more
"""
CEILINGS = """\
name,unit,burst,sustained
tensor_2x256,TFLOP/s,930.1,860.2
tensor_2x64,TFLOP/s,500,400
copy,TB/s,4.3,4.25
"""
TRACE = """\
{"otherData":{"title":"a kernel"},"displayTimeUnit":"ns",
"traceEvents":[
{"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"CTA 0 consumer 1: tiles"}},
{"ph":"X","name":"tile 0","pid":7,"tid":8,"ts":1.0,"dur":4.0},
{"ph":"M","name":"thread_name","pid":7,"tid":9,"args":{"name":"CTA 0 consumer 1"}},
{"ph":"X","name":"multiply 3","pid":7,"tid":9,"ts":1.0,"dur":2.0},
{"ph":"X","name":"epilogue 0","pid":7,"tid":9,"ts":3.0,"dur":2.0},
{"ph":"M","name":"thread_name","pid":7,"tid":1,"args":{"name":"CTA 0 producer"}},
{"ph":"X","name":"wait for a slot 9","pid":7,"tid":1,"ts":11.5,"dur":2.0},
{"ph":"M","name":"thread_name","pid":8,"tid":1,"args":{"name":"CTA 1 producer"}},
{"ph":"X","name":"issue loads 0","pid":8,"tid":1,"ts":0.5,"dur":0.5}
]}
"""
LADDER = """\
kind,step,tflops,published,error_percent,left_out_tflops,left_out_error_percent
predicted,v5,1327,1302,1.9,1290,-0.9
predicted,v6,1470,,,,
"""


class Chart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("results", RESULTS), ("summary", SUMMARY), ("ceilings", CEILINGS),
                           ("ladder", LADDER)):
            with open(self.path(f"{name}.csv"), "w", encoding="utf-8") as file:
                file.write(text)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_chart(self, chart, *options):
        return subprocess.run([sys.executable, CHART, chart, "--results", self.path("results.csv"),
                               *options, "--output", self.path("out.svg")],
                              stderr=subprocess.PIPE, text=True, check=False)

    def drawn(self, chart, *options):
        done = self.run_chart(chart, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("out.svg"), encoding="utf-8") as file:
            text = file.read()
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("prefers-color-scheme: dark", text)
        return text

    def test_ratios(self):
        options = ("--summary", self.path("summary.csv"))
        text = self.drawn("ratios", *options)
        for part in ("decode: M &lt;= 16", "worst 0.94 square", "worst 1.25 decode &amp; more",
                     "decode &amp; more: 1.125", "square: 0.940", "1 of 2 at least as fast"):
            self.assertIn(part, text)
        self.assertNotIn("untimed", text)
        self.assertNotIn("alone", text)
        self.assertEqual(text, self.drawn("ratios", *options))

    def test_roofline(self):
        text = self.drawn("roofline", "--ceilings", self.path("ceilings.csv"))
        for part in ("860 TFLOP/s sustained, 930 in a burst", "copy: 4.25 TB/s",
                     "square: bwgemm 687.2 TFLOP/s", "decode &amp; more: cuBLASLt 3.4"):
            self.assertIn(part, text)

    def test_ladder(self):
        with open(self.path("results.csv"), "w", encoding="utf-8") as file:
            file.write(LADDER)
        text = self.drawn("ladder", "--fitted", self.path("ladder.csv"))
        for part in ("predicted, not measured", "v5: published 1302", "+1.9 %",
                     "v5: predicted, fitted without it 1290", "v6: predicted 1470"):
            self.assertIn(part, text)
        self.assertNotIn("v6: published", text)

    def test_timeline(self):
        with open(self.path("results.csv"), "w", encoding="utf-8") as file:
            file.write(TRACE)
        text = self.drawn("timeline", "--microseconds", "10")
        for part in ("a kernel", "the first 10 us", "multiply, 2.00 us", "epilogue, 2.00 us"):
            self.assertIn(part, text)
        self.assertLess(text.index(">producer<"), text.index(">consumer 1<"))
        for part in ("tile 0", "issue loads, 0.50", "wait for a slot"):  # others, and too late
            self.assertNotIn(part, text)

    def test_ceilings_without_tensor_cores_are_refused(self):
        with open(self.path("ceilings.csv"), "w", encoding="utf-8") as file:
            file.write("name,unit,burst,sustained\ncopy,TB/s,4.3,4.25\n")
        done = self.run_chart("roofline", "--ceilings", self.path("ceilings.csv"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no rates of tensor cores", done.stderr)


if __name__ == "__main__":
    unittest.main()
