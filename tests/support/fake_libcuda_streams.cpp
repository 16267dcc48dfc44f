// SPDX-License-Identifier: Apache-2.0
// The test double of libcuda: memory and streams. Work is done when it is put into a stream; what a
// capture forbids is refused and invalidates the capture, as the driver's documentation says.
#include <cstdlib>
#include <cstring>

#include "support/fake_libcuda.h"

namespace bwgemm::test {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
thread_local FakeStream* per_thread_stream = nullptr;

FakeStream* legacy_stream(FakeDriver& fake, FakeContext* context) {
  for (const auto& stream : fake.legacy_streams)
    if (stream->context == context) return stream.get();
  fake.legacy_streams.push_back(std::make_unique<FakeStream>(FakeStream{context, 1, true, true}));
  return fake.legacy_streams.back().get();
}

// Never destroyed; it follows the context that is current, which is enough for one per process.
FakeStream* stream_of_thread(FakeDriver& fake, FakeContext* context) {
  if (per_thread_stream == nullptr) {
    fake.legacy_streams.push_back(std::make_unique<FakeStream>(FakeStream{nullptr, 2, true}));
    per_thread_stream = fake.legacy_streams.back().get();
  }
  per_thread_stream->context = context;
  return per_thread_stream;
}

// The allocation that holds the bytes, or false.
bool is_device_memory(const FakeDriver& fake, CUdeviceptr address, std::size_t bytes) {
  auto after = fake.memory.upper_bound(address);
  if (after == fake.memory.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second.bytes;
}

CUresult copy(void* to, const void* from, std::size_t bytes, CUdeviceptr device_side,
              const char* entry) {
  FakeDriver& fake = FakeDriver::get();
  if (const CUresult result = fake.unsafe_in_capture(); result != CUDA_SUCCESS) return result;
  if (!is_device_memory(fake, device_side, bytes)) {
    fake.misused(std::string(entry) + " of what is no device memory");
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(to, from, bytes);
  return CUDA_SUCCESS;
}

void* host(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

template <class Word>
CUresult set_words(CUdeviceptr address, Word value, std::size_t count, CUstream stream,
                   const char* entry) {
  FakeDriver& fake = FakeDriver::get();
  if (!is_device_memory(fake, address, count * sizeof(Word))) {
    fake.misused(std::string(entry) + " of what is no device memory");
    return CUDA_ERROR_INVALID_VALUE;
  }
  return fake.enqueue(stream, entry, [=] {
    for (std::size_t i = 0; i < count; ++i) static_cast<Word*>(host(address))[i] = value;
  });
}

CUresult copy_async(void* to, const void* from, std::size_t bytes, CUstream stream,
                    const char* entry) {
  return FakeDriver::get().enqueue(stream, entry, [=] { std::memcpy(to, from, bytes); });
}

}  // namespace

CUstreamCaptureMode& FakeDriver::capture_mode() {
  return thread_mode;
}

// Memory and streams go with their context; libraries belong to the process.
void FakeDriver::release_all_of(FakeContext* context) {
  for (auto allocation = memory.begin(); allocation != memory.end();) {
    const bool is_its = allocation->second.context == context;
    if (is_its) std::free(host(allocation->first));
    allocation = is_its ? memory.erase(allocation) : std::next(allocation);
  }
  for (const auto& stream : streams)
    if (stream->context == context) stream->is_alive = false;
  context->is_alive = false;
}

CUresult FakeDriver::unsafe_in_capture() {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto* list : {&streams, &legacy_streams})
    for (const auto& stream : *list) {
      if (stream->status() != CU_STREAM_CAPTURE_STATUS_ACTIVE) continue;
      FakeCapture& capture = *stream->capture;
      const bool is_own = capture.thread == std::this_thread::get_id();
      const bool forbids = is_own ? capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                  : thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                        capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
      if (!forbids) continue;
      capture.is_valid = false;
      result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  return result;
}

bool FakeDriver::any_capture(const FakeContext* context) const {
  for (const auto& stream : streams)
    if (stream->context == context && stream->status() == CU_STREAM_CAPTURE_STATUS_ACTIVE)
      return true;
  return false;
}

FakeStream* FakeDriver::stream(CUstream handle, const char* entry) {
  FakeContext* context = current();
  if (context == nullptr) return nullptr;
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return legacy_stream(*this, context);
  if (handle == CU_STREAM_PER_THREAD) return stream_of_thread(*this, context);
  for (const auto& stream : streams)
    if (reinterpret_cast<CUstream>(stream.get()) == handle && stream->is_alive) return stream.get();
  misused(std::string(entry) + " with what is no stream");
  return nullptr;
}

CUresult FakeDriver::legacy_in_capture(const FakeStream& stream) {
  if (!stream.is_legacy) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto& other : streams)
    if (other->context == stream.context && other->is_blocking &&
        other->status() == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
      other->capture->is_valid = false;
      result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  return result;
}

CUresult FakeDriver::enqueue(CUstream handle, const char* entry, std::function<void()> work) {
  FakeStream* into = stream(handle, entry);
  if (into == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (into->context != current()) {
    misused(std::string(entry) + " into a stream of another context");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult result = legacy_in_capture(*into); result != CUDA_SUCCESS) return result;
  switch (into->status()) {
    case CU_STREAM_CAPTURE_STATUS_ACTIVE:
      into->capture->graph->work.push_back(std::move(work));
      break;
    case CU_STREAM_CAPTURE_STATUS_INVALIDATED: return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    default: work();
  }
  return CUDA_SUCCESS;
}

}  // namespace bwgemm::test

using namespace bwgemm::test;

// ---- memory -------------------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  const FakeDriver::Call call("cuMemAlloc");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (fake.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult result = fake.unsafe_in_capture(); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xa5, bytes);  // what the library does not clear is not zero
  fake.memory[reinterpret_cast<CUdeviceptr>(memory)] = {bytes, fake.current()};
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuMemFree_v2(CUdeviceptr address) {
  const FakeDriver::Call call("cuMemFree");
  FakeDriver& fake = FakeDriver::get();
  if (address == 0) return call.fault();
  if (const CUresult result = fake.unsafe_in_capture(); result != CUDA_SUCCESS) return result;
  if (fake.memory.erase(address) == 0) {
    fake.misused("cuMemFree of what is no device memory");
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(host(address));
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const FakeDriver::Call call("cuMemGetInfo");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  *free = *total = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuMemAddressReserve(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                                             unsigned long long) {
  const FakeDriver::Call call("cuMemAddressReserve");
  return CUDA_ERROR_NOT_SUPPORTED;
}

FAKE_CUDA_ENTRY CUresult cuMemAddressFree(CUdeviceptr, std::size_t) {
  const FakeDriver::Call call("cuMemAddressFree");
  return CUDA_ERROR_NOT_SUPPORTED;
}

FAKE_CUDA_ENTRY CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute,
                                               CUdeviceptr address) {
  const FakeDriver::Call call("cuPointerGetAttribute");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (!is_device_memory(fake, address, 1)) return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE;
  else if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
    *static_cast<CUcontext*>(value) = reinterpret_cast<CUcontext>(fake.current());
  else
    return CUDA_ERROR_NOT_SUPPORTED;
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  const FakeDriver::Call call("cuMemcpyHtoD");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return copy(host(to), from, bytes, to, "cuMemcpyHtoD");
}

FAKE_CUDA_ENTRY CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  const FakeDriver::Call call("cuMemcpyDtoH");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return copy(to, host(from), bytes, from, "cuMemcpyDtoH");
}

FAKE_CUDA_ENTRY CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                                              CUstream stream) {
  const FakeDriver::Call call("cuMemcpyHtoDAsync");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return copy_async(host(to), from, bytes, stream, "cuMemcpyHtoDAsync");
}

FAKE_CUDA_ENTRY CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes,
                                              CUstream stream) {
  const FakeDriver::Call call("cuMemcpyDtoHAsync");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return copy_async(to, host(from), bytes, stream, "cuMemcpyDtoHAsync");
}

FAKE_CUDA_ENTRY CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                              CUstream stream) {
  const FakeDriver::Call call("cuMemcpyDtoDAsync");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return copy_async(host(to), host(from), bytes, stream, "cuMemcpyDtoDAsync");
}

