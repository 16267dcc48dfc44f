#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the release preset and runs one GEMM: computed, checked against the CPU and timed
# on a GPU; without one, shows what would be chosen and says what is missing. Arguments go to
# bwgemm_bench instead of the problem below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/setup.sh
cmake --preset release
cmake --build --preset release --target bwgemm_bench
if [ $# -eq 0 ]; then
  set -- --problem m=4096,n=4096,k=4096,transb=T
fi
exec build/release/bin/bwgemm_bench "$@"
