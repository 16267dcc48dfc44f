#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks of the sources: check.sh format|tidy|lines|prose. tidy needs the release preset configured; a
# number behind it says after how many states the analyzer leaves a function.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

max_lines=500
max_columns=120 # of prose
max_nodes=40000

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
    sources '*.h' '*.hpp' '*.cuh' '*.c' '*.cpp' '*.cu' '*.inc' | xargs -0 -r "$tool" --dry-run -Werror
    ;;
  tidy)
    tool=$(first_of clang-tidy-14 clang-tidy)
    sources 'src/*.cpp' 'bench/*.cpp' |
      xargs -0 -r packaging/tidy.py --tool "$tool" --database build/release/compile_commands.json \
        --folder build/tidy --max-nodes "${2:-$max_nodes}"
    ;;
  lines)
    sources src include tests bench | xargs -0 -r wc -l |
      awk -v max="$max_lines" '$2 != "total" && $2 !~ /\.(csv|json|ptx|svg|xz)$|^bench\/log\/20/ && $1 > max {
          print $2 ": " $1 " lines, the budget is " max; over = 1 } END { exit over }'
    ;;
  prose)
    # One exception: in the row of a table, which must be one line, names in backquotes and the targets of links do not
    # count.
    sources '*.md' | python3 -c '
import re, sys
over = False
for path in filter(None, sys.stdin.read().split("\0")):
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        text = line.rstrip("\n")
        if text.startswith("|"):
            text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
        if len(text) > int(sys.argv[1]):
            print(f"{path}:{number}: {len(text)} columns, the limit is {sys.argv[1]}")
            over = True
sys.exit(over)' "$max_columns"
    ;;
  *)
    echo "usage: packaging/check.sh format|tidy|lines|prose" >&2
    exit 2
    ;;
esac
