#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For whoever has a B200 or B300: b200.sh validate|time|tune|all [--tiny]. Each command runs its part
# and packs everything that was found so far into build/b200.tar.gz, the file to send back.
# --tiny: a little of each, for the test of this script on a virtual GPU.
# Exit status: 0 all went well, 1 something failed (it is in the file), 2 usage, 3 no such GPU here.
# Environment: BUILD_DIR (use this build instead of making one), OUT_DIR (instead of build/b200).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

usage() {
  echo "usage: packaging/b200.sh validate|time|tune|all [--tiny]" >&2
  exit 2
}
case "${1:-}" in validate | time | tune | all) what=$1 ;; *) usage ;; esac
tiny=false
case "${2:-}" in '') ;; --tiny) tiny=true ;; *) usage ;; esac

# What the driver says of device 0; or why this machine is the wrong one.
describe_gpu() {
  python3 - <<'PYTHON'
import ctypes, os, sys
path = os.environ.get("BWGEMM_LIBCUDA") or "libcuda.so.1"
try:
    cuda = ctypes.CDLL(path)
except OSError as error:
    sys.exit(f"b200: no CUDA driver: {error}")
name, number, device = ctypes.create_string_buffer(128), ctypes.c_int(), ctypes.c_int()
if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(number)) or number.value == 0:
    sys.exit(f"b200: the driver {path} has no GPU")
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDeviceGetName(name, len(name), device)
def attribute(which):
    cuda.cuDeviceGetAttribute(ctypes.byref(number), which, device)
    return number.value
major, minor, sms = attribute(75), attribute(76), attribute(16)
text = f"{name.value.decode()}, compute capability {major}.{minor}, {sms} SMs"
if (major, minor) not in ((10, 0), (10, 3)):
    sys.exit(f"b200: a B200 or B300 (compute capability 10.0 or 10.3) is needed; this is a {text}")
cuda.cuDriverGetVersion(ctypes.byref(number))
print(f"{text}, driver for CUDA {number.value // 1000}.{number.value % 1000 // 10}")
PYTHON
}
gpu=$(describe_gpu) || exit 3
echo "b200: $gpu"

if [ -z "${BUILD_DIR:-}" ]; then
  packaging/setup.sh && cmake --preset release && cmake --build --preset release || exit 1
  BUILD_DIR=build/release
fi
out=${OUT_DIR:-build/b200}
mkdir -p "$out"
bin=$BUILD_DIR/bin
failed=0
export BWGEMM_TEST_REQUIRE_GPU=1

# run NAME COMMAND...: its output to NAME.log, how it went to steps.txt and the terminal.
run() {
  local name=$1 begin=$SECONDS status=0
  shift
  "$@" >"$out/$name.log" 2>&1 || status=$?
  printf '%s %s: exit status %d, %d s: %s\n' "$(date -u +%FT%TZ)" "$name" "$status" \
    $((SECONDS - begin)) "$*" | tee -a "$out/steps.txt"
  [ "$status" -eq 0 ] || failed=1
}

bench() { # NAME OPTIONS...: bwgemm_bench with a CSV of that name
  local name=$1
  shift
  run "$name" "$bin/bwgemm_bench" "$@" --csv "$out/$name.csv"
}

problems=(baseline unaligned realworld)
list() { printf 'bench/problems/%s.csv' "$1"; }
test_options=() untimed=()
if $tiny; then
  problems=(tiny)
  printf 'name,M,N,K,transA,transB\ntiny,64,64,64,N,T\n' >"$out/problems.csv"
  list() { printf '%s/problems.csv' "$out"; }
  test_options=(--gtest_filter='SmCount.*:Captures.BeginAndEnd:*ComputesOneTile/v1a')
  untimed=(--no-time --no-cublaslt)
fi

validate() {
  run gpu_tests "$bin/bwgemm_gpu_tests" "${test_options[@]}"
  run conformance "$bin/bwgemm_vgpu_conformance_tests" "${test_options[@]}"
  run ladder_tests "$bin/bwgemm_ladder_tests" "${test_options[@]}"
}

time_all() {
  local name
  for name in "${problems[@]}"; do
    bench "$name" --list "$(list "$name")" --budget-seconds 900 "${untimed[@]}"
  done
  bench ladder --ladder "${untimed[@]}" # all steps, bwgemm and cuBLASLt at 4096^3
  $tiny && return
  bench ladder_8192 --ladder --size 8192
  bench ceiling --ceiling
  bench host --host --list "$(list baseline)"
}

# Times of every kernel worth it, to fit src/rules/arch_costs.h and tests/vgpu/timing/b200.txt to.
tune() {
  local name
  if ! $tiny; then
    "$bin/bwgemm_bench" --random-problems 31,60 >"$out/random.csv"
    problems+=(random)
  fi
  for name in "${problems[@]}"; do
    local file
    file=$(list "$name")
    [ "$name" = random ] && file=$out/random.csv
    if $tiny; then
      run "sweep_$name" "$bin/bwgemm_bench" --explain --sweep --list "$file"
    else
      bench "sweep_$name" --sweep --list "$file" --budget-seconds 1200 --resume
      run "regret_$name" "$bin/bwgemm_bench" --regret --from "$out/sweep_$name.csv" --explain
    fi
  done
}

{
  echo "$gpu"
  git rev-parse HEAD 2>/dev/null
  nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm,clocks.max.mem --format=csv 2>/dev/null
} >"$out/machine.txt"
case "$what" in
  validate) validate ;;
  time) time_all ;;
  tune) tune ;;
  all) validate; time_all; tune ;;
esac
tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")" || failed=1
if [ "$failed" -ne 0 ]; then echo "b200: something failed; it is in the file all the same"; fi
echo "b200: to send back: $out.tar.gz"
exit "$failed"
