#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the release preset and runs every test that does not take minutes. Arguments go to
# ctest. Tests that need a GPU are skipped, and said to be, where there is none. build/times has the
# seconds of each part.
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
part tests ctest --preset release -LE nightly -j "$(nproc)" "$@"
