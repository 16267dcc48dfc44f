// SPDX-License-Identifier: Apache-2.0
// BWGEMM_TEST_SANITIZED: whether a sanitizer watches this program's memory with a malloc of its
// own.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BWGEMM_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BWGEMM_TEST_SANITIZED 1
#endif
#endif

#if !defined(BWGEMM_TEST_SANITIZED)
#define BWGEMM_TEST_SANITIZED 0
#endif
