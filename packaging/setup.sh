#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a bare Debian or Ubuntu machine able to build, test and check bwgemm.
#
# Owns: the list of system packages, build/cuda (a CUDA 13.0 compiler from PyPI
# wheels, made only where no CUDA 13 compiler is found), build/cuda.path and
# build/aarch64-python (a Python for Arm, which qemu runs).
# Safe to run again, from any folder; it does nothing where nothing is missing.
# Standard output has one line per thing done; its last line, also written to
# build/cuda.path, is the root of the CUDA toolkit that the build will use. The
# search order is that of packaging/FindCudaCompiler.cmake: keep the two alike.
#
# Environment: BWGEMM_CUDA_ROOT (use this toolkit and no other), CUDACXX (an
# nvcc to try first), and what apt-get and pip read themselves (mirrors, proxies).
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$project/build
arm_python=$build/aarch64-python

# Of nvcc 13.0 no wheel pins the wheels that it needs, and pip would take their
# newest: so each is named and pinned. cccl is here for <nv/target>, which
# cuda_fp16.h includes. (cuobjdump and nvdisasm have no 13.0 wheel.)
cuda_wheels=(nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl)
cuda_pin='==13.0.*'

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: error: %s\n' "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; } # minimum, actual
has_header() { # by the compiler's own search path
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | g++ -x c++ -E - >/dev/null 2>&1
}
has_library() { [ "$(g++ -print-file-name="$1" 2>/dev/null)" != "$1" ]; }
has_modules() { # python, modules
  "$1" -c 'import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, sys.argv[1:])))' \
    "${@:2}" 2>/dev/null
}

# The python3 with pip and venv: the first of PATH, else the system's.
python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if have "$candidate" && has_modules "$candidate" pip venv ensurepip; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  return 1
}

# Of the python3 of PATH, which CMake takes, or of the system's.
has_python_header() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    [ ! -e "$("$candidate" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ] ||
      return 0
  done
  return 1
}

# The packages whose content is missing or too old, one per line.
missing_packages() {
  at_least 12 "$(g++ -dumpfullversion 2>/dev/null || echo 0)" || echo g++
  at_least 3.25 "$(cmake --version 2>/dev/null | sed -n '1s/.* //p')" || echo cmake
  have ninja || echo ninja-build
  have git || echo git
  { have ld && have nm && have readelf; } || echo binutils
  have clang-format || echo clang-format
  have clang-tidy || echo clang-tidy
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
  python >/dev/null || printf '%s\n' python3 python3-venv python3-pip
  has_python_header || echo python3-dev
  { has_header gtest/gtest.h && has_library libgtest.a; } || echo libgtest-dev
  { has_header gmock/gmock.h && has_library libgmock.a; } || echo libgmock-dev
  # spdlog has its own copy of fmt, or (Debian, Ubuntu) depends on libfmt-dev.
  { has_header spdlog/spdlog.h &&
    { has_header fmt/format.h || has_header spdlog/fmt/bundled/format.h; }; } || echo libspdlog-dev
}

# What the tests of Arm hosts and of the example in Go take, which are left out without. On an Arm host the first one is
# the compiler itself.
wanted_packages() {
  have aarch64-linux-gnu-g++ || echo g++-aarch64-linux-gnu
  have qemu-aarch64-static || echo qemu-user-static
  have go || echo golang-go
}

# Packages of another machine cannot be installed beside those of this one. So they are unpacked into
# a folder, with all that they need. apt-get takes this machine's sources, and folders of its own.
unpack_arm_python() (
  partial=$(mktemp -d "$arm_python.XXXXXX")
  trap 'rm -rf "$partial"' EXIT
  mkdir -p "$partial"/{lists,cache/archives}/partial "$partial/root"
  : >"$partial/status" # nothing is installed, and its folder is that of apt-get's locks
  arm_apt_get() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root \
      -o Acquire::Languages=none -o Dir::State::status="$partial/status" -o Dir::State::lists="$partial/lists" \
      -o Dir::Cache="$partial/cache" "$@" >&2
  }
  arm_apt_get update || return
  arm_apt_get install --download-only -y --no-install-recommends \
    python3-minimal libpython3-stdlib libstdc++6 || return
  for package in "$partial"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$partial/root" || return
  done
  mv -T "$partial/root" "$arm_python" || return
  say "unpacked a Python for Arm"
)

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || die "not root and no sudo; have these packages installed: $*"
    as_root=(sudo)
  fi
  have apt-get || die "no apt-get here; install what these Debian packages hold: $*"
  "${as_root[@]}" apt-get update -qq >&2 || die "apt-get has no lists of packages"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >&2 || die "apt-get cannot install: $*"
  say "installed packages: $*"
}

