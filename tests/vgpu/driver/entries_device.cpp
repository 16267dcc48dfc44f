// SPDX-License-Identifier: Apache-2.0
// Entry points: initialization, errors, devices, primary contexts.
#include <algorithm>
#include <cstring>

#include "vgpu/driver/driver.h"
#include "vgpu/driver/error_text.h"

using namespace bwgemm::vgpu::driver;

namespace {

constexpr int driver_version = CUDA_VERSION;

void require_device(const Driver& driver, CUdevice device) {
  require(device >= 0 && device < static_cast<int>(driver.settings.models.size()),
          CUDA_ERROR_INVALID_DEVICE);
}

const DeviceModel& model_of(const Driver& driver, CUdevice device) {
  require_device(driver, device);
  return *driver.settings.models[static_cast<std::size_t>(device)];
}

}  // namespace

CUresult cuInit(unsigned flags) {
  return call(Needs::nothing, [&](Driver& driver) {
    require_value(flags == 0);
    require(!driver.settings.models.empty(), CUDA_ERROR_NO_DEVICE);
    driver.is_initialized = true;
  });
}

CUresult cuDriverGetVersion(int* version) {
  return call(Needs::nothing, [&](Driver&) {
    require_value(version != nullptr);
    *version = driver_version;
  });
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  return call(Needs::nothing, [&](Driver&) {
    require_value(name != nullptr);
    *name = error_name(error);
    require_value(*name != nullptr);
  });
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return call(Needs::nothing, [&](Driver&) {
    require_value(text != nullptr);
    *text = error_text(error);
    require_value(*text != nullptr);
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(device != nullptr);
    require_device(driver, ordinal);
    *device = ordinal;
  });
}

CUresult cuDeviceGetCount(int* count) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(count != nullptr);
    *count = static_cast<int>(driver.settings.models.size());
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(name != nullptr && length > 0);
    const std::string_view full = model_of(driver, device).name;
    const std::size_t copied = std::min(full.size(), static_cast<std::size_t>(length) - 1);
    std::memcpy(name, full.data(), copied);
    name[copied] = '\0';
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(uuid != nullptr);
    const std::string_view key = model_of(driver, device).key;
    std::memset(uuid->bytes, 0, sizeof uuid->bytes);
    key.copy(uuid->bytes, sizeof uuid->bytes - 1);
    uuid->bytes[sizeof uuid->bytes - 1] = static_cast<char>(device);
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(value != nullptr);
    const auto known = attribute(model_of(driver, device), device, which);
    require_value(known.has_value());
    *value = *known;
  });
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(bytes != nullptr);
    *bytes = model_of(driver, device).memory_bytes;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(context != nullptr);
    require_device(driver, device);
    Context& primary = driver.contexts.primary(device);
    if (!primary.is_alive) driver.contexts.begin(primary);
    ++primary.references;
    *context = primary.handle();
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_device(driver, device);
    Context& primary = driver.contexts.primary(device);
    require(primary.references > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--primary.references == 0 && primary.is_alive) driver.contexts.end(primary);
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return call(Needs::driver, [&](Driver& driver) {
    require_device(driver, device);
    Context& primary = driver.contexts.primary(device);
    if (primary.is_alive) driver.contexts.end(primary);
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return call(Needs::driver, [&](Driver& driver) {
    require_device(driver, device);
    require_value((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0);
    driver.contexts.primary(device).flags = flags;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return call(Needs::driver, [&](Driver& driver) {
    require_value(flags != nullptr && active != nullptr);
    require_device(driver, device);
    const Context& primary = driver.contexts.primary(device);
    *flags = primary.flags;
    *active = primary.is_alive ? 1 : 0;
  });
}