FAKE_CUDA_ENTRY CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const FakeDriver::Call call("cuMemcpyDtoD");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return copy(host(to), host(from), bytes, to, "cuMemcpyDtoD");
}

FAKE_CUDA_ENTRY CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value,
                                       std::size_t count) {
  const FakeDriver::Call call("cuMemsetD8");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return set_words(address, value, count, nullptr, "cuMemsetD8");
}

FAKE_CUDA_ENTRY CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value,
                                        std::size_t count) {
  const FakeDriver::Call call("cuMemsetD16");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return set_words(address, value, count, nullptr, "cuMemsetD16");
}

FAKE_CUDA_ENTRY CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value,
                                          std::size_t count, CUstream stream) {
  const FakeDriver::Call call("cuMemsetD16Async");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return set_words(address, value, count, stream, "cuMemsetD16Async");
}

FAKE_CUDA_ENTRY CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count,
                                          CUstream stream) {
  const FakeDriver::Call call("cuMemsetD32Async");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  return set_words(address, value, count, stream, "cuMemsetD32Async");
}

// ---- streams ------------------------------------------------------------------------------------

FAKE_CUDA_ENTRY CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  const FakeDriver::Call call("cuStreamCreate");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  if (fake.current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool is_blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  const FakeStream created{fake.current(), ++fake.last_id, is_blocking};
  std::unique_ptr<FakeStream> place = std::move(fake.forgotten_stream);
  if (place == nullptr) place = std::make_unique<FakeStream>();
  *place = created;
  fake.streams.push_back(std::move(place));
  *stream = reinterpret_cast<CUstream>(fake.streams.back().get());
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuStreamDestroy_v2(CUstream handle) {
  const FakeDriver::Call call("cuStreamDestroy");
  FakeStream* stream = FakeDriver::get().stream(handle, "cuStreamDestroy");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->is_alive = false;
  return call.fault();
}

FAKE_CUDA_ENTRY CUresult cuStreamSynchronize(CUstream handle) {
  const FakeDriver::Call call("cuStreamSynchronize");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  FakeDriver& fake = FakeDriver::get();
  FakeStream* stream = fake.stream(handle, "cuStreamSynchronize");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (const CUresult result = fake.legacy_in_capture(*stream); result != CUDA_SUCCESS)
    return result;
  return fake.unsafe_in_capture();
}

FAKE_CUDA_ENTRY CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  const FakeDriver::Call call("cuStreamGetCtx");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeStream* stream = FakeDriver::get().stream(handle, "cuStreamGetCtx");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *context = reinterpret_cast<CUcontext>(stream->context);
  return CUDA_SUCCESS;
}

FAKE_CUDA_ENTRY CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  const FakeDriver::Call call("cuStreamGetId");
  if (call.fault() != CUDA_SUCCESS) return call.fault();
  const FakeStream* stream = FakeDriver::get().stream(handle, "cuStreamGetId");
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *id = stream->id;
  return CUDA_SUCCESS;
}
