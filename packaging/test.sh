#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the release preset and runs every test that does not take minutes. Arguments go to
# ctest. Tests that need a GPU are skipped, and said to be, where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/setup.sh
cmake --preset release
cmake --build --preset release
exec ctest --preset release -LE nightly -j "$(nproc)" "$@"
