#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks of the sources: check.sh format|tidy|lines. tidy needs the release preset configured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

max_lines=500

first_of() { # the first of these programs that exists: formatting differs between versions
  local program
  for program in "$@"; do
    if command -v "$program"; then return; fi
  done
  printf 'check: none of these programs is here: %s\n' "$*" >&2
  return 1
}

sources() { git ls-files --cached --others --exclude-standard -z -- "$@"; }

case "${1:-}" in
  format)
    tool=$(first_of clang-format-14 clang-format)
    sources '*.h' '*.hpp' '*.cuh' '*.c' '*.cpp' '*.cu' | xargs -0 -r "$tool" --dry-run -Werror
    ;;
  tidy)
    tool=$(first_of clang-tidy-14 clang-tidy)
    # Compiled by g++, read by clang, which does not know this flag.
    mkdir -p build/tidy
    sed 's/ -fno-gnu-unique / /' build/release/compile_commands.json >build/tidy/compile_commands.json
    sources 'src/*.cpp' 'bench/*.cpp' |
      xargs -0 -r -n 1 -P "$(nproc)" "$tool" --quiet -p build/tidy 2> >(grep -v ' warnings\? ' >&2)
    ;;
  lines)
    sources src include tests bench | xargs -0 -r wc -l |
      awk -v max="$max_lines" '$2 != "total" && $2 !~ /\.(csv|json|ptx)$/ && $1 > max {
          print $2 ": " $1 " lines, the budget is " max; over = 1 } END { exit over }'
    ;;
  *)
    echo "usage: packaging/check.sh format|tidy|lines" >&2
    exit 2
    ;;
esac
