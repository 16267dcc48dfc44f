// SPDX-License-Identifier: Apache-2.0
//! bwgemm from Rust with nothing but std: the library and the CUDA driver are opened at run time.
//!
//!     rustc -O dlopen.rs && ./dlopen [path of libbwgemm.so.1]
//!
//! Computes C = A * B in bfloat16, column-major, and checks all of it.

use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::ptr::null_mut;

#[link(name = "dl")]
extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

const RTLD_NOW: c_int = 2;

/// An opened library. Never closed: the functions that it gave away live as long as the process.
struct Library(*mut c_void);

impl Library {
    fn open(path: &str) -> Result<Self, String> {
        let c_path = CString::new(path).map_err(|e| e.to_string())?;
        // SAFETY: the path is terminated; dlerror's text is copied before any other call.
        unsafe {
            let library = dlopen(c_path.as_ptr(), RTLD_NOW);
            if library.is_null() {
                return Err(CStr::from_ptr(dlerror()).to_string_lossy().into_owned());
            }
            Ok(Library(library))
        }
    }

    /// SAFETY: `F` must be the type of the function of that name.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        let c_name = CString::new(name).map_err(|e| e.to_string())?;
        let found = dlsym(self.0, c_name.as_ptr());
        if found.is_null() {
            return Err(format!("{name} is not there"));
        }
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        Ok(std::mem::transmute_copy(&found))
    }
}

// CUresult and CUdevice are ints, a CUdeviceptr is a 64-bit address.
type Init = unsafe extern "C" fn(c_uint) -> c_int;
type DeviceGet = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type SetCurrent = unsafe extern "C" fn(*mut c_void) -> c_int;
type Allocate = unsafe extern "C" fn(*mut u64, usize) -> c_int;
type Upload = unsafe extern "C" fn(u64, *const c_void, usize) -> c_int;
type Download = unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int;

// As bwgemm.h declares them; a handle is an opaque pointer, a status and an operation are ints.
type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;
type LastError = unsafe extern "C" fn() -> *const c_char;
type Bf16 = unsafe extern "C" fn(
    handle: Handle, transa: c_int, transb: c_int, m: i64, n: i64, k: i64, alpha: *const f32,
    a: *const c_void, lda: i64, b: *const c_void, ldb: i64, beta: *const f32, c: *mut c_void,
    ldc: i64,
) -> c_int;
const OP_N: c_int = 0;

fn cuda(result: c_int, what: &str) -> Result<(), String> {
    if result == 0 { Ok(()) } else { Err(format!("{what} failed with CUDA error {result}")) }
}

/// Small integers are exact in bfloat16, the upper half of a float.
fn bf16(value: f32) -> u16 {
    (value.to_bits() >> 16) as u16
}

fn number(upper: u16) -> f32 {
    f32::from_bits(u32::from(upper) << 16)
}

fn main() -> Result<(), String> {
    let (m, n, k) = (64, 32, 48);
    let host_a: Vec<u16> = (0..m * k).map(|i| bf16((i % 5) as f32 - 2.0)).collect();
    let host_b: Vec<u16> = (0..k * n).map(|i| bf16((i % 3) as f32 - 1.0)).collect();
    let mut host_c = vec![0u16; m * n];

    let driver_path = env::var("BWGEMM_LIBCUDA").unwrap_or("libcuda.so.1".into());
    let driver = Library::open(&driver_path)?;
    let bwgemm = Library::open(&env::args().nth(1).unwrap_or("libbwgemm.so.1".into()))?;
    // SAFETY: the types are those of the functions, the sizes those of the buffers.
    unsafe {
        cuda(driver.function::<Init>("cuInit")?(0), "cuInit")?;
        let (mut device, mut context) = (0, null_mut());
        cuda(driver.function::<DeviceGet>("cuDeviceGet")?(&mut device, 0), "cuDeviceGet")?;
        let retain: Retain = driver.function("cuDevicePrimaryCtxRetain")?;
        cuda(retain(&mut context, device), "cuDevicePrimaryCtxRetain")?;
        cuda(driver.function::<SetCurrent>("cuCtxSetCurrent")?(context), "cuCtxSetCurrent")?;

        let allocate: Allocate = driver.function("cuMemAlloc_v2")?;
        let upload: Upload = driver.function("cuMemcpyHtoD_v2")?;
        let (mut a, mut b, mut c) = (0, 0, 0);
        cuda(allocate(&mut a, 2 * m * k), "cuMemAlloc")?;
        cuda(allocate(&mut b, 2 * k * n), "cuMemAlloc")?;
        cuda(allocate(&mut c, 2 * m * n), "cuMemAlloc")?;
        cuda(upload(a, host_a.as_ptr().cast(), 2 * m * k), "cuMemcpyHtoD")?;
        cuda(upload(b, host_b.as_ptr().cast(), 2 * k * n), "cuMemcpyHtoD")?;

        let last_error: LastError = bwgemm.function("bwgemmGetLastErrorString")?;
        let bwgemm_check = |status: c_int| match status {
            0 => Ok(()),
            _ => Err(CStr::from_ptr(last_error()).to_string_lossy().into_owned()),
        };
        let mut handle = null_mut();
        bwgemm_check(bwgemm.function::<Create>("bwgemmCreate")?(&mut handle))?;
        let multiply: Bf16 = bwgemm.function("bwgemmBf16")?;
        bwgemm_check(multiply(
            handle, OP_N, OP_N, m as i64, n as i64, k as i64, &1.0, a as *const c_void, m as i64,
            b as *const c_void, k as i64, &0.0, c as *mut c_void, m as i64,
        ))?;
        // On the same stream as the product, the default one: so it comes after it.
        let download: Download = driver.function("cuMemcpyDtoH_v2")?;
        cuda(download(host_c.as_mut_ptr().cast(), c, 2 * m * n), "cuMemcpyDtoH")?;
        bwgemm_check(bwgemm.function::<Destroy>("bwgemmDestroy")?(handle))?;
    }

    for j in 0..n {
        for i in 0..m {
            let sum: f32 = (0..k).map(|l| number(host_a[i + l * m]) * number(host_b[l + j * k])).sum();
            if number(host_c[i + j * m]) != sum {
                return Err(format!("C[{i}, {j}] is {}, not {sum}", number(host_c[i + j * m])));
            }
        }
    }
    println!("dlopen from Rust: right");
    Ok(())
}
