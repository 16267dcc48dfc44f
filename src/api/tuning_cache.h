// SPDX-License-Identifier: Apache-2.0
// TuningCache: the recipe that was found fastest for each class of problem, by the handle's own
// autotuning or, if the handle has a file, by any process with the same device and build of the
// library. If a measurement failed, the cache has the predicted recipe instead. Selection judges
// whether a recipe can serve a call.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/tuning_file.h"
#include "core/device_facts.h"
#include "core/problem.h"
#include "select/select.h"

namespace bwgemm {

// All of a problem, and of the settings of a call, on which the fastest choice may depend: sizes,
// types, orders, alignments of what is read and written, gaps between lines of D, what is fused.
// Not addresses, and not the values of scalars unless zero. A word.
std::string problem_class(const Problem& problem, const SelectOptions& options,
                          const DeviceFacts& facts);

// A word. `name` is the driver's.
std::string device_class(const std::string& name, const DeviceFacts& facts);

class TuningCache {
 public:
  explicit TuningCache(std::string device) : device_(std::move(device)) {}

  // Reads the file, in place of what an earlier one said and of predictions, and keeps to it; "":
  // none. One line of the log tells what could not be used.
  void open(const std::string& path);

  // False as long as find() finds nothing.
  bool any() const { return any_.load(std::memory_order_acquire); }
  std::optional<Recipe> find(const std::string& problem) const;
  // Whether find() finds what somebody measured, and not a prediction.
  bool is_measured(const std::string& problem) const;

  // find(), and then what the file has by now.
  std::optional<Recipe> find_anew(const std::string& problem);

  // In the file too, if there is one and it may be written; the log tells if that fails.
  void remember(const std::string& problem, const Recipe& pick, bool writes_file = true);
  // The same, unless the file has another pick for the problem: that one is remembered, so that all
  // who share the file choose alike.
  void agree_on(const std::string& problem, const Recipe& pick);
  // A prediction, which no file gets.
  void remember_predicted(const std::string& problem, const Recipe& pick);
  void forget_predicted();

 private:
  enum class Source { own, file, prediction };
  struct Known {
    Recipe pick;
    Source source;
    std::uint64_t age;
  };
  void insert(const std::string& problem, const Recipe& pick, Source source);
  void insert_known(const std::string& problem, const Recipe& pick, Source source);
  void forget(Source source);
  std::optional<Recipe> find_in_file(const std::string& problem) const;
  std::string path() const;
  void write(const std::string& problem, const Recipe& pick, SameKey same_key) const;
  void keep_newest();

  const std::string device_;
  mutable std::mutex mutex_;
  std::string path_;
  std::unordered_map<std::string, Known> known_;
  std::uint64_t next_age_ = 0;
  std::atomic<bool> any_{false};
};

}  // namespace bwgemm
