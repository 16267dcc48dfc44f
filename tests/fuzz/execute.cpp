// SPDX-License-Identifier: Apache-2.0
#include "execute.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "draw.h"
#include "families/copies/params.h"
#include "operands.h"
#include "support/variable.h"

namespace bwgemm::fuzz {
namespace {

using test::driver;

// Handles end now and then, so that what they keep (captured calls: memory) does not pile up.
constexpr int uses_of_a_handle = 100, cases_of_all_handles = 1000;

constexpr const char* of_a_launch = "[trace] bwgemm_";
constexpr const char* several_kernels = "parts of one product ran on several kernels";

void require(bwgemmStatus_t status, const char* what) {
  if (status == BWGEMM_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": " + bwgemmStatusName(status) + ": " +
                           bwgemmGetLastErrorString());
}

template <class Function>
void find_if_there(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

std::uint64_t environment_seed() {
  const char* text = std::getenv("BWGEMM_VGPU_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

// What the library logs of a call names the kernel that it launches, batches included.
int memory_for_the_log() {
  const int file = memfd_create("bwgemm_fuzz log", MFD_CLOEXEC);
  if (file < 0) throw std::runtime_error("memfd_create failed");
  setenv("BWGEMM_LOG_LEVEL", "trace", 1);
  setenv("BWGEMM_LOG_FILE", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  return file;
}

std::string taken_from(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (ftruncate(file, 0) != 0) throw std::runtime_error("ftruncate failed");
  return text;
}

}  // namespace

Device::Device(Damage damage) : damage_(damage), log_(memory_for_the_log()) {
  void* library = dlopen(test::driver_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  find_if_there(library, "vgpu_seed", seed_);
  find_if_there(library, "vgpu_finding_count", findings_);
  open();
}

Device::~Device() {
  close();
  ::close(log_);
}

void Device::open() {
  test::check(driver().device_primary_ctx_retain(&context_, 0), "cuDevicePrimaryCtxRetain");
  test::check(driver().ctx_set_current(context_), "cuCtxSetCurrent");
  streams_.emplace_back(CU_STREAM_NON_BLOCKING);
  streams_.emplace_back(CU_STREAM_DEFAULT);
}

void Device::close() noexcept {
  for (const auto& [key, of] : handles_) bwgemmDestroy(of.handle);
  handles_.clear();
  streams_.clear();
  driver().ctx_set_current(nullptr);
  driver().device_primary_ctx_release(0);
}

bool Device::recover() {
  close();
  open();
  return driver().ctx_synchronize() == CUDA_SUCCESS;
}

bwgemmHandle_t Device::handle_for(const Call& call, int place) {
  const HandleKey key(call.kernel, call.splits, call.sums, call.operands, place);
  if (const auto found = handles_.find(key); found != handles_.end()) {
    ++found->second.uses;
    return found->second.handle;
  }
  setenv("BWGEMM_FORCE_KERNEL", call.kernel.c_str(), 1);
  setenv("BWGEMM_FORCE_SPLITS", call.splits > 0 ? std::to_string(call.splits).c_str() : "", 1);
  setenv("BWGEMM_FORCE_SUMS", call.sums == 0 ? "" : call.sums == 1 ? "memory" : "cluster", 1);
  // What the environment forces is for the other handles, and for processes that shrink.
  std::optional<test::Variable> forced;
  if (call.forces_operands())
    forced.emplace("BWGEMM_FORCE_OPERANDS",
                   std::string(operands_words[static_cast<std::size_t>(call.operands)]));
  bwgemmHandle_t handle = nullptr;
  require(bwgemmCreate(&handle), "bwgemmCreate");
  handles_[key] = {handle, 0};
  return handle;
}

void Device::end_used_handles() {
  const bool is_time = ++cases_ % cases_of_all_handles == 0;
  for (auto of = handles_.begin(); of != handles_.end();) {
    if (!is_time && of->second.uses < uses_of_a_handle) {
      ++of;
      continue;
    }
    require(bwgemmDestroy(of->second.handle), "bwgemmDestroy");
    of = handles_.erase(of);
  }
}

CUstream Device::stream_of(const Call& call) const {
  switch (static_cast<StreamKind>(call.stream)) {
    case StreamKind::legacy: return nullptr;
    case StreamKind::non_blocking: return streams_[0].get();
    case StreamKind::blocking: return streams_[1].get();
    case StreamKind::per_thread: return CU_STREAM_PER_THREAD;
  }
  return nullptr;
}

// Only what changes, as programs do it: every setter may clear what the handle remembers.
void Device::apply_settings(bwgemmHandle_t handle, const Call& call, const Operands* operands) {
  const auto apply = [handle](auto get, auto set, auto wanted, const char* what) {
    decltype(wanted) now{};
    require(get(handle, &now), what);
    if (now != wanted) require(set(handle, wanted), what);
  };
  const auto mode =
      call.device_scalars != 0 ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST;
  apply(bwgemmGetPointerMode, bwgemmSetPointerMode, mode, "pointer mode");
  apply(bwgemmGetSmCountTarget, bwgemmSetSmCountTarget, static_cast<int>(call.sm_count),
        "SM count target");
  apply(bwgemmGetProgrammaticLaunch, bwgemmSetProgrammaticLaunch,
        static_cast<int>(call.programmatic), "programmatic launch");
  apply(bwgemmGetDeterminism, bwgemmSetDeterminism,
        call.invariant != 0 ? BWGEMM_DETERMINISM_BATCH_INVARIANT : BWGEMM_DETERMINISM_BITWISE,
        "determinism");
  apply(bwgemmGetStream, bwgemmSetStream, stream_of(call), "stream");
  const auto kind = call.extras.own_workspace != 0 ? WorkspaceKind::library
                                                   : static_cast<WorkspaceKind>(call.workspace);
  auto bytes = static_cast<std::size_t>(call.workspace_bytes);
  if (kind == WorkspaceKind::library) bytes = library_workspace;
  void* own = kind == WorkspaceKind::own ? operands->workspace() : nullptr;
  void* set = nullptr;
  std::size_t set_bytes = 0;
  require(bwgemmGetWorkspace(handle, &set, &set_bytes), "bwgemmGetWorkspace");
  if (set == own && set_bytes == bytes) return;
  require(bwgemmSetWorkspace(handle, own, bytes), "bwgemmSetWorkspace");
}

// Asks the library, so that it need not be known here what a kernel can do: a query about the call
// fails unless the forced kernel serves it, whatever workspace there is. What is explained is with
// the call's, which copies may not fit.
bool Device::serves(const Call& call, const Operands& operands) {
  const bwgemmHandle_t handle = handle_for(call);
  apply_settings(handle, call, &operands);
  std::size_t size = 0;
  const bwgemmStatus_t status = operands.workspace_size(handle, &size);
  if (status == BWGEMM_STATUS_NOT_SUPPORTED) return false;
  require(status, "bwgemmGetWorkspaceSize");
  const std::string text = operands.explained(handle);
  if (text.find("is forced and cannot serve") != text.npos) return false;
  return !call.forces_copies() || text.find("\ncopied ") != text.npos;
}

bool Device::serves(const Case& item) {
  for (const Call& call : item.calls) {
    const bool is_forced = !call.kernel.empty() || call.forces_operands();
    if (is_forced && !serves(call, Operands(call))) return false;
  }
  return true;
}

bool Device::can_copy(Call call, const Operands& operands) {
  call.kernel.clear();
  if (!call.forces_copies()) call.operands = static_cast<std::int64_t>(OperandsKind::copied);
  return serves(call, operands);
}

std::string Device::kernel_for(std::uint64_t pick, Call call, const Operands& operands) {
  std::vector<int> order(static_cast<std::size_t>(bwgemmKernelCount()));
  std::iota(order.begin(), order.end(), 0);
  Random random(pick);
  for (std::size_t left = order.size(); left > 0; --left) {
    const auto chosen = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(left)));
    std::swap(order[chosen], order[left - 1]);
    call.kernel = bwgemmKernelName(order[left - 1]);
    if (serves(call, operands)) return call.kernel;
  }
  return "";
}

void Device::choose_forced(Case& item) {
  for (Call& call : item.calls) {
    const std::uint64_t pick = std::exchange(call.pick, 0);
    if (call.is_empty()) call.operands = 0;
    if (call.is_empty() || (pick == 0 && call.operands == 0)) continue;
    const Operands operands(call);
    if (call.operands != 0 && !can_copy(call, operands)) call.operands = 0;
    if (pick != 0) call.kernel = kernel_for(pick, call, operands);
  }
}

Device::Ran Device::what_ran() {
  const std::string log = taken_from(log_);
  static const std::set<std::string> products = [] {
    std::set<std::string> names;
    for (int i = 0; i < bwgemmKernelCount(); ++i) names.insert(bwgemmKernelName(i));
    return names;
  }();
  static const std::set<std::string> copies = {copies::kernel_name(Arch::sm90).c_str(),
                                               copies::kernel_name(Arch::sm100).c_str()};
  Ran ran;
  for (std::size_t line = log.find(of_a_launch); line != log.npos;
       line = log.find(of_a_launch, line + 1)) {
    const std::size_t name = line + std::strlen("[trace] ");
    const std::string kernel = log.substr(name, log.find(',', name) - name);
    if (products.contains(kernel)) ran.kernels.push_back(kernel);
    if (copies.contains(kernel)) ++ran.copies;
  }
  return ran;
}

// What the call says of its algo, or else is forced, and what it does with the handle before. An
// algo goes before what is forced.
Way Device::prepare(bwgemmHandle_t handle, const Call& call, const Operands& operands) {
  Way way = call.extras.listed != 0 ? operands.listed(handle, call.extras.listed)
                                    : Way{operands.tuned(), "", {}};
  if (way.algo == -1 && call.forces_operands()) way.copies = call.forces_copies();
  if (call.preload == 0) return way;
  const bwgemmStatus_t status = operands.preload(handle, way);
  // Operands that are aligned better may be none for the kernel.
  if (status != BWGEMM_STATUS_NOT_SUPPORTED || (call.kernel.empty() && way.algo == -1))
    require(status, "bwgemmPreload");
  return way;
}

// One kernel computes all parts of a product, each behind a copy.
void Device::check_one_call(const Ran& ran, const Way& way) {
  if (way.copies && *way.copies != (ran.copies > 0))
    throw std::runtime_error(*way.copies ? "operands were not copied, but were to be"
                                         : "operands were copied, but were not to be");
  const auto products = static_cast<int>(ran.kernels.size());
  if (ran.copies > 0 ? products != ran.copies : products != 1)
    throw std::runtime_error(std::to_string(products) + " products were launched behind " +
                             std::to_string(ran.copies) + " copies");
  if (std::set<std::string>(ran.kernels.begin(), ran.kernels.end()).size() > 1)
    throw std::runtime_error(several_kernels);
}

std::string Device::launch(const Call& call, Operands& operands, Outcome& outcome) {
  const bwgemmHandle_t handle = handle_for(call);
  apply_settings(handle, call, &operands);
  const Way way = prepare(handle, call, operands);
  taken_from(log_);
  if (call.extras.tune != 0)
    require(operands.tune(handle, call.extras.tune), "bwgemmMatmulAutotune");
  else
    require(operands.submit(handle, way), "call");
  if (call.is_empty()) return "none";
  const Ran ran = what_ran();
  outcome.copies += ran.copies;
  if (ran.kernels.empty()) throw std::runtime_error("the log does not say which kernel ran");
  const std::string& kernel = ran.kernels.back();
  if (!way.kernel.empty() && !call.knows_scale_only() && kernel != way.kernel)
    throw std::runtime_error("the algo is of " + way.kernel + ", but " + kernel + " ran");
  if (call.extras.tune != 0) return kernel;
  outcome.divided += ran.kernels.size() > 1 ? 1 : 0;
  check_one_call(ran, way);
  return kernel;
}

void Device::launch_all(const Case& item, std::vector<Operands>& operands, Outcome& outcome) {
  if (item.threads != 0) return launch_in_threads(item, operands, outcome);
  for (std::size_t i = 0; i < item.calls.size(); ++i)
    outcome.kernels[i] = launch(item.calls[i], operands[i], outcome);
}

// On one handle, if neither call needs settings that the other does not.
void Device::launch_in_threads(const Case& item, std::vector<Operands>& operands,
                               Outcome& outcome) {
  struct Part {
    bwgemmHandle_t handle = nullptr;
    Way way;
    std::string wrong;
    std::thread thread;
  };
  std::vector<Part> parts(item.calls.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Call& call = item.calls[i];
    const int place = i == 0 || same_settings(item.calls[0], call) ? 0 : static_cast<int>(i);
    parts[i].handle = handle_for(call, place);
    apply_settings(parts[i].handle, call, &operands[i]);
    parts[i].way = prepare(parts[i].handle, call, operands[i]);
  }
  taken_from(log_);
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i].thread = std::thread([&part = parts[i], &of = operands[i], this] {
      if (driver().ctx_set_current(context_) != CUDA_SUCCESS) part.wrong = "no context";
      if (of.submit(part.handle, part.way) != BWGEMM_STATUS_SUCCESS)
        part.wrong = std::string("call: ") + bwgemmGetLastErrorString();
    });
  for (Part& part : parts) part.thread.join();
  for (const Part& part : parts)
    if (!part.wrong.empty()) throw std::runtime_error(part.wrong);
  Ran ran = what_ran();
  outcome.copies += ran.copies;
  std::vector<std::string>& kernels = ran.kernels;
  // The log has them as the threads came; a replay is to say the same.
  std::sort(kernels.begin(), kernels.end());
  const auto calls = static_cast<std::size_t>(std::count_if(
      item.calls.begin(), item.calls.end(), [](const Call& call) { return !call.is_empty(); }));
  if (kernels.size() > calls) {  // parts of divided products
    ++outcome.divided;
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    if (kernels.size() > calls) throw std::runtime_error(several_kernels);
    kernels.resize(calls, kernels.back());
  }
  std::copy(kernels.begin(), kernels.end(), outcome.kernels.begin());
}

void Device::run_captured(const Case& item, std::vector<Operands>& operands, Outcome& outcome) {
  for (const Call& call : item.calls) handle_for(call);  // which is not to be captured
  const CUstream stream = stream_of(item.calls[0]);
  const auto mode = static_cast<CUstreamCaptureMode>(item.capture - 1);
  test::check(driver().stream_begin_capture(stream, mode), "cuStreamBeginCapture");
  launch_all(item, operands, outcome);
  CUgraph captured = nullptr;
  test::check(driver().stream_end_capture(stream, &captured), "cuStreamEndCapture");
  const test::Graph graph(captured);
  bool reads_c = false;
  for (const Call& call : item.calls) reads_c = reads_c || call.beta != 0;
  graph.launch(stream);
  if (reads_c) {
    test::synchronize();
    for (Operands& of : operands) of.reset();
  }
  graph.launch(stream);
  test::synchronize();
}

void Device::run_once(const Case& item, std::vector<Operands>& operands, Outcome& outcome) {
  if (item.capture != 0)
    run_captured(item, operands, outcome);
  else
    launch_all(item, operands, outcome);
  test::synchronize();
}

std::string Device::judge_all(const Case& item, std::vector<Operands>& operands) {
  if (damage_ == Damage::element) operands.back().spoil_element();
  if (damage_ == Damage::row) operands.back().spoil_padding();
  if (damage_ == Damage::aux) operands.back().spoil_aux();
  if (damage_ == Damage::gradient) operands.back().spoil_gradient();
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (const std::string wrong = operands[i].judge(); !wrong.empty())
      return (item.calls.size() > 1 ? "call " + std::to_string(i + 1) + ": " : "") + wrong;
  return "";
}

// The one that serves every call.
std::string Device::kernel_for_all() const {
  const int major = test::device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const std::string arch = major == 9 ? "_sm90_" : "_sm100_";
  for (int i = 0; i < bwgemmKernelCount(); ++i) {
    const std::string name = bwgemmKernelName(i);
    if (name.find(arch) != name.npos && name.ends_with("_direct")) return name;
  }
  throw std::runtime_error("no kernel is direct");
}

std::string Device::differences(const Case& item, std::vector<Operands>& operands,
                                Outcome& outcome) {
  std::vector<std::vector<std::byte>> first;
  for (Operands& of : operands) first.push_back(of.result());
  for (Operands& of : operands) of.reset();
  Case again = item;
  for (Call& call : again.calls) {
    call.extras.tune = 0;  // another run might find another algo
    if (call.invariant == 0) continue;
    call.kernel = call.kernel.empty() ? kernel_for_all() : "";
    call.extras.listed = call.operands = 0;
  }
  run_once(again, operands, outcome);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].result() != first[i])
      return "a second run of call " + std::to_string(i + 1) + " gives other bits";
  return "";
}

Outcome Device::run(const Case& item) {
  Outcome outcome{"", std::vector<std::string>(item.calls.size(), "none")};
  const std::size_t findings = findings_ != nullptr ? findings_() : 0;
  try {
    end_used_handles();
    if (seed_ != nullptr)
      seed_(environment_seed() + 1000003 * static_cast<std::uint64_t>(item.calls[0].seed));
    std::vector<Operands> operands;
    operands.reserve(item.calls.size());
    for (const Call& call : item.calls)
      operands.emplace_back(call, item.chain != 0 && !operands.empty() ? &operands[0] : nullptr);
    run_once(item, operands, outcome);
    outcome.wrong = judge_all(item, operands);
    if (outcome.wrong.empty() && item.repeat != 0)
      outcome.wrong = differences(item, operands, outcome);
    if (outcome.wrong.empty() && findings_ != nullptr && findings_() != findings)
      outcome.wrong = "the virtual GPU has findings";
  } catch (const std::exception& error) {
    outcome.wrong = error.what();
  }
  return outcome;
}

}  // namespace bwgemm::fuzz
