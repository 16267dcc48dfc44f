// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/context.h"

#include <algorithm>

#include "vgpu/driver/driver.h"

namespace bwgemm::vgpu::driver {
namespace {

thread_local std::vector<Context*> stack;  // of the calling thread, the current one last

}  // namespace

Context::Context(int ordinal_of, const DeviceModel& model_of, bool is_primary_of)
    : ordinal(ordinal_of), model(&model_of), is_primary(is_primary_of) {}

Context::~Context() = default;

Contexts::Contexts(const std::vector<const DeviceModel*>& models) : models_(models) {
  for (std::size_t i = 0; i < models.size(); ++i)
    all_.push_back(std::make_unique<Context>(static_cast<int>(i), *models[i], true));
}

Context& Contexts::create(int ordinal, unsigned flags) {
  auto reusable = std::find_if(all_.begin(), all_.end(), [&](const auto& context) {
    return !context->is_primary && !context->is_alive && context->ordinal == ordinal;
  });
  if (reusable == all_.end())
    reusable = all_.insert(
        all_.end(),
        std::make_unique<Context>(ordinal, *models_[static_cast<std::size_t>(ordinal)], false));
  Context& context = **reusable;
  begin(context);
  context.flags = flags;
  return context;
}

void Contexts::begin(Context& context) {
  context.is_alive = true;
  context.id = ++last_id_;
  context.error = CUDA_SUCCESS;
  context.legacy = std::make_unique<Stream>(context, Stream::Kind::legacy, 0u, 0);
}

void Contexts::end(Context& context) {
  Driver& driver = Driver::get();
  driver.scheduler.finish_all_of(context);
  const auto is_own = [&](const auto& object) { return object.context == &context; };
  driver.streams.for_each([&](Stream& stream) {
    if (is_own(stream)) abandon_capture(stream);
  });
  for (const auto& [thread, stream] : context.per_thread) abandon_capture(*stream);
  driver.streams.erase_if(is_own);
  driver.events.erase_if(is_own);
  driver.modules.erase_if(is_own);
  driver.libraries.for_each([&](Library& library) { library.forget(context); });
  driver.heap.free_all_of(context);
  context.per_thread.clear();
  context.legacy.reset();
  context.is_alive = false;
}

Context& Contexts::get(CUcontext handle) const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& known) { return known->handle() == handle; });
  require(found != all_.end(), CUDA_ERROR_INVALID_CONTEXT);
  return **found;
}

Context* Contexts::current() {
  return stack.empty() ? nullptr : stack.back();
}

void Contexts::set_current(Context* context) {
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(context);
}

void Contexts::push(Context& context) {
  stack.push_back(&context);
}

Context& Contexts::pop() {
  require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
  Context& popped = *stack.back();
  stack.pop_back();
  return popped;
}

}  // namespace bwgemm::vgpu::driver
