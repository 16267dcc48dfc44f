// SPDX-License-Identifier: Apache-2.0

// bwgemm from Go: the library and the CUDA driver are opened at run time, through cgo.
//
//	go build dlopen.go && ./dlopen [path of libbwgemm.so.1]
//
// Computes C = A * B in bfloat16, column-major, and checks all of it.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// Go calls no pointers of C functions: these do. CUresult, CUdevice, a status and an operation are
// ints, a CUdeviceptr is a 64-bit address, a handle and a context are opaque pointers.
static int cuInit(void* f) { return ((int (*)(unsigned))f)(0); }
static int cuDeviceGet(void* f, int* device) { return ((int (*)(int*, int))f)(device, 0); }
static int cuRetain(void* f, void** context, int device) {
  return ((int (*)(void**, int))f)(context, device);
}
static int cuSetCurrent(void* f, void* context) { return ((int (*)(void*))f)(context); }
static int cuMemAlloc(void* f, uint64_t* to, size_t size) {
  return ((int (*)(uint64_t*, size_t))f)(to, size);
}
static int cuUpload(void* f, uint64_t to, const void* from, size_t size) {
  return ((int (*)(uint64_t, const void*, size_t))f)(to, from, size);
}
static int cuDownload(void* f, void* to, uint64_t from, size_t size) {
  return ((int (*)(void*, uint64_t, size_t))f)(to, from, size);
}
static int create(void* f, void** handle) { return ((int (*)(void**))f)(handle); }
static int destroy(void* f, void* handle) { return ((int (*)(void*))f)(handle); }
static const char* lastError(void* f) { return ((const char* (*)(void))f)(); }
static int bf16(void* f, void* handle, int64_t m, int64_t n, int64_t k, uint64_t a, uint64_t b,
                uint64_t c) {
  const float one = 1, zero = 0;
  return ((int (*)(void*, int, int, int64_t, int64_t, int64_t, const float*, const void*, int64_t,
                   const void*, int64_t, const float*, void*, int64_t))f)(
      handle, 0, 0, m, n, k, &one, (void*)(uintptr_t)a, m, (void*)(uintptr_t)b, k, &zero,
      (void*)(uintptr_t)c, m);
}
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"unsafe"
)

// Never closed: the functions that it gave away live as long as the process.
type library struct{ handle unsafe.Pointer }

func open(path string) library {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(name, C.RTLD_NOW)
	if handle == nil {
		fail(C.GoString(C.dlerror()))
	}
	return library{handle}
}

func (from library) function(name string) unsafe.Pointer {
	symbol := C.CString(name)
	defer C.free(unsafe.Pointer(symbol))
	found := C.dlsym(from.handle, symbol)
	if found == nil {
		fail(name + " is not there")
	}
	return found
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func check(result C.int, what string) {
	if result != 0 {
		fail(fmt.Sprintf("%s failed with CUDA error %d", what, result))
	}
}

// Small integers are exact in bfloat16, the upper half of a float.
func bfloat(value int) uint16           { return uint16(math.Float32bits(float32(value)) >> 16) }
func number(upper uint16) float32       { return math.Float32frombits(uint32(upper) << 16) }
func address(v []uint16) unsafe.Pointer { return unsafe.Pointer(&v[0]) }

func main() {
	const m, n, k = 64, 32, 48
	a, b, c := make([]uint16, m*k), make([]uint16, k*n), make([]uint16, m*n)
	for i := range a {
		a[i] = bfloat(i%5 - 2)
	}
	for i := range b {
		b[i] = bfloat(i%3 - 1)
	}

	driverPath, bwgemmPath := "libcuda.so.1", "libbwgemm.so.1"
	if path := os.Getenv("BWGEMM_LIBCUDA"); path != "" {
		driverPath = path
	}
	if len(os.Args) > 1 {
		bwgemmPath = os.Args[1]
	}
	driver, bwgemm := open(driverPath), open(bwgemmPath)

	runtime.LockOSThread() // a context is current in a thread, not in a goroutine
	var device C.int
	var context, handle unsafe.Pointer
	check(C.cuInit(driver.function("cuInit")), "cuInit")
	check(C.cuDeviceGet(driver.function("cuDeviceGet"), &device), "cuDeviceGet")
	check(C.cuRetain(driver.function("cuDevicePrimaryCtxRetain"), &context, device),
		"cuDevicePrimaryCtxRetain")
	check(C.cuSetCurrent(driver.function("cuCtxSetCurrent"), context), "cuCtxSetCurrent")

	var onDevice [3]C.uint64_t
	for i, matrix := range [][]uint16{a, b, c} {
		size := C.size_t(2 * len(matrix))
		check(C.cuMemAlloc(driver.function("cuMemAlloc_v2"), &onDevice[i], size), "cuMemAlloc")
		check(C.cuUpload(driver.function("cuMemcpyHtoD_v2"), onDevice[i], address(matrix), size),
			"cuMemcpyHtoD")
	}

	good := func(status C.int) {
		if status != 0 {
			fail(C.GoString(C.lastError(bwgemm.function("bwgemmGetLastErrorString"))))
		}
	}
	good(C.create(bwgemm.function("bwgemmCreate"), &handle))
	good(C.bf16(bwgemm.function("bwgemmBf16"), handle, m, n, k, onDevice[0], onDevice[1], onDevice[2]))
	// On the same stream as the product, the default one: so it comes after it.
	check(C.cuDownload(driver.function("cuMemcpyDtoH_v2"), address(c), onDevice[2],
		C.size_t(2*len(c))), "cuMemcpyDtoH")
	good(C.destroy(bwgemm.function("bwgemmDestroy"), handle))

	for j := 0; j < n; j++ {
		for i := 0; i < m; i++ {
			var sum float32
			for l := 0; l < k; l++ {
				sum += number(a[i+l*m]) * number(b[l+j*k])
			}
			if number(c[i+j*m]) != sum {
				fail(fmt.Sprintf("C[%d, %d] is %g, not %g", i, j, number(c[i+j*m]), sum))
			}
		}
	}
	fmt.Println("dlopen from Go: right")
}
