# SPDX-License-Identifier: Apache-2.0
# Toolchain: builds for 64-bit Arm hosts, such as those of GH200 and GB200, on another one, by the
# compiler of Debian's package g++-aarch64-linux-gnu. Kernels are the same for every host.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
