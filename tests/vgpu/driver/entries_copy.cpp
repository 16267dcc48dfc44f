// SPDX-License-Identifier: Apache-2.0
// Entry points: copies and fills.
#include "vgpu/driver/copy.h"
#include "vgpu/driver/driver.h"

using namespace bwgemm::vgpu::driver;

namespace {

using Side = Copy::Side;

CUdeviceptr address_of(const void* host) {
  return reinterpret_cast<CUdeviceptr>(host);
}

CUresult copy_bytes(Copy::End to, Copy::End from, std::size_t bytes, CUstream stream,
                    bool is_asynchronous) {
  return call(Needs::working_context, [&](Driver&) {
    copy({.to = to, .from = from, .width = bytes}, stream_of(stream), is_asynchronous);
  });
}

CUresult fill_elements(CUdeviceptr address, std::size_t element_bytes, std::size_t count,
                       unsigned value, CUstream stream) {
  return call(Needs::working_context, [&](Driver&) {
    fill({address, element_bytes, count, value}, stream_of(stream));
  });
}

Copy::End end_of(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x,
                 std::size_t y, std::size_t pitch) {
  const std::size_t offset = y * pitch + x;
  switch (type) {
    case CU_MEMORYTYPE_HOST: return {Side::host, address_of(host) + offset, pitch};
    case CU_MEMORYTYPE_DEVICE: return {Side::device, device + offset, pitch};
    case CU_MEMORYTYPE_UNIFIED: return {Side::any, device + offset, pitch};
    default: fail(CUDA_ERROR_NOT_SUPPORTED);  // arrays
  }
}

CUresult copy_rectangle(const CUDA_MEMCPY2D* what, CUstream stream, bool is_asynchronous) {
  return call(Needs::working_context, [&](Driver&) {
    require_value(what != nullptr);
    const CUDA_MEMCPY2D& c = *what;
    const auto to = end_of(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY,
                           c.dstPitch != 0 ? c.dstPitch : c.WidthInBytes);
    const auto from = end_of(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY,
                             c.srcPitch != 0 ? c.srcPitch : c.WidthInBytes);
    copy({.to = to, .from = from, .width = c.WidthInBytes, .height = c.Height}, stream_of(stream),
         is_asynchronous);
  });
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes({Side::any, to}, {Side::any, from}, bytes, nullptr, false);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes({Side::any, to}, {Side::any, from}, bytes, stream, true);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy_bytes({Side::device, to}, {Side::any, address_of(from)}, bytes, nullptr, false);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes({Side::any, address_of(to)}, {Side::device, from}, bytes, nullptr, false);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes({Side::device, to}, {Side::device, from}, bytes, nullptr, false);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy_bytes({Side::device, to}, {Side::any, address_of(from)}, bytes, stream, true);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes({Side::any, address_of(to)}, {Side::device, from}, bytes, stream, true);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes({Side::device, to}, {Side::device, from}, bytes, stream, true);
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D* what) {
  return copy_rectangle(what, nullptr, false);
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* what, CUstream stream) {
  return copy_rectangle(what, stream, true);
}

CUresult cuMemsetD8(CUdeviceptr address, unsigned char value, std::size_t count) {
  return fill_elements(address, 1, count, value, nullptr);
}
CUresult cuMemsetD16(CUdeviceptr address, unsigned short value, std::size_t count) {
  return fill_elements(address, 2, count, value, nullptr);
}
CUresult cuMemsetD32(CUdeviceptr address, unsigned value, std::size_t count) {
  return fill_elements(address, 4, count, value, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, std::size_t count,
                         CUstream stream) {
  return fill_elements(address, 1, count, value, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, std::size_t count,
                          CUstream stream) {
  return fill_elements(address, 2, count, value, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count, CUstream stream) {
  return fill_elements(address, 4, count, value, stream);
}
