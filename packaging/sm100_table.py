#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of src/families/sm100/README.md: what each kernel of tensor memory takes.

  sm100_table.py build/kernels/kernels.csv      registers, of ptxas
  layout_table (compiled here, from sm100/layout.h) the rest
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = r"""
#include <cstdio>
#include "families/variants.h"
#include "families/facts.h"
using namespace bwgemm;
int main() {
  for (const KernelConfig& row : kernel_variants) {
    if (!uses_tensor_memory(row)) continue;
    const int widest = sm100::max_tile_n(row), narrowest = sm100::columns_at_once(row);
    const KernelShape wide = kernel_shape(row, widest, Dtype::bf16);
    const KernelShape narrow = kernel_shape(row, narrowest, Dtype::bf16);  // of a K-major B
    std::printf("%s,%d..%d,%d..%d,%d,%d\n", kernel_name(row).c_str(), narrowest, widest,
                wide.stages, narrow.stages, wide.smem_bytes, sm100::tensor_memory_columns(row));
  }
}
"""


def layout():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "table.cpp")
        source.write_text(PROGRAM, encoding="utf-8")
        program = pathlib.Path(folder, "table")
        subprocess.run(["c++", "-std=c++20", "-I", ROOT / "src", source, "-o", program], check=True)
        text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return [line.split(",") for line in text.splitlines()]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        registers = {(row["name"], row["target"]): row["registers"] for row in csv.DictReader(file)}
    print("| kernel | tile_n | stages | registers 100a / 100f | shared memory, widest | TMEM columns |")
    print("|---|---|---|---|---|---|")
    for name, tiles, stages, smem, columns in layout():
        used = " / ".join(registers.get((name, target), "?") for target in ("sm_100a", "sm_100f"))
        print(f"| `{name.removeprefix('bwgemm_sm100_b16_')}` | {tiles} | {stages} | {used} "
              f"| {smem} | {columns} |")


if __name__ == "__main__":
    main()
