// SPDX-License-Identifier: Apache-2.0
#include "api/tuning_cache.h"

#include <algorithm>
#include <bit>

#include "api/log.h"
#include "bwgemm/bwgemm.h"
#include "core/named.h"
#include "core/text.h"
#include "core/tiling.h"
#include "families/variants.h"
#include "launch/scratch.h"
#include "rules/copies.h"

namespace bwgemm {
namespace {

// Spaces would end a word.
std::string word(std::string text) {
  for (char& c : text)
    if (std::isgraph(static_cast<unsigned char>(c)) == 0) c = '_';
  return text;
}

// The library's version, revision and compiler, as one word.
const std::string& build_class() {
  static const std::string build = word(bwgemmGetBuildInfo());
  return build;
}

// Bytes, up to 128, of which everything that steps through the matrix is a multiple.
int alignment(const Matrix& matrix, std::int64_t batch, bool is_pointer_array) {
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) *
           static_cast<std::uint64_t>(size_bytes(matrix.type));
  };
  std::uint64_t all = 128 | bytes(matrix.ld);
  if (!is_pointer_array) {
    all |= reinterpret_cast<std::uintptr_t>(matrix.data);
    if (batch > 1) all |= bytes(matrix.batch_stride);
  }
  return 1 << std::countr_zero(all);
}

std::string described(const Matrix& matrix, const Problem& problem) {
  const bool repeats = problem.batch > 1 && matrix.batch_stride == 0 && !problem.is_pointer_array;
  return text(name(matrix.type), matrix.order == Order::row ? "r" : "c",
              alignment(matrix, problem.batch, problem.is_pointer_array), repeats ? "x" : "");
}

std::string described(const Scalar& scalar) {
  return scalar.device != nullptr ? "d" : is_zero(scalar.value) ? "0" : "h";
}

void add_vector(std::string& to, std::string_view letter, const Vector& vector) {
  if (vector.data != nullptr) to += text(letter, name(vector.type));
}

std::string described(const Epilogue& epilogue, const Problem& problem) {
  std::string all = text("e", static_cast<int>(epilogue.activation), "g",
                         static_cast<int>(epilogue.gate), epilogue.differentiates ? "'" : "");
  add_vector(all, "R", epilogue.row_scale);
  add_vector(all, "C", epilogue.column_scale);
  add_vector(all, "r", epilogue.row_bias);
  add_vector(all, "c", epilogue.column_bias);
  if (epilogue.aux.data != nullptr) all += text("x", described(epilogue.aux, problem));
  return all;
}

using VariantsByName = std::unordered_map<std::string, int>;

VariantsByName variants_by_name() {
  VariantsByName variants;
  for (std::size_t i = 0; i < kernel_variants.size(); ++i)
    variants.emplace(kernel_name(kernel_variants[i]).view(), static_cast<int>(i));
  return variants;
}

std::optional<Recipe> recipe_of(const TuningEntry& entry, const VariantsByName& variants) {
  const auto variant = variants.find(entry.kernel);
  const auto raster = named(entry.raster, {Raster::grouped, Raster::snake, Raster::hilbert});
  const auto operands = named(entry.operands, all_operands);
  if (variant == variants.end() || !raster || !operands) return std::nullopt;
  return Recipe{variant->second, entry.tile_n, entry.splits, *raster, *operands};
}

// Parts into which the workspace divides it: what is fastest in two may not be in ten.
std::string described_parts(const Problem& problem, std::size_t workspace_bytes) {
  std::string all;
  for (const Operands operands : all_operands) {
    const auto division = division_of(problem, operands, workspace_bytes);
    if (division && division->parts > 1) all += text("/", name(operands), "x", division->parts);
  }
  return all;
}

// Which algos fit into it, roughly: a power of two, and nothing from the library's own on.
std::string described_workspace(std::size_t bytes) {
  if (bytes >= ScratchPool::max_partials_bytes) return "";
  return text("/w", bytes == 0 ? 0 : std::bit_floor(bytes));
}

}  // namespace

std::string problem_class(const Problem& problem, const SelectOptions& options,
                          const DeviceFacts& facts) {
  std::string all =
      text(problem.m, "x", problem.n, "x", problem.scale_only() ? 0 : problem.k, "x", problem.batch,
           problem.is_pointer_array ? "p" : "", "/", described(problem.a, problem), "/",
           described(problem.b, problem), "/", described(problem.d, problem),
           problem.d.ld == contiguous_extent(problem) ? "" : "g");  // gaps between lines
  if (problem.reads_c())
    all += text("/", described(problem.c, problem), problem.c == problem.d ? "=" : "");
  all += text("/", described(problem.alpha), described(problem.beta));
  if (problem.epilogue.any()) all += text("/", described(problem.epilogue, problem));
  return text(all, described_parts(problem, options.workspace_bytes),
              described_workspace(options.workspace_bytes), "/s",
              usable_sms(facts, options.sm_count_target),
              options.batch_invariant ? "/invariant" : "");
}

