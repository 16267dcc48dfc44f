// SPDX-License-Identifier: Apache-2.0
// Program: all that a call launches. A product comes from its arguments to the launch in four
// steps, validated -> choose -> built -> run, or by the last alone where the ProgramCache of the
// handle has the program of a call like it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "api/arguments.h"
#include "api/validate.h"
#include "launch/scratch.h"
#include "program/part.h"
#include "rules/choice.h"

namespace bwgemm {

struct CallSettings;
class Handle;

struct Program {
  std::vector<Part> parts;  // in their order
  ScratchNeed need;         // of each part: they use the same scratch
  bool uses_scratch = false;
};

// The programs of one handle's calls. The key (CallKey) leaves out addresses and values of scalars.
// A warm call validates, selects and builds nothing, because a call with its key was legal before.
// The cache is bounded and uses the heap only to add a program. Settings that change programs are
// not in the key: their setters clear the cache.
class ProgramCache {
 public:
  ProgramCache() : sets_(std::make_unique<Set[]>(set_count)) {}

  // While the lock lives, no other thread moves or replaces the program.
  struct Found {
    std::unique_lock<std::mutex> lock;
    const std::shared_ptr<Program>* program;  // null: there is none
  };
  Found find(const CallKey& key);

  // Each call that is not found validates and selects.
  struct Counters {
    std::uint64_t found = 0, not_found = 0;
  };
  Counters counters() const;

  // How often it was cleared. A program belongs to the generation that was read before anything was
  // chosen for it.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // In place of an equal key's, or of the program of its set that was not used for longest. A
  // program of an earlier generation is dropped: what it was chosen by no longer holds.
  void insert(const CallKey& key, Program program, std::uint64_t generation);
  void clear();

 private:
  static constexpr std::size_t set_count = 64;
  static constexpr std::size_t ways = 4;

  struct Entry {
    CallKey key;
    std::shared_ptr<Program> program;
  };
  struct alignas(64) Set {
    mutable std::mutex mutex;
    std::uint64_t clock = 0;
    Counters counters{};
    std::array<std::uint64_t, ways> last_use{};  // 0: empty
    std::array<std::uint64_t, ways> hashes{};
    std::array<std::unique_ptr<Entry>, ways> entries;
  };

  static std::optional<std::size_t> way_of(const Set& set, std::uint64_t hash, const CallKey& key);

  std::unique_ptr<Set[]> sets_;
  std::atomic<std::uint64_t> generation_{0};
};

void multiply(Handle& handle, Arguments arguments);

// The call's own where it has some, else the handle's.
CallSettings call_settings(const Handle& handle, const Arguments& arguments);

// The handle's context is current for all functions below.

// The program of a problem and a choice. Calls no driver but to load kernels. Error(NOT_SUPPORTED)
// if a kernel does not fit what the context has of the device.
Program built(Handle& handle, const ValidProblem& problem, const Choice& choice,
              const CallSettings& call);

// Moves a program to a call's arguments, with the scratch that it needs, and launches it. `memory`:
// the caller's workspace, or null. The lock of a program that others may move is held when this
// begins, and whenever the program is looked at.
void run(Handle& handle, ProgramCache::Found& found, Values& values, void* memory);
// A program that nobody else has. All parts are moved before the first is launched.
void run(Handle& handle, Program& program, Values& values, void* memory);

}  // namespace bwgemm
