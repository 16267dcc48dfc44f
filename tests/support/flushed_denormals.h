// SPDX-License-Identifier: Apache-2.0
// FlushedDenormals: for the length of a scope the calling thread takes denormals for zero, as
// operands and as results: what torch.set_flush_denormal() and -ffast-math do. The tests' own
// arithmetic belongs outside of it, and waits too: a virtual GPU computes in the thread that waits.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace bwgemm::test {

class FlushedDenormals {
 public:
  explicit FlushedDenormals(bool flushes = true) : before_(control()) {
    if (flushes) set_control(before_ | flush);
  }
  ~FlushedDenormals() { set_control(before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Control = std::uint32_t;
  static constexpr Control flush = 0x8040;  // MXCSR: flush to zero, denormals are zero
  static Control control() {
    return _mm_getcsr();
  }
  static void set_control(Control value) {
    _mm_setcsr(value);
  }
#elif defined(__aarch64__)
  using Control = std::uint64_t;
  static constexpr Control flush = Control{1} << 24;  // FPCR: flush to zero, both ways
  static Control control() {
    Control value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(Control value) {
    asm volatile("msr fpcr, %0" : : "r"(value));
  }
#else
#error "how does a thread of this processor flush denormals?"
#endif

  Control before_;
};

}  // namespace bwgemm::test
