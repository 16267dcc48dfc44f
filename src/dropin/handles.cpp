// SPDX-License-Identifier: Apache-2.0
#include "dropin/handles.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#include "dropin/chosen.h"
#include "dropin/fork.h"
#include "dropin/library.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {
namespace {

// A hash table with open addresses. A place that was used once is searched across for ever.
constexpr std::size_t places = 1024;
constinit std::array<Handle, places> table{};
constinit std::array<Product, places> spare{};  // of handles that were destroyed
constinit std::size_t spare_count = 0;
constinit char removed_mark = 0;

cublasHandle_t removed() {
  return reinterpret_cast<cublasHandle_t>(&removed_mark);
}

std::size_t first_place(cublasHandle_t handle) {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  return static_cast<std::size_t>((bits >> 4) * 0x9e3779b97f4a7c15U >> 54);
}
static_assert(places == std::size_t{1} << (64 - 54));

// Null in the product if there is none: of another context, none can serve.
Product spare_of(const ContextIdentity& context) {
  if (!context.is_known()) return {};
  const std::lock_guard lock(seldom());
  for (std::size_t at = 0; at < spare_count; ++at) {
    if (!(spare[at].context == context)) continue;
    const Product found = spare[at];
    spare[at] = spare[--spare_count];
    return found;
  }
  return {};
}

// Measuring allocates, and its outcome decides about bits. A file of earlier measurements is read.
void never_measure(const Library& bwgemm, bwgemmHandle_t handle) {
  bwgemmTuneMode_t mode = BWGEMM_TUNE_OFF;
  if (bwgemm.get_tune_mode(handle, &mode) == BWGEMM_STATUS_SUCCESS && mode == BWGEMM_TUNE_ON)
    bwgemm.set_tune_mode(handle, BWGEMM_TUNE_FROZEN);
}

// Where the policy `faster` serves nothing but what a file lists: of a device of which there are no
// times, and where results are to be batch invariant.
void say_who_computes(const Product& product) {
  static std::atomic<bool> said{false};
  const bool is_invariant = settings().batch_invariant;
  const bool may_serve = settings().policy == Policy::all || product.chosen_device >= 0 ||
                         (product.is_measured && !is_invariant);
  if (settings().mode != Mode::serve || may_serve || said.exchange(true)) return;
  say(is_invariant ? "calls go to cuBLAS, because results are to be batch invariant and the policy "
                     "faster would choose by their rows; BWGEMM_CUBLAS_POLICY=all serves them all"
                   : "calls go to cuBLAS, because which of them are faster is not known for this "
                     "device; bwgemm-run --tune measures it, and BWGEMM_CUBLAS_POLICY=all serves "
                     "them all");
}

// In the context that is current, as cuBLAS's own handle. None in mode off.
Product new_product() {
  const Library* const bwgemm = settings().mode != Mode::off ? library() : nullptr;
  if (bwgemm == nullptr) return {};
  const ContextIdentity context = current_context();
  if (const Product found = spare_of(context); found.handle != nullptr) return found;
  Product made;
  made.context = context;
  if (bwgemm->create(&made.handle) != BWGEMM_STATUS_SUCCESS) {
    std::string line = "calls go to cuBLAS: ";
    say(line.append(bwgemm->last_error()));
    return {};
  }
  never_measure(*bwgemm, made.handle);
  made.chosen_device = chosen_device();
  made.is_measured = is_measured_device();
  say_who_computes(made);
  if (settings().batch_invariant)
    bwgemm->set_determinism(made.handle, BWGEMM_DETERMINISM_BATCH_INVARIANT);
  return made;
}

void fill(Handle& place, cublasHandle_t handle, const Cublas* cublas, const Product& product) {
  new (&place.mutex) std::mutex;  // perhaps held by a thread that a fork left behind
  Decisions* const decided = std::exchange(place.decisions, nullptr);
  if (place.forks == fork_count()) delete decided;  // else half written, perhaps, by such a thread
  if (place.cublas != cublas) delete std::exchange(place.lt_cache, nullptr);
  place.cublas = cublas;
  place.forks = fork_count();
  place.product = product;
  place.workspace = nullptr;
  place.workspace_size = 0;
  place.of.store(handle, std::memory_order_release);
}

}  // namespace

Handle* find_handle(cublasHandle_t handle) {
  if (handle == nullptr) return nullptr;
  std::size_t at = first_place(handle);
  for (std::size_t looked = 0; looked < places; ++looked, at = (at + 1) % places) {
    const cublasHandle_t there = table[at].of.load(std::memory_order_acquire);
    if (there == handle) return &table[at];
    if (there == nullptr) return nullptr;
  }
  return nullptr;
}

void add_handle(cublasHandle_t handle, const Cublas* cublas) {
  const Product product = new_product();
  const std::lock_guard lock(seldom());
  if (Handle* const known = find_handle(handle)) return fill(*known, handle, cublas, product);
  std::size_t at = first_place(handle);
  for (std::size_t looked = 0; looked < places; ++looked, at = (at + 1) % places) {
    const cublasHandle_t there = table[at].of.load(std::memory_order_relaxed);
    if (there == nullptr || there == removed()) return fill(table[at], handle, cublas, product);
  }
}

void remove_handle(cublasHandle_t handle) {
  const std::lock_guard lock(seldom());
  Handle* const known = find_handle(handle);
  if (known == nullptr) return;
  const Product& product = known->product;
  if (product.handle != nullptr && known->forks == fork_count() && product.context.is_known() &&
      spare_count < places)
    spare[spare_count++] = product;
  known->of.store(removed(), std::memory_order_release);
}

}  // namespace bwgemm::dropin
