// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <pthread.h>
#include <string_view>
#include <type_traits>

#include "api/log.h"
#include "core/error.h"

namespace bwgemm {
namespace {

using ErrorText = std::array<char, 8192>;

// Each thread's text, held by a key of the C library. A thread_local would make the library need
// the dynamic linker by name, and its destructor would keep the library loaded while the thread
// lives; `free` is there after an unload too.
class LastErrors {
 public:
  void open() noexcept { has_key_ = pthread_key_create(&key_, std::free) == 0; }
  // The key may be anybody's from now on.
  void close() noexcept {
    if (!has_key_.exchange(false)) return;
    std::free(pthread_getspecific(key_));
    pthread_key_delete(key_);
  }

  // Null if the thread has none.
  ErrorText* find() const {
    return has_key_ ? static_cast<ErrorText*>(pthread_getspecific(key_)) : nullptr;
  }

  // Null if memory is exhausted, or after close().
  ErrorText* find_or_make() const {
    if (ErrorText* text = find()) return text;
    void* memory = has_key_ ? std::calloc(1, sizeof(ErrorText)) : nullptr;
    if (memory == nullptr || pthread_setspecific(key_, memory) == 0)
      return static_cast<ErrorText*>(memory);
    std::free(memory);
    return nullptr;
  }

 private:
  pthread_key_t key_{};
  std::atomic<bool> has_key_{false};
};

// Without a destructor: exit handlers and other threads may make calls when static objects are
// gone.
static_assert(std::is_trivially_destructible_v<LastErrors>);
constinit LastErrors last_errors;

// From the load of the library to its unload or the end of the process.
const struct LastErrorsAreOpen {
  LastErrorsAreOpen() noexcept { last_errors.open(); }
  ~LastErrorsAreOpen() { last_errors.close(); }
} last_errors_are_open;

std::string_view set_last_error(std::initializer_list<std::string_view> parts) noexcept {
  ErrorText* text = last_errors.find_or_make();
  if (text == nullptr) return "an error whose text could not be kept";
  std::size_t size = 0;
  for (std::string_view part : parts) {
    part = part.substr(0, text->size() - 1 - size);
    std::memcpy(text->data() + size, part.data(), part.size());
    size += part.size();
  }
  (*text)[size] = '\0';
  return {text->data(), size};
}

bwgemmStatus_t failed(const char* entry, bwgemmStatus_t status, std::string_view why) noexcept {
  log(Level::error, set_last_error({entry, ": ", why}));
  return status;
}

}  // namespace

bwgemmStatus_t status_of_current_exception(const char* entry) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return failed(entry, error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(entry, BWGEMM_STATUS_ALLOC_FAILED, "host memory is exhausted");
  } catch (const std::exception& error) {
    return failed(entry, BWGEMM_STATUS_INTERNAL_ERROR, error.what());
  } catch (...) {
    return failed(entry, BWGEMM_STATUS_INTERNAL_ERROR, "unknown exception");
  }
}

const char* last_error_text() noexcept {
  const ErrorText* text = last_errors.find();
  return text != nullptr ? text->data() : "";
}

}  // namespace bwgemm
