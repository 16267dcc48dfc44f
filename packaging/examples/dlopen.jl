# SPDX-License-Identifier: Apache-2.0
# bwgemm from Julia with nothing but its standard library: the library and the CUDA driver are opened
# at run time.
#
#     julia dlopen.jl [path of libbwgemm.so.1]
#
# Computes C = A * B in bfloat16, column-major, and checks all of it.
using Libdl

const driver = dlopen(get(ENV, "BWGEMM_LIBCUDA", "libcuda.so.1"))
const bwgemm = dlopen(isempty(ARGS) ? "libbwgemm.so.1" : ARGS[1])

cuda(result::Cint, what) = result == 0 || error("$what failed with CUDA error $result")

function good(status::Cint)
    status == 0 && return
    error(unsafe_string(ccall(dlsym(bwgemm, :bwgemmGetLastErrorString), Cstring, ())))
end

# Small integers are exact in bfloat16, the upper half of a float.
bfloat(value) = UInt16(reinterpret(UInt32, Float32(value)) >> 16)
number(upper) = reinterpret(Float32, UInt32(upper) << 16)

# A CUdeviceptr is a 64-bit address, a handle and a context are opaque pointers.
function on_device(matrix)
    address = Ref{UInt64}(0)
    cuda(ccall(dlsym(driver, :cuMemAlloc_v2), Cint, (Ref{UInt64}, Csize_t), address, sizeof(matrix)),
         "cuMemAlloc")
    cuda(ccall(dlsym(driver, :cuMemcpyHtoD_v2), Cint, (UInt64, Ptr{UInt16}, Csize_t), address[],
               matrix, sizeof(matrix)), "cuMemcpyHtoD")
    return Ptr{Cvoid}(address[])
end

function main()
    m, n, k = 64, 32, 48
    host_a = reshape([bfloat(i % 5 - 2) for i in 0:m*k-1], m, k)
    host_b = reshape([bfloat(i % 3 - 1) for i in 0:k*n-1], k, n)
    host_c = zeros(UInt16, m, n)

    device, context, handle = Ref{Cint}(0), Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    cuda(ccall(dlsym(driver, :cuInit), Cint, (Cuint,), 0), "cuInit")
    cuda(ccall(dlsym(driver, :cuDeviceGet), Cint, (Ref{Cint}, Cint), device, 0), "cuDeviceGet")
    cuda(ccall(dlsym(driver, :cuDevicePrimaryCtxRetain), Cint, (Ref{Ptr{Cvoid}}, Cint), context,
               device[]), "cuDevicePrimaryCtxRetain")
    cuda(ccall(dlsym(driver, :cuCtxSetCurrent), Cint, (Ptr{Cvoid},), context[]), "cuCtxSetCurrent")
    a, b, c = on_device(host_a), on_device(host_b), on_device(host_c)

    good(ccall(dlsym(bwgemm, :bwgemmCreate), Cint, (Ref{Ptr{Cvoid}},), handle))
    good(ccall(dlsym(bwgemm, :bwgemmBf16), Cint,
               (Ptr{Cvoid}, Cint, Cint, Int64, Int64, Int64, Ref{Cfloat}, Ptr{Cvoid}, Int64,
                Ptr{Cvoid}, Int64, Ref{Cfloat}, Ptr{Cvoid}, Int64),
               handle[], 0, 0, m, n, k, 1.0f0, a, m, b, k, 0.0f0, c, m))
    # On the same stream as the product, the default one: so it comes after it.
    cuda(ccall(dlsym(driver, :cuMemcpyDtoH_v2), Cint, (Ptr{UInt16}, UInt64, Csize_t), host_c,
               UInt64(c), sizeof(host_c)), "cuMemcpyDtoH")
    good(ccall(dlsym(bwgemm, :bwgemmDestroy), Cint, (Ptr{Cvoid},), handle[]))

    number.(host_c) == number.(host_a) * number.(host_b) || error("C is wrong")
    println("dlopen from Julia: right")
end

main()
