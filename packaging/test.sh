#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the release preset and runs every test that does not take minutes. Arguments go to
# ctest. Where there is no GPU, tests of the machine's GPU (label gpu) are left out, and the last line
# says so. build/times has the seconds of each part.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

part() { # its name, its command
  local begin=$SECONDS status=0
  "${@:2}" || status=$?
  echo "$1 $((SECONDS - begin))" >>build/times
  return "$status"
}

mkdir -p build
rm -f build/times
part setup packaging/setup.sh
part configure cmake --preset release
part kernels cmake --build --preset release --target bwgemm_kernels
part build cmake --build --preset release

left_out=nightly
no_gpu=77 # the exit status of bwgemm_fuzz where there is none; it says why
reason=$(build/release/bin/bwgemm_fuzz --calls 0) || [ $? -ne "$no_gpu" ] || left_out='nightly|^gpu$'
status=0
part tests ctest --preset release -LE "$left_out" -j "$(nproc)" "$@" || status=$?
if [ "$left_out" != nightly ]; then
  count=$(ctest --preset release -N -L '^gpu$' | sed -n 's/^Total Tests: //p')
  echo "Left out: $count tests of the machine's GPU (label gpu), because there is none: $reason"
fi
exit "$status"
