// SPDX-License-Identifier: Apache-2.0
// Device: runs cases on the GPU that the environment names, in device memory between guard bands,
// and says what was wrong with them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "case.h"
#include "support/driver.h"

namespace bwgemm::fuzz {

class Operands;
struct Way;

// What a test of the fuzzer does to an output behind the library's back.
enum class Damage { none, element, row, aux, gradient };

struct Outcome {
  std::string wrong;  // empty: nothing
  // Of each call: its name, or "none". Of calls by threads: all names, sorted.
  std::vector<std::string> kernels;
  // Launches of copies, and calls of several products: those of a second run too; of two threads'
  // calls at most one.
  int copies = 0, divided = 0;
};

class Device {
 public:
  explicit Device(Damage damage);
  ~Device();
  Device(const Device&) = delete;

  // Replaces `pick` by the name of a kernel that can serve the call, each with equal chance. Where
  // operands cannot be copied, none are forced to be anywhere.
  void choose_forced(Case& item);

  // False if what is forced cannot serve its call.
  bool serves(const Case& item);

  Outcome run(const Case& item);

  // After a failure: gives the device a new context. False if it does not work either.
  bool recover();

  bool is_virtual() const { return seed_ != nullptr; }

 private:
  struct HandleOf {
    bwgemmHandle_t handle;
    int uses;
  };
  // By kernel, splits, where these are summed, where operands are found, and the call's place among
  // those at the same time.
  using HandleKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, int>;
  // What the log says since it was looked at last.
  struct Ran {
    std::vector<std::string> kernels;  // of products
    int copies = 0;
  };

  void open();
  void close() noexcept;
  bwgemmHandle_t handle_for(const Call& call, int place = 0);
  void end_used_handles();
  void apply_settings(bwgemmHandle_t handle, const Call& call, const Operands* operands);
  CUstream stream_of(const Call& call) const;
  Ran what_ran();
  bool serves(const Call& call, const Operands& operands);
  bool can_copy(Call call, const Operands& operands);
  std::string kernel_for(std::uint64_t pick, Call call, const Operands& operands);
  static Way prepare(bwgemmHandle_t handle, const Call& call, const Operands& operands);
  static void check_one_call(const Ran& ran, const Way& way);
  std::string launch(const Call& call, Operands& operands, Outcome& outcome);
  void launch_all(const Case& item, std::vector<Operands>& operands, Outcome& outcome);
  void launch_in_threads(const Case& item, std::vector<Operands>& operands, Outcome& outcome);
  void run_captured(const Case& item, std::vector<Operands>& operands, Outcome& outcome);
  void run_once(const Case& item, std::vector<Operands>& operands, Outcome& outcome);
  std::string judge_all(const Case& item, std::vector<Operands>& operands);
  std::string kernel_for_all() const;
  std::string differences(const Case& item, std::vector<Operands>& operands, Outcome& outcome);

  Damage damage_;
  int cases_ = 0;
  int log_;  // the library writes its log here
  void (*seed_)(unsigned long long) = nullptr;
  std::size_t (*findings_)() = nullptr;
  CUcontext context_ = nullptr;
  std::vector<test::Stream> streams_;
  std::map<HandleKey, HandleOf> handles_;
};

}  // namespace bwgemm::fuzz
