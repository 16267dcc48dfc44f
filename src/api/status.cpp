// SPDX-License-Identifier: Apache-2.0
// Names and sentences of the statuses, and what the library says about itself. Needs no driver.
#include <array>

#include "build_info.h"
#include "bwgemm/bwgemm.h"
#include "families/variants.h"

namespace {

struct StatusText {
  bwgemmStatus_t status;
  const char* name;
  const char* sentence;
};

constexpr std::array status_texts = {
    StatusText{BWGEMM_STATUS_SUCCESS, "BWGEMM_STATUS_SUCCESS", "The call succeeded."},
    StatusText{BWGEMM_STATUS_NOT_INITIALIZED, "BWGEMM_STATUS_NOT_INITIALIZED",
               "The handle is null or was destroyed."},
    StatusText{BWGEMM_STATUS_ALLOC_FAILED, "BWGEMM_STATUS_ALLOC_FAILED",
               "Host or device memory is exhausted."},
    StatusText{BWGEMM_STATUS_INVALID_VALUE, "BWGEMM_STATUS_INVALID_VALUE",
               "An argument breaks its documented rule."},
    StatusText{BWGEMM_STATUS_ARCH_MISMATCH, "BWGEMM_STATUS_ARCH_MISMATCH",
               "The GPU's compute capability is not 9.0, 10.0 or 10.3."},
    StatusText{BWGEMM_STATUS_MAPPING_ERROR, "BWGEMM_STATUS_MAPPING_ERROR",
               "Reserved: bwgemm does not return it."},
    StatusText{BWGEMM_STATUS_EXECUTION_FAILED, "BWGEMM_STATUS_EXECUTION_FAILED",
               "The CUDA driver refused a launch, or the context is lost."},
    StatusText{BWGEMM_STATUS_INTERNAL_ERROR, "BWGEMM_STATUS_INTERNAL_ERROR",
               "A call of the CUDA driver failed that should not."},
    StatusText{BWGEMM_STATUS_NOT_SUPPORTED, "BWGEMM_STATUS_NOT_SUPPORTED",
               "The arguments are legal, but no kernel serves them."},
    StatusText{BWGEMM_STATUS_LICENSE_ERROR, "BWGEMM_STATUS_LICENSE_ERROR",
               "Reserved: bwgemm does not return it."},
    StatusText{BWGEMM_STATUS_NO_DRIVER, "BWGEMM_STATUS_NO_DRIVER",
               "The CUDA driver library cannot be opened."},
    StatusText{BWGEMM_STATUS_DRIVER_TOO_OLD, "BWGEMM_STATUS_DRIVER_TOO_OLD",
               "The CUDA driver is older than 12.8 or lacks an entry point."},
    StatusText{BWGEMM_STATUS_NO_DEVICE, "BWGEMM_STATUS_NO_DEVICE",
               "The CUDA driver works but shows no GPU."},
};

constexpr StatusText unknown_status{BWGEMM_STATUS_FORCE_INT, "unknown status", "unknown status"};

const StatusText& text_of(bwgemmStatus_t status) {
  for (const StatusText& text : status_texts)
    if (text.status == status) return text;
  return unknown_status;
}

constexpr auto kernel_names = [] {
  std::array<bwgemm::KernelName, bwgemm::kernel_variants.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = bwgemm::kernel_name(bwgemm::kernel_variants[i]);
  return names;
}();

// Joins texts that are known at compile time into one static text.
template <std::size_t... sizes>
constexpr auto joined(const char (&... parts)[sizes]) {
  std::array<char, (sizes + ...) - sizeof...(sizes) + 1> all{};
  std::size_t size = 0;
  const auto add = [&](const char* part) {
    while (*part != '\0') all[size++] = *part++;
  };
  (add(parts), ...);
  return all;
}

#define BWGEMM_TEXT_OF(number) #number
#define BWGEMM_TEXT(number) BWGEMM_TEXT_OF(number)

constexpr auto build_info =
    joined("bwgemm " BWGEMM_TEXT(BWGEMM_VERSION_MAJOR) "." BWGEMM_TEXT(
               BWGEMM_VERSION_MINOR) "." BWGEMM_TEXT(BWGEMM_VERSION_PATCH) ", source ",
           bwgemm::source_revision, ", CUDA compiler ", bwgemm::cuda_compiler_version,
           ", kernels for sm_90a sm_100a sm_100f");

}  // namespace

int bwgemmGetVersion(void) {
  return BWGEMM_VERSION;
}

const char* bwgemmGetBuildInfo(void) {
  return build_info.data();
}

const char* bwgemmStatusName(bwgemmStatus_t status) {
  return text_of(status).name;
}

const char* bwgemmStatusString(bwgemmStatus_t status) {
  return text_of(status).sentence;
}

int bwgemmKernelCount(void) {
  return static_cast<int>(kernel_names.size());
}

const char* bwgemmKernelName(int index) {
  if (index < 0 || index >= bwgemmKernelCount()) return nullptr;
  return kernel_names[static_cast<std::size_t>(index)].c_str();
}
