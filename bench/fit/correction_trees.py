#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits what corrects the cost model (src/select/correction_trees.inc). Needs catboost and numpy.

    bwgemm_fit --features SWEEP.csv... > features.csv
    correction_trees.py [--held FEATURES]... features.csv > trees.inc
    correction_trees.py --add TREES [--told FEATURES]... [--held FEATURES]... features.csv > trees.inc

Boosted trees tell the logarithm of a kernel's measured over its predicted time. What the kernels
that are compared for one problem have in common is left out. All nodes of a level ask the same
question, so a tree is six questions and a table. Standard error says the regret, without and with
the trees, of problems fitted to and of each file held out.

--add keeps the library's trees and fits so many more to what these leave. The library's trees know
cards and problems that are not measured now. --told names the features of such problems; the times
in the file are not used. The added trees should leave the choice for these problems as it is.
"""

import argparse
import json
import math
import os
import re
import sys
import tempfile

import numpy as np
from catboost import CatBoost, Pool

COMPARED, FURTHEST = 8, 1.2  # most_corrected and furthest_corrected
LEVELS = 6
LARGEST = 0.4                # of logarithms that are fitted to
STEPS = 45                   # of a leaf, up and down
FIRST = ord("#")             # what the lowest is written as
WEIGHT_OF_TOLD = 0.3         # beside a measured problem
LIBRARY = os.path.join(os.path.dirname(__file__), "..", "..", "src", "select", "correction_trees.inc")


class Times:
    """Rows of kernels: problem, measured, predicted and least measured time, features."""

    def __init__(self, path):
        rows = np.loadtxt(path, delimiter=",", ndmin=2)
        self.us, self.predicted, self.best = rows[:, 1:4].T
        self.features = rows[:, 4:].astype(np.float32)
        starts = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
        self.problems = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(rows)])]

    def compared(self, rows):
        predicted = self.predicted[rows]
        near = np.argsort(predicted, kind="stable")[:COMPARED]
        return rows.start + near[predicted[near] < FURTHEST * predicted.min()]

    def wanted(self):
        """Yields for each problem the rows of the kernels that are compared, and what trees should say."""
        for rows in map(self.compared, self.problems):
            if len(rows) > 1:
                logs = np.log(self.us[rows] / self.predicted[rows])
                yield rows, np.clip(logs - np.median(logs), -LARGEST, LARGEST)

    def regret(self, corrections):
        regrets = []
        for rows in map(self.compared, self.problems):
            chosen = rows[np.argmin(np.log(self.predicted[rows]) + corrections[rows])]
            regrets.append(self.us[chosen] / self.best[chosen] - 1)
        return (f"{len(regrets)} problems, mean {np.mean(regrets):.2%}, 95th percentile "
                f"{np.quantile(regrets, 0.95):.1%}, worst {max(regrets):.0%}")


def pool_of(measured, told, known):
    """`known`: trees to which others are added, or None."""
    features, logs, bases, weights, kernels = [], [], [], [], []
    for times, weight in [(measured, 1)] + [(times, WEIGHT_OF_TOLD) for times in told]:
        base = known.corrections(times.features) if known else np.zeros(len(times.us))
        for rows, wanted in times.wanted():
            features.append(times.features[rows])
            logs.append(wanted if times is measured else base[rows])
            bases.append(base[rows])
            weights.append(weight)
            kernels.append(len(rows))
    return Pool(np.concatenate(features), np.concatenate(logs), baseline=np.concatenate(bases),
                group_id=np.repeat(np.arange(len(kernels)), kernels),
                group_weight=np.repeat(weights, kernels))


def in_fours(texts):
    return ["".join(texts[first:first + 4]) for first in range(0, len(texts), 4)]


class Trees:
    """Questions (feature, above), the first answer highest in a leaf's number, and leaves in steps."""

    def __init__(self, questions, leaves, step):
        self.questions, self.leaves, self.step = questions, leaves, step

    @classmethod
    def of_library(cls):
        with open(LIBRARY, encoding="utf-8") as file:
            asked, told = file.read().split("constexpr char leaves[] =")
        questions = np.array(re.findall(r"-?\d+", asked[asked.index("asked = {"):]), dtype=int)
        questions = questions.reshape(-1, LEVELS, 2)
        leaves = np.array(list("".join(re.findall(r'"(.*?)"', told)).encode())).reshape(-1, 2 ** LEVELS)
        return cls(questions.tolist(), leaves - (FIRST + STEPS),
                   float(re.search(r"leaf_step = (.*);", asked)[1]))

    @classmethod
    def of_model(cls, model, step=None):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            model.save_model(file.name, format="json")
            trees = json.load(file)["oblivious_trees"]
        asked = [[(split["float_feature_index"], math.floor(split["border"]))
                  for split in reversed(tree["splits"])] for tree in trees]
        # A tree of fewer levels first asks what nothing is above.
        questions = [[(0, 32767)] * (LEVELS - len(tree)) + tree for tree in asked]
        values = np.array([np.pad(tree["leaf_values"], (0, 2 ** LEVELS - len(tree["leaf_values"])))
                           for tree in trees])
        step = step or float(np.quantile(np.abs(values), 0.9995) / STEPS)
        leaves = np.clip(np.rint(values / step), -STEPS, STEPS).astype(int)
        leaves[FIRST + STEPS + leaves == ord("\\")] += 1  # would have to be written twice
        return cls(questions, leaves, step)

    def with_added(self, model):
        added = Trees.of_model(model, self.step)
        return Trees(self.questions + added.questions, np.concatenate([self.leaves, added.leaves]),
                     self.step)

    def corrections(self, features):
        sums = np.zeros(len(features), dtype=int)
        for questions, leaves in zip(self.questions, self.leaves):
            leaf = np.zeros(len(features), dtype=int)
            for feature, above in questions:
                leaf = 2 * leaf + (features[:, feature] > above)
            sums += leaves[leaf]
        return self.step * sums

    def text(self):
        lines = ["// SPDX-License-Identifier: Apache-2.0",
                 "// Written by bench/fit/correction_trees.py.",
                 "// clang-format off",
                 f"constexpr char zero_leaf = '{chr(FIRST + STEPS)}';",
                 f"constexpr double leaf_step = {self.step:.6g};",
                 f"constexpr std::array<short, {2 * LEVELS * len(self.questions)}> asked = {{"]
        asked = ["".join(f"{f},{above}," for f, above in questions) for questions in self.questions]
        told = ['"' + "".join(chr(FIRST + STEPS + leaf) for leaf in leaves) + '"'
                for leaves in self.leaves]
        lines += in_fours(asked) + ["};", "constexpr char leaves[] ="] + in_fours(told)
        return "\n".join(lines) + ";"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--held", action="append", default=[])
    parser.add_argument("--told", action="append", default=[])
    parser.add_argument("--add", type=int, default=0)
    parser.add_argument("--trees", type=int, default=400)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("features")
    options = parser.parse_args()
    if options.told and not options.add:
        parser.error("--told needs --add: it says what added trees should leave as it is")
    known = Trees.of_library() if options.add else None
    model = CatBoost({"loss_function": "QueryRMSE", "iterations": options.add or options.trees,
                      "depth": LEVELS, "learning_rate": options.rate, "l2_leaf_reg": 1,
                      "border_count": 96, "random_seed": 1, "verbose": 0})
    model.fit(pool_of(Times(options.features), [Times(path) for path in options.told], known))
    trees = known.with_added(model) if known else Trees.of_model(model)
    for path in [options.features, *options.held]:
        judged = Times(path)
        none = np.zeros(len(judged.us))
        print(f"{path}: {judged.regret(none)}; corrected: "
              f"{judged.regret(trees.corrections(judged.features))}", file=sys.stderr)
    print(trees.text())


if __name__ == "__main__":
    main()
