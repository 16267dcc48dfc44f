#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every TMA kernel of PTX_DIR (<kernel name>.ptx, or <kernel name>.<target>.ptx as the build
# writes them) on the prototype emulator of EMULATOR_DIR (sim.h, exec.cpp; after emulator.patch of
# this folder) and prints one line per
# kernel: runs, runs that failed, findings. Failures are printed in full above the table.
# Usage: run.sh EMULATOR_DIR PTX_DIR [FILTER]     FILTER: only kernels whose name contains it
set -euo pipefail

if [[ $# -lt 2 ]]; then
  sed -n '3,7s/^# //p' "$0"
  exit 2
fi
emulator=$(realpath "$1") ptx=$(realpath "$2") filter=${3:-}
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# -w: the emulator is not ours to clean. -ffp-contract=off: it computes each operation as PTX says.
g++ -std=c++20 -O2 -march=x86-64-v3 -ffp-contract=off -fno-strict-aliasing -w \
  -I "$emulator" -I "$root/src" -I "$root/include" -I "$root/tests" \
  "$here/run.cpp" "$emulator/exec.cpp" -o "$work/run"

# One line per problem. Ragged in m, n and k; one element of k; a ring many times round; several
# tiles per cluster; batches, shared and not; nothing to multiply, known to the host or not.
problems=(
  "m=333 n=413 k=205 alpha=-0.5 scalars=device"
  "m=333 n=413 k=205 in_place=1"
  "m=130 n=258 k=1"
  "m=200 n=136 k=1480"
  "m=1030 n=600 k=136 group=3"
  "m=70 n=40 k=72 batch=7 broadcast=b clusters=1"
  "m=300 n=100 k=130 batch=3 broadcast=a scalars=device"
  "m=260 n=300 k=0 alpha=inf"
  "m=260 n=300 k=100 alpha=0 scalars=device"
)

# What the config leaves to the launch, one line per choice.
launch_choices() {
  case $1 in
    *_pair)
      for input in bf16 f16; do
        for tile_n in 32 64 96 128 160 256; do
          for majors in "a=k b=k" "a=mn b=k"; do
            echo "input=$input tile_n=$tile_n $majors"
          done
        done
        for tile_n in 128 256; do  # the ones that an N-major B allows
          for majors in "a=k b=mn" "a=mn b=mn"; do
            echo "input=$input tile_n=$tile_n $majors"
          done
        done
      done ;;
    *) echo "" ;;
  esac
}

for file in "$ptx"/bwgemm_*"$filter"*.ptx; do
  kernel=$(basename "$file" | cut -d. -f1)
  case $kernel in *_coop | *_pair) ;; *) continue ;; esac
  launch_choices "$kernel" | while read -r choice; do
    for problem in "${problems[@]}"; do
      for output in 16 32; do
        for beta in 0 1.5; do
          echo "ptx=$file kernel=$kernel $choice $problem out=$output beta=$beta"
        done
      done
    done
  done
done > "$work/commands"

run_one() {
  # shellcheck disable=SC2086,SC2001  # the words of $1 are the arguments
  output=$("$RUN" $1 2>&1) || true
  sed "s|^|$(grep -o 'kernel=[^ ]*' <<< "$1" | cut -d= -f2) |" <<< "$output"
  if ! grep -q '^PASS' <<< "$output" || grep -qv '^PASS' <<< "$output"; then
    printf '%s\n%s\n' "$1" "$output" >&2
  fi
}
export -f run_one
export RUN="$work/run"
# shellcheck disable=SC2016  # the inner shell expands it
xargs -P "$(nproc)" -d '\n' -n 1 bash -c 'run_one "$0"' < "$work/commands" > "$work/results"

awk '
  $2 == "PASS" || $2 == "FAIL" || $2 == "ERROR" { runs[$1]++; failed[$1] += $2 != "PASS" }
  $2 == "PASS" || $2 == "FAIL" { findings[$1] += $6 }
  END {
    printf "%-56s %6s %6s %8s\n", "kernel", "runs", "failed", "findings"
    for (kernel in runs) {
      printf "%-56s %6d %6d %8d\n", kernel, runs[kernel], failed[kernel], findings[kernel] | "sort"
      bad += failed[kernel]; all += runs[kernel]
    }
    close("sort")
    printf "%d runs, %d failed\n", all, bad
    exit bad > 0 || all == 0
  }' "$work/results"
