#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits what corrects the cost model (src/select/correction_trees.inc). Needs catboost and numpy.

    bwgemm_fit --features SWEEP.csv... > features.csv
    correction_trees.py [--held FEATURES]... features.csv > src/select/correction_trees.inc

Boosted trees tell the logarithm of a kernel's measured over its predicted time. What the kernels
that are compared for one problem have in common is left out. All nodes of a level ask the same
question, so a tree is six questions and a table. Standard error says the regret, without and with
the trees, of problems fitted to and of each file held out.
"""

import argparse
import json
import math
import sys
import tempfile

import numpy as np
from catboost import CatBoost, Pool

COMPARED, FURTHEST = 8, 1.2  # most_corrected and furthest_corrected
LEVELS = 6
LARGEST = 0.4                # of logarithms that are fitted to
STEPS = 45                   # of a leaf, up and down
FIRST = ord("#")             # what the lowest is written as


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

    def pool(self):
        groups = [rows for rows in map(self.compared, self.problems) if len(rows) > 1]
        logs = [np.log(self.us[rows] / self.predicted[rows]) for rows in groups]
        wanted = [np.clip(log - np.median(log), -LARGEST, LARGEST) for log in logs]
        return Pool(self.features[np.concatenate(groups)], np.concatenate(wanted),
                    group_id=np.repeat(np.arange(len(groups)), [len(rows) for rows in groups]))

    def regret(self, corrections):
        regrets = []
        for rows in map(self.compared, self.problems):
            chosen = rows[np.argmin(np.log(self.predicted[rows]) + corrections[rows])]
            regrets.append(self.us[chosen] / self.best[chosen] - 1)
        return (f"{len(regrets)} problems, mean {np.mean(regrets):.2%}, 95th percentile "
                f"{np.quantile(regrets, 0.95):.1%}, worst {max(regrets):.0%}")


def in_fours(texts):
    return ["".join(texts[first:first + 4]) for first in range(0, len(texts), 4)]


class Trees:
    """Questions (feature, above), the first answer highest in a leaf's number, and leaves in steps."""

    def __init__(self, model):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            model.save_model(file.name, format="json")
            trees = json.load(file)["oblivious_trees"]
        asked = [[(split["float_feature_index"], math.floor(split["border"]))
                  for split in reversed(tree["splits"])] for tree in trees]
        # A tree of fewer levels first asks what nothing is above.
        self.questions = [[(0, 32767)] * (LEVELS - len(tree)) + tree for tree in asked]
        values = np.array([np.pad(tree["leaf_values"], (0, 2 ** LEVELS - len(tree["leaf_values"])))
                           for tree in trees])
        self.step = float(np.quantile(np.abs(values), 0.9995) / STEPS)
        self.leaves = np.clip(np.rint(values / self.step), -STEPS, STEPS).astype(int)
        self.leaves[FIRST + STEPS + self.leaves == ord("\\")] += 1  # would have to be written twice

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
                 f"constexpr std::array<Tree, {len(self.questions)}> trees = {{{{"]
        asked = ["{{{" + ",".join(f"{{{f},{above}}}" for f, above in questions) + "}}},"
                 for questions in self.questions]
        told = ['"' + "".join(chr(FIRST + STEPS + leaf) for leaf in leaves) + '"'
                for leaves in self.leaves]
        lines += in_fours(asked) + ["}};", "constexpr char leaves[] ="] + in_fours(told)
        return "\n".join(lines) + ";"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--held", action="append", default=[])
    parser.add_argument("--trees", type=int, default=400)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("features")
    options = parser.parse_args()
    times = Times(options.features)
    model = CatBoost({"loss_function": "QueryRMSE", "iterations": options.trees, "depth": LEVELS,
                      "learning_rate": options.rate, "l2_leaf_reg": 1, "border_count": 96,
                      "random_seed": 1, "verbose": 0})
    model.fit(times.pool())
    trees = Trees(model)
    for path in [options.features, *options.held]:
        judged = Times(path)
        none = np.zeros(len(judged.us))
        print(f"{path}: {judged.regret(none)}; corrected: "
              f"{judged.regret(trees.corrections(judged.features))}", file=sys.stderr)
    print(trees.text())


if __name__ == "__main__":
    main()
