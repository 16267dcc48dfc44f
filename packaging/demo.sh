#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds the release preset and runs one GEMM: computed, checked against the CPU and timed
# on a GPU; where no CUDA driver is installed, computed and checked on the virtual GPU of the tests.
# Arguments go to bwgemm_bench instead of the problem below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/setup.sh
cmake --preset release
cmake --build --preset release --target bwgemm_bench
if [ -n "${BWGEMM_LIBCUDA:-}" ] || /sbin/ldconfig -p | grep -q 'libcuda\.so\.1 '; then
  [ $# -gt 0 ] || set -- --problem m=4096,n=4096,k=4096,transb=T
else
  cmake --build --preset release --target bwgemm_vgpu_driver
  export BWGEMM_LIBCUDA=$PWD/build/release/lib/vgpu/libcuda.so.1
  export BWGEMM_VGPU_INDEX=$PWD/build/kernels/kernels.index
  export BWGEMM_VGPU=${BWGEMM_VGPU:-h200}
  [ $# -gt 0 ] || set -- --problem m=512,n=512,k=512,transb=T
  set -- "$@" --no-time --no-cublaslt
  echo "No CUDA driver here: on a virtual $BWGEMM_VGPU, which executes the kernel's PTX and judges every access."
fi
exec build/release/bin/bwgemm_bench "$@"
