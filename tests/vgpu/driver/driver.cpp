// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/driver.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "vgpu/driver/api.h"
#include "vgpu/driver/report.h"

namespace bwgemm::vgpu::driver {
namespace {

std::string_view variable(const char* name, std::string_view otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : otherwise;
}

// A file that cannot be used must not go unnoticed: no device then.
std::optional<vgpu::Constants> constants_in(const std::string& path) {
  try {
    return vgpu::Constants::read(path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vgpu: BWGEMM_VGPU_TIMING: %s\n", error.what());
    return std::nullopt;
  }
}

}  // namespace

Settings Settings::of_environment() {
  Settings settings;
  const std::string_view names = variable("BWGEMM_VGPU", "h200");
  if (auto models = models_named(names))
    settings.models = std::move(*models);
  else
    std::fprintf(stderr, "vgpu: BWGEMM_VGPU=%s: known are h100, h200, b200 and b300\n",
                 names.data());
  settings.seed = std::strtoull(variable("BWGEMM_VGPU_SEED", "1").data(), nullptr, 0);
  const auto is_on = [](const char* name) { return variable(name, "1") != "0"; };
  settings.is_strict = settings.run.strict = is_on("BWGEMM_VGPU_STRICT");
  settings.run.adversarial = is_on("BWGEMM_VGPU_ADVERSARY");
  settings.run.clocks = is_on("BWGEMM_VGPU_CLOCKS");
  if (const std::string constants(variable("BWGEMM_VGPU_TIMING", "")); !constants.empty())
    if (!(settings.timing = constants_in(constants))) settings.models.clear();
  return settings;
}

Driver::Driver(Settings from)
    : settings(std::move(from)), scheduler(settings.seed), contexts(settings.models) {}

Driver& Driver::get() {
  static Driver* driver = new Driver(Settings::of_environment());
  return *driver;
}

Context* checked(Needs needs) {
  if (needs == Needs::nothing) return nullptr;
  require(Driver::get().is_initialized, CUDA_ERROR_NOT_INITIALIZED);
  if (needs == Needs::driver) return nullptr;
  Context* context = Contexts::current();
  require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  require(context->is_alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  if (needs == Needs::working_context) require(context->error == CUDA_SUCCESS, context->error);
  return context;
}

}  // namespace bwgemm::vgpu::driver

void vgpu_seed(unsigned long long seed) {
  using bwgemm::vgpu::driver::Driver;
  Driver& driver = Driver::get();
  const std::lock_guard lock(driver.mutex);
  driver.settings.seed = seed;
  driver.launch_count = 0;
  driver.scheduler.seed(seed);
}

void vgpu_write_coverage() {
  using bwgemm::vgpu::driver::Driver;
  const bwgemm::vgpu::driver::CancellationHold hold;
  const std::lock_guard lock(Driver::get().mutex);
  bwgemm::vgpu::driver::write_coverage();
}