# The root of the toolkit of one nvcc, if that is whole and of major version 13.
# nvcc itself is asked, for it may be a wrapper or a link.
toolkit_of() {
  local root include
  [[ $("$1" --version 2>/dev/null) == *', release 13.'* ]] || return 1
  root=$("$1" --dryrun -E -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
  root=$(cd "$root" 2>/dev/null && pwd -P) || return 1
  [ -x "$root/bin/nvcc" ] && [ -x "$root/bin/ptxas" ] && [ -x "$root/bin/fatbinary" ] || return 1
  for include in "$root/include" "$root"/targets/*/include; do
    if [ -e "$include/cuda.h" ] && [ -e "$include/cuda_bf16.h" ]; then
      printf '%s\n' "$root"
      return
    fi
  done
  return 1
}

find_toolkit() {
  local nvcc candidates=("${CUDACXX:-}" "$build/cuda/bin/nvcc" "$(command -v nvcc || true)"
    /usr/local/cuda/bin/nvcc /usr/local/cuda-13*/bin/nvcc)
  if [ -n "${BWGEMM_CUDA_ROOT:-}" ]; then
    candidates=("$BWGEMM_CUDA_ROOT/bin/nvcc")
  fi
  for nvcc in "${candidates[@]}"; do
    if [ -n "$nvcc" ] && have "$nvcc" && toolkit_of "$nvcc"; then return; fi
  done
  return 1
}

install_toolkit() {
  partial=$(mktemp -d "$build/cuda.XXXXXX") # global: the trap outlives the function
  trap 'rm -rf "$partial"' EXIT
  say "no CUDA 13 compiler found; installing one from PyPI"
  PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 "$(python)" -m pip install -q --no-deps --no-compile \
    --root-user-action=ignore --disable-pip-version-check \
    --target "$partial/wheels" "${cuda_wheels[@]/%/$cuda_pin}" >&2 ||
    die "pip cannot get the wheels; name a CUDA 13 toolkit in BWGEMM_CUDA_ROOT, or a pip mirror"
  # Every wheel lays its part of the toolkit below nvidia/cu13.
  local toolkit=$partial/wheels/nvidia/cu13
  mv "$partial"/wheels/*.dist-info "$toolkit/"
  printf '#include <cuda.h>\n#include <cuda_bf16.h>\n__global__ void k(__nv_bfloat16 *p) { *p += *p; }\n' \
    >"$partial/try.cu"
  "$toolkit/bin/nvcc" -cubin -arch=sm_100f -o "$partial/try.cubin" "$partial/try.cu" >&2 ||
    die "the CUDA compiler from PyPI does not compile a kernel"
  chmod 755 "$toolkit"
  rm -rf "$build/cuda"
  mv -T "$toolkit" "$build/cuda"
  local info
  for info in "$build"/cuda/*.dist-info; do
    say "installed wheel: $(basename "$info" .dist-info)"
  done
}

mapfile -t packages < <(missing_packages)
if [ "${#packages[@]}" -gt 0 ]; then
  install_packages "${packages[@]}"
  hash -r
  mapfile -t packages < <(missing_packages)
  [ "${#packages[@]}" -eq 0 ] ||
    die "still missing or too old (g++ >= 12 and cmake >= 3.25 are needed): ${packages[*]}"
fi

mapfile -t packages < <(wanted_packages)
if [ "${#packages[@]}" -gt 0 ] && ! (install_packages "${packages[@]}"); then
  say "not installed, so the tests of Arm hosts or of Go are left out: ${packages[*]}"
fi

mkdir -p "$build"
if have apt-get && have dpkg-deb && have qemu-aarch64-static && [ ! -e "$arm_python" ]; then
  unpack_arm_python || say "apt-get finds no packages of arm64, so no Python for Arm imports the wheel"
fi
if ! toolkit=$(find_toolkit); then
  [ -z "${BWGEMM_CUDA_ROOT:-}" ] || die "no whole CUDA 13 compiler in BWGEMM_CUDA_ROOT=$BWGEMM_CUDA_ROOT"
  install_toolkit
  toolkit=$(find_toolkit) || die "the CUDA compiler in $build/cuda does not work"
fi
[ "$(cat "$build/cuda.path" 2>/dev/null)" = "$toolkit" ] || printf '%s\n' "$toolkit" >"$build/cuda.path"
say "CUDA compiler $("$toolkit/bin/nvcc" --version | sed -n 's/.*, V//p')"
printf '%s\n' "$toolkit"
