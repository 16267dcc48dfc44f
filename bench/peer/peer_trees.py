#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the model of cuBLAS (src/dropin/peer_trees.inc) to measured problems. Needs numpy.

    bwgemm_peer features RESULTS.csv... > features.csv
    peer_trees.py [--trees N] [--rate R] [--slower SHARE] features.csv > src/dropin/peer_trees.inc

Boosted trees tell which problems bwgemm computes more than 3 % slower than cuBLAS. All nodes of a
level ask the same question, so a tree is five questions and a table. The lead that is enough is
read off problems that the trees were not fitted to: each fifth of them by trees of the others, so
that of the served ones the SHARE is slower. Standard error says what was then served.
"""

import argparse
import re
import sys

import numpy as np

LEVELS = 5
BINS = 96           # of a feature
PRIOR = 6.0         # weight with which a leaf is drawn to 0
SCALE = 100         # of leads
MOST = 24           # of a leaf, up and down; a leaf is a character, counted from that of 0
ZERO = ";"
FIRST_FEATURE = "("  # what feature 0 is written as
FOLDS = 5


def read(path):
    rows = [line.split(",") for line in open(path, encoding="ascii")]
    ratio = np.array([float(row[1]) for row in rows])
    return ratio, np.array([[int(cell) for cell in row[2:]] for row in rows], dtype=np.int64)


def edges_of(feature):
    """Values between which a question may cut, each of them one of the feature's."""
    values = np.unique(feature)
    if len(values) > BINS:
        values = np.unique(np.quantile(feature, np.linspace(0, 1, BINS), method="lower"))
    return values[:-1]


class Binned:
    """The features of the problems as numbers of bins."""

    def __init__(self, features):
        self.edges = [edges_of(column) for column in features.T]
        bins = [np.searchsorted(edges, column) for edges, column in zip(self.edges, features.T)]
        self.bins = np.stack(bins, 1)
        self.places = self.bins + np.arange(len(self.edges)) * BINS

    def sums(self, leaf, leaves, weights):
        """[leaf, feature, bin]: the weights of the problems there and in all lower bins."""
        width = len(self.edges) * BINS
        flat = (leaf[:, None] * width + self.places).ravel()
        found = np.bincount(flat, np.repeat(weights, len(self.edges)), leaves * width)
        return np.cumsum(found.reshape(leaves, len(self.edges), BINS), 2)


def gain(slope, curvature):
    return slope ** 2 / (curvature + PRIOR)


def grow(binned, slope, curvature):
    """The questions of one tree, (feature, bin), and the leaf of each problem."""
    leaf, questions = np.zeros(len(slope), dtype=np.int64), []
    for level in range(LEVELS):
        leaves = 1 << level
        low, low_curve = (binned.sums(leaf, leaves, w) for w in (slope, curvature))
        high, high_curve = low[:, :, -1:] - low, low_curve[:, :, -1:] - low_curve
        gains = (gain(low, low_curve) + gain(high, high_curve)).sum(0)
        for feature, edges in enumerate(binned.edges):
            gains[feature, len(edges):] = -1  # nothing lies above
        feature, at = np.unravel_index(np.argmax(gains), gains.shape)
        questions.append((feature, at))
        leaf = leaf + (binned.bins[:, feature] > at) * leaves
    return questions, leaf


def fit(features, slow, count, rate):
    """Trees [(feature, above), ...], leaves; the more a problem's leaves add up to, the faster."""
    binned, trees = Binned(features), []
    score = np.zeros(len(slow))
    for _ in range(count):
        probability = 1 / (1 + np.exp(-score))
        curvature = probability * (1 - probability)
        questions, leaf = grow(binned, slow - probability, curvature)
        slope = np.bincount(leaf, slow - probability, 1 << LEVELS)
        weight = np.bincount(leaf, curvature, 1 << LEVELS)
        values = np.rint(SCALE * rate * slope / (weight + PRIOR)).astype(int).clip(-MOST, MOST)
        trees.append(([(f, int(binned.edges[f][at])) for f, at in questions], -values))
        score += values[leaf] / SCALE
    return trees


def lead(trees, features):
    total = np.zeros(len(features), dtype=np.int64)
    for questions, leaves in trees:
        leaf = sum((features[:, f] > above).astype(np.int64) << level
                   for level, (f, above) in enumerate(questions))
        total += leaves[leaf]
    return total


def held_out(features, slow, count, rate):
    fold = np.random.default_rng(1).permutation(len(slow)) % FOLDS
    leads = np.zeros(len(slow), dtype=np.int64)
    for part in range(FOLDS):
        rest = fold != part
        leads[~rest] = lead(fit(features[rest], slow[rest], count, rate), features[~rest])
    return leads


def enough(leads, slow, share):
    """The least lead above which at most the share of the problems is slow."""
    order = np.argsort(-leads, kind="stable")
    part = np.cumsum(slow[order]) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(part <= share)
    return int(leads[order[good[-1]]]) + 1


def joined(texts, number):
    return ["".join(texts[first:first + number]) for first in range(0, len(texts), number)]


def literals(lines):
    """String literals, without trigraphs."""
    return ['"' + re.sub(r"\?(?=\?)", r"?\\", line) + '"' for line in lines]


def text(trees, least):
    assert max(f for questions, _ in trees for f, _ in questions) < ord("\\") - ord(FIRST_FEATURE)
    asked = ["".join(chr(ord(FIRST_FEATURE) + f) for f, _ in questions) for questions, _ in trees]
    above = ["".join(f"{a}," for _, a in questions) for questions, _ in trees]
    told = ["".join(chr(ord(ZERO) + leaf) for leaf in leaves) for _, leaves in trees]
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// Written by bench/peer/peer_trees.py.",
             "// clang-format off",
             f"constexpr int least_lead = {least};",
             f"constexpr char zero_leaf = '{ZERO}', first_feature = '{FIRST_FEATURE}';",
             "constexpr char asked_features[] =", *literals(joined(asked, 20)), ";",
             f"constexpr std::array<int, {LEVELS * len(trees)}> above = {{", *joined(above, 8), "};",
             "constexpr char leaves[] =", *literals(joined(told, 4)), ";"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trees", type=int, default=900)
    parser.add_argument("--rate", type=float, default=0.12)
    parser.add_argument("--slower", type=float, default=0.015)
    parser.add_argument("features")
    options = parser.parse_args()
    ratio, features = read(options.features)
    slow = (ratio < 1 / 1.03).astype(float)
    leads = held_out(features, slow, options.trees, options.rate)
    least = enough(leads, slow, options.slower)
    served, wins = leads >= least, ratio > 1
    print(f"of {len(ratio)} problems {served.mean():.1%} served, {slow[served].mean():.2%} of them "
          f"more than 3 % slower; {(served & wins).sum() / wins.sum():.1%} of the faster ones",
          file=sys.stderr)
    print(text(fit(features, slow, options.trees, options.rate), least))


if __name__ == "__main__":
    main()
