// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string_view>

#include "api/log.h"
#include "core/error.h"

namespace bwgemm {
namespace {

// Of fixed size and without a destructor: it must hold "out of memory" without memory, and a
// thread-local destructor would keep the library from being unloaded while the thread lives.
constinit thread_local std::array<char, 8192> last_error{};

std::string_view set_last_error(std::initializer_list<std::string_view> parts) noexcept {
  std::size_t size = 0;
  for (std::string_view part : parts) {
    part = part.substr(0, last_error.size() - 1 - size);
    std::memcpy(last_error.data() + size, part.data(), part.size());
    size += part.size();
  }
  last_error[size] = '\0';
  return {last_error.data(), size};
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
  return last_error.data();
}

}  // namespace bwgemm
