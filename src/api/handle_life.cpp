// SPDX-License-Identifier: Apache-2.0
// How a handle is made, and how it ends.
#include <array>

#include "api/handle.h"
#include "api/log.h"
#include "api/options.h"
#include "launch/clusters.h"
#include "launch/device.h"

namespace bwgemm {
namespace {

DeviceFacts facts_of(const Driver& driver, const Context& context) {
  const ContextScope scope(context);
  DeviceFacts facts = device_facts(driver, context.get());
  facts.clusters = asked_clusters(driver, facts);
  return facts;
}

std::string name_of(const Driver& driver, const Context& context) {
  const ContextScope scope(context);
  return device_name(driver);
}

void log_caches(const ProgramCache::Counters& programs, const TensorMapCache::Counters& maps) {
  log(Level::debug, [&] {
    return text("programs: ", programs.found, " calls were known, ", programs.not_found,
                " were not");
  });
  log(Level::debug, [&] {
    return text("tensor maps: ", maps.hits, " hits, ", maps.misses, " misses, ", maps.evictions,
                " evictions");
  });
}

}  // namespace

Handle::Handle(const Driver& driver)
    : driver(driver),
      context(driver),
      facts(facts_of(driver, context)),
      forced_kernel(option_value(Option::force_kernel)),
      forced(forced_recipe(forced_kernel)),
      programmatic_launch(programmatic_launch_option(Option::programmatic_launch)),
      tune_mode(tune_option(Option::tune)),
      tuning(device_class(name_of(driver, context), facts)),
      kernels(driver, facts),
      maps(driver.cuTensorMapEncodeTiled.get()),
      scratch(driver) {
  tuning.open(option_value(Option::tuning_cache));
  const ContextScope scope(context);
  try {
    scratch.open();  // last: nothing else is to be given back
  } catch (...) {
    static_cast<void>(scratch.release());  // the first failure is the one to report
    throw;
  }
}

Handle::~Handle() {
  if (is_closed_) return;
  try {
    close();
  } catch (const std::exception& error) {
    log(Level::warning, error.what());
  }
}

void Handle::close() {
  struct Step {
    const char* call;
    CUresult result;
  };
  std::array<Step, 3> steps{};
  is_closed_ = true;
  log_caches(programs.counters(), maps.counters());
  // With its context gone, device memory is gone too; libraries are the process's.
  if (context.is_alive()) {
    const ContextScope scope(context);
    const CaptureRelaxer relaxer(driver);
    if (kernels.any()) steps[0] = {driver.cuCtxSynchronize.name(), driver.cuCtxSynchronize()};
    steps[1] = {driver.cuMemFree.name(), scratch.release()};
    steps[2] = {driver.cuLibraryUnload.name(), kernels.unload()};
  } else {
    static_cast<void>(kernels.unload());
  }
  for (const Step& step : steps)
    if (step.result != CUDA_SUCCESS)
      throw Error(status_of(step.result), driver.describe(step.call, step.result));
}

}  // namespace bwgemm
