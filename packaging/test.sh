#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the release preset and runs every test that does not take minutes. Arguments go to
# ctest. Where there is no GPU, tests of the machine's GPU (label gpu) are left out, and the last line
# says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/setup.sh
cmake --preset release
cmake --build --preset release

left_out=nightly
no_gpu=77 # the exit status of bwgemm_fuzz where there is none; it says why
reason=$(build/release/bin/bwgemm_fuzz --calls 0) || [ $? -ne "$no_gpu" ] || left_out='nightly|^gpu$'
status=0
ctest --preset release -LE "$left_out" -j "$(nproc)" "$@" || status=$?
if [ "$left_out" != nightly ]; then
  count=$(ctest --preset release -N -L '^gpu$' | sed -n 's/^Total Tests: //p')
  echo "Left out: $count tests of the machine's GPU (label gpu), because there is none: $reason"
fi
exit "$status"