std::string device_class(const std::string& name, const DeviceFacts& facts) {
  return word(text(name, ";", facts.cc_major, ".", facts.cc_minor, ";", facts.sm_count));
}

void TuningCache::open(const std::string& path) {
  TuningContent content;
  if (!path.empty()) content = read_tuning_file(path);
  const VariantsByName variants = content.entries.empty() ? VariantsByName() : variants_by_name();
  int used = 0, stale = 0;
  {
    const std::lock_guard lock(mutex_);
    path_ = path;
    forget(Source::file);
    forget(Source::prediction);
    for (const TuningEntry& entry : content.entries) {
      if (entry.device != device_) continue;
      const std::optional<Recipe> pick =
          entry.build == build_class() ? recipe_of(entry, variants) : std::nullopt;
      stale += !pick.has_value();
      if (!pick) continue;
      insert(entry.problem, *pick, Source::file);
      ++used;
    }
    keep_newest();
    any_.store(!known_.empty(), std::memory_order_release);
  }
  if (!content.error.empty())
    log(Level::warning, [&] { return text("tuning cache not used: ", content.error); });
  else if (stale > 0 || content.corrupt > 0)
    log(Level::warning, [&] {
      return text("tuning cache ", path, ": ", used, " entries used; ignored: ", stale,
                  " of other builds, ", content.corrupt, " corrupt");
    });
  else if (used > 0)
    log(Level::info, [&] { return text("tuning cache ", path, ": ", used, " entries used"); });
}

std::optional<Recipe> TuningCache::find(const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(problem);
  return found != known_.end() ? std::optional(found->second.pick) : std::nullopt;
}

bool TuningCache::is_measured(const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(problem);
  return found != known_.end() && found->second.source != Source::prediction;
}

std::optional<Recipe> TuningCache::find_anew(const std::string& problem) {
  std::optional<Recipe> found = find(problem);
  if (found) return found;
  found = find_in_file(problem);
  if (found) insert_known(problem, *found, Source::file);
  return found;
}

std::optional<Recipe> TuningCache::find_in_file(const std::string& problem) const {
  const std::string path = this->path();
  if (path.empty()) return std::nullopt;
  for (const TuningEntry& entry : read_tuning_file(path).entries)
    if (entry.problem == problem && entry.device == device_ && entry.build == build_class())
      return recipe_of(entry, variants_by_name());
  return std::nullopt;
}

void TuningCache::remember(const std::string& problem, const Recipe& pick, bool writes_file) {
  insert_known(problem, pick, Source::own);
  if (writes_file) write(problem, pick, SameKey::is_replaced);
}

void TuningCache::agree_on(const std::string& problem, const Recipe& pick) {
  write(problem, pick, SameKey::stays);
  insert_known(problem, find_in_file(problem).value_or(pick), Source::own);
}

void TuningCache::remember_predicted(const std::string& problem, const Recipe& pick) {
  insert_known(problem, pick, Source::prediction);
}

void TuningCache::forget_predicted() {
  const std::lock_guard lock(mutex_);
  forget(Source::prediction);
  any_.store(!known_.empty(), std::memory_order_release);
}

std::string TuningCache::path() const {
  const std::lock_guard lock(mutex_);
  return path_;
}

void TuningCache::insert_known(const std::string& problem, const Recipe& pick, Source source) {
  const std::lock_guard lock(mutex_);
  insert(problem, pick, source);
  keep_newest();
  any_.store(true, std::memory_order_release);
}

void TuningCache::write(const std::string& problem, const Recipe& pick, SameKey same_key) const {
  const std::string path = this->path();
  if (path.empty()) return;
  const KernelName kernel = kernel_name(kernel_variants[static_cast<std::size_t>(pick.variant)]);
  const TuningEntry entry{build_class(),
                          device_,
                          problem,
                          std::string(kernel.view()),
                          pick.tile_n,
                          pick.splits,
                          std::string(name(pick.raster)),
                          std::string(name(pick.operands))};
  const std::string error = add_to_tuning_file(path, {&entry, 1}, same_key);
  if (!error.empty())
    log(Level::warning, [&] { return text("tuning cache not written: ", error); });
}

// Only own results replace own results.
void TuningCache::insert(const std::string& problem, const Recipe& pick, Source source) {
  const auto found = known_.find(problem);
  if (found != known_.end() && found->second.source == Source::own && source != Source::own) return;
  known_.insert_or_assign(problem, Known{pick, source, next_age_++});
}

void TuningCache::forget(Source source) {
  std::erase_if(known_, [&](const auto& known) { return known.second.source == source; });
}

void TuningCache::keep_newest() {
  if (known_.size() <= max_tuning_entries) return;
  std::vector<std::uint64_t> ages;
  ages.reserve(known_.size());
  for (const auto& known : known_) ages.push_back(known.second.age);
  const auto oldest_kept = ages.end() - static_cast<std::ptrdiff_t>(max_tuning_entries);
  std::nth_element(ages.begin(), oldest_kept, ages.end());
  std::erase_if(known_, [&](const auto& known) { return known.second.age < *oldest_kept; });
}

}  // namespace bwgemm
