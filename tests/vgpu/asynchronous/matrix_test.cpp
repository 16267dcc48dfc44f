// SPDX-License-Identifier: Apache-2.0
// Known answers of wgmma and tcgen05: which elements an instruction multiplies, and where the sums
// come to lie. Elements are small integers, so that every order of summation gives the same bits.
#include <algorithm>
#include <cmath>
#include <functional>

#include "vgpu/asynchronous/matrix_operand.h"
#include "vgpu/asynchronous/tma.h"
#include "vgpu/operations/number.h"
#include "vgpu/support/ptx_case.h"

namespace bwgemm::vgpu {
namespace {

using Matrix = std::vector<float>;  // [row][k], or [row][column]

Matrix integers(std::size_t count, unsigned seed) {
  Matrix values(count);
  for (float& value : values)
    value = static_cast<float>((seed = seed * 1103515245 + 12345) >> 16 & 7) - 3;
  return values;
}

void put(MmaElement element, float value, std::byte* to) {
  const std::uint16_t halves[] = {to_f16(value), to_bf16(value)};
  const std::uint8_t bytes[] = {to_float8(value, Float8::e4m3), to_float8(value, Float8::e5m2)};
  switch (element) {
    case MmaElement::tf32: std::memcpy(to, &value, 4); break;
    case MmaElement::f16: std::memcpy(to, &halves[0], 2); break;
    case MmaElement::bf16: std::memcpy(to, &halves[1], 2); break;
    case MmaElement::e4m3: std::memcpy(to, &bytes[0], 1); break;
    case MmaElement::e5m2: std::memcpy(to, &bytes[1], 1); break;
  }
}

constexpr std::uint32_t image_bytes = 8192;
using Image = std::vector<std::byte>;

constexpr Swizzle usual_swizzle(bool mn_major) {
  return mn_major ? Swizzle::bytes128 : Swizzle::none;
}
constexpr std::uint32_t width_of(Swizzle swizzle) {
  return 16u << static_cast<int>(swizzle);
}

// As shared memory holds it, `rows` of 32 bytes of k; the image begins at a multiple of 1024.
// Without swizzle, 8 rows (MN-major: 8 of k) of 16 bytes lie together, with steps of 128 bytes
// along k and of 256 along rows. K-major: each row begins a line as wide as the swizzle. MN-major:
// stretches of as many rows as fit such a line, one line for each k.
Image image_of(const Matrix& matrix, std::uint32_t rows, MmaElement element, bool mn_major,
               Swizzle swizzle) {
  const std::uint32_t bytes = element_bytes(element), depth = 32 / bytes, width = width_of(swizzle);
  Image image(image_bytes);
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t k = 0; k < depth; ++k) {
      const std::uint32_t inner = (mn_major ? row : k) * bytes, outer = mn_major ? k : row;
      const std::uint32_t lines = mn_major ? depth : rows;
      std::uint32_t at = inner / width * lines * width + outer * width + inner % width;
      if (swizzle == Swizzle::none && !mn_major)
        at = row / 8 * 256 + row % 8 * 16 + inner / 16 * 128 + inner % 16;
      put(element, matrix[row * depth + k], &image[swizzled(at & ~15u, swizzle) + at % 16]);
    }
  return image;
}

std::uint64_t descriptor(std::uint32_t address, MmaElement element, Swizzle swizzle, bool tcgen05) {
  static constexpr std::uint64_t tcgen05_codes[] = {0, 6, 4, 2}, wgmma_codes[] = {0, 3, 2, 1};
  const std::uint64_t depth = mma_depth(element), width = width_of(swizzle);
  std::uint64_t leading = depth * width, stride = 8 * width;
  if (swizzle == Swizzle::none) leading = 128, stride = 256;
  const std::uint64_t bits = address >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32;
  const int code = static_cast<int>(swizzle);
  if (tcgen05) return bits | std::uint64_t{1} << 46 | tcgen05_codes[code] << 61;
  return bits | wgmma_codes[code] << 62;
}

Matrix product(const Matrix& a, const Matrix& b, std::uint32_t m, std::uint32_t n,
               std::uint32_t depth) {
  Matrix d(m * n);
  for (std::uint32_t i = 0; i < m; ++i)
    for (std::uint32_t j = 0; j < n; ++j)
      for (std::uint32_t k = 0; k < depth; ++k) d[i * n + j] += a[i * depth + k] * b[j * depth + k];
  return d;
}

std::string list(const char* prefix, std::uint32_t count) {
  std::string text("{");
  for (std::uint32_t i = 0; i < count; ++i)
    text.append(i ? ", " : "").append(prefix).append(std::to_string(i));
  return text.append("}");
}
std::string number(std::uint64_t value) {
  return std::to_string(value);
}

struct MatrixCase : PtxCase {
  std::uint64_t put(const void* bytes, std::size_t size) {
    const std::uint64_t address = memory.allocate(size);
    std::memcpy(memory.host(address, size), bytes, size);
    memory.mark_initialised(address, size);
    return address;
  }
  // A and B of this CTA at smem and smem + 8192 (images follow each other at `images`), loaded by
  // thread 0, which all wait for. The first `a_bytes` of A.
  static std::string load(std::uint64_t images, std::uint32_t a_bytes = 8192) {
    return joined({R"(
      .shared .align 8 .b8 bars[16];
      mov.u32 %r1, smem; mov.u32 %r2, bars; setp.ne.s32 %p1, %r0, 0;
      mov.u32 %r3, %cluster_ctarank; mul.wide.u32 %rd3, %r3, 16384; add.s64 %rd2, %rd3, )",
                   number(images), R"(;
      @%p1 bra loaded;
      mbarrier.init.shared::cta.b64 [%r2], 1; mbarrier.init.shared::cta.b64 [%r2+8], 1;
      fence.mbarrier_init.release.cluster;
      mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r2], )",
                   number(a_bytes + 8192), R"(;
      cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd2], )",
                   number(a_bytes), R"(, [%r2];
      add.s32 %r4, %r1, 8192; add.s64 %rd4, %rd2, 8192;
      cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r4], [%rd4], 8192, [%r2];
      loaded: bar.sync 0;
      wait: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra wait;)"});
  }
  Matrix floats(std::uint64_t address, std::size_t count) {
    Matrix values(count);
    std::memcpy(values.data(), memory.host(address, count * 4), count * 4);
    return values;
  }
  // Register i of thread t goes to word t * count + i.
  static std::string store(std::uint64_t to, const char* prefix, std::uint32_t count) {
    std::string text =
        joined({"mov.u32 %r4, %cluster_ctarank; mad.lo.s32 %r4, %r4, 128, %r0;"
                "mul.wide.u32 %rd4, %r4, ",
                number(count * 4), "; add.s64 %rd4, %rd4, ", number(to), ";"});
    for (std::uint32_t i = 0; i < count; ++i)
      text.append(joined({"st.global.b32 [%rd4+", number(i * 4), "], ", prefix, number(i), ";"}));
    return text;
  }
};

constexpr std::uint32_t smem = 0x400, b_offset = 8192;

struct Multiply {
  MmaElement a, b;
  const char* types;
  std::uint32_t n;
  bool a_mn_major = false, b_mn_major = false, a_in_registers = false;
  std::uint32_t a_rows = 64;  // that are loaded, by eights, of a K-major A
};

void expect_wgmma(const Multiply& what) {
  constexpr std::uint32_t m = 64;
  const std::uint32_t n = what.n, depth = mma_depth(what.a), registers = n / 2;
  const Matrix a = integers(m * depth, 1), b = integers(n * depth, 2);
  MatrixCase test;
  test.threads = 128;
  test.seed = n;
  const Swizzle a_swizzle = usual_swizzle(what.a_mn_major);
  const Swizzle b_swizzle = usual_swizzle(what.b_mn_major);
  Image images = image_of(a, m, what.a, what.a_mn_major, a_swizzle);
  const Image second = image_of(b, n, what.b, what.b_mn_major, b_swizzle);
  images.insert(images.end(), second.begin(), second.end());
  std::vector<std::byte> fragments(128 * 16);  // four registers of A for each thread
  const std::uint32_t bytes = element_bytes(what.a);
  for (std::uint32_t t = 0; t < 128; ++t)
    for (std::uint32_t byte = 0; byte < 16; byte += bytes) {
      const std::uint32_t i = byte / 4, row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8;
      const std::uint32_t k = (i / 2 * 16 + t % 4 * 4 + byte % 4) / bytes;
      put(what.a, a[row * depth + k], &fragments[t * 16 + byte]);
    }
  const std::uint64_t out = test.memory.allocate(128 * registers * 4);
  const std::string parts = number(test.put(fragments.data(), fragments.size()));
  const bool is_16_bit = bytes == 2;
  std::string flags(", 1, 1");
  if (is_16_bit && !what.a_in_registers) flags.append(what.a_mn_major ? ", 1" : ", 0");
  if (is_16_bit) flags.append(what.b_mn_major ? ", 1" : ", 0");
  test.run(joined(
      {MatrixCase::load(test.put(images.data(), images.size()),
                        what.a_rows < m ? what.a_rows * 32 : b_offset),
       "{ .reg .f32 sum<128>; .reg .b32 part<4>; .reg .b64 d<2>; .reg .pred adds;"
       "mul.wide.u32 %rd5, %r0, 16; add.s64 %rd5, %rd5, ",
       parts,
       "; ld.global.v4.b32 {part0, part1, part2, part3}, [%rd5]; mov.u64 d0, ",
       number(descriptor(smem, what.a, a_swizzle, false)),
       "; mov.u64 d1, ",
       number(descriptor(smem + b_offset, what.b, b_swizzle, false)),
       "; setp.ne.s32 adds, 0, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n",
       number(n),
       "k",
       number(depth),
       ".f32",
       what.types,
       " ",
       list("sum", registers),
       ", ",
       what.a_in_registers ? "{part0, part1, part2, part3}" : "d0",
       ", d1, adds",
       flags,
       "; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
       MatrixCase::store(out, "sum", registers),
       "}"}));
  ASSERT_EQ(test.kinds(), "") << to_string(test.findings[0]);
  const Matrix expected = product(a, b, m, n, depth);
  const Matrix actual = test.floats(out, 128 * registers);
  for (std::uint32_t t = 0; t < 128; ++t)
    for (std::uint32_t i = 0; i < registers; ++i) {
      const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const std::uint32_t column = i / 4 * 8 + t % 4 * 2 + i % 2;
      const float sum = actual[t * registers + i];
      if (row < what.a_rows)
        ASSERT_EQ(sum, expected[row * n + column])
            << what.types << " n " << n << " row " << row << " column " << column;
      else
        ASSERT_TRUE(std::isnan(sum)) << sum << " row " << row << " column " << column;
    }
}

constexpr auto f16 = MmaElement::f16, bf16 = MmaElement::bf16, tf32 = MmaElement::tf32,
               e4m3 = MmaElement::e4m3, e5m2 = MmaElement::e5m2;

TEST(Wgmma, EveryWidth) {
  for (std::uint32_t n = 8; n <= 256; n += 8) expect_wgmma({bf16, bf16, ".bf16.bf16", n});
}

TEST(Wgmma, EveryType) {
  expect_wgmma({f16, f16, ".f16.f16", 40});
  expect_wgmma({tf32, tf32, ".tf32.tf32", 48});
  expect_wgmma({e4m3, e4m3, ".e4m3.e4m3", 24});
  expect_wgmma({e4m3, e5m2, ".e4m3.e5m2", 136});
  expect_wgmma({e5m2, e4m3, ".e5m2.e4m3", 8});
}

TEST(Wgmma, EveryMajor) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      expect_wgmma({bf16, bf16, ".bf16.bf16", 64, a, b});
      expect_wgmma({f16, f16, ".f16.f16", 192, a, b});
    }
}

// Rows outside of a matrix are not loaded: what they give may be left alone, and shows if it is
// not.
TEST(Wgmma, RowsThatWereNeverWrittenArePoison) {
  expect_wgmma({bf16, bf16, ".bf16.bf16", 32, false, false, false, 24});
  expect_wgmma({f16, f16, ".f16.f16", 8, false, true, false, 8});
}

TEST(Wgmma, AInRegisters) {
  expect_wgmma({bf16, bf16, ".bf16.bf16", 32, false, false, true});
  expect_wgmma({f16, f16, ".f16.f16", 64, false, true, true});
  expect_wgmma({tf32, tf32, ".tf32.tf32", 16, false, false, true});
  expect_wgmma({e4m3, e5m2, ".e4m3.e5m2", 128, false, false, true});
}

// Registers of A are in flight like those of the sums.
TEST(Wgmma, RegistersInFlightAreNotTouched) {
  MatrixCase test;
  test.threads = 128;
  const Image images(2 * image_bytes);
  auto body = [&](const char* behind) {
    return joined(
        {MatrixCase::load(test.put(images.data(), images.size())),
         "{ .reg .f32 sum<4>; .reg .b32 part<4>; .reg .b64 d; .reg .pred adds; mov.u64 d, ",
         number(descriptor(smem + b_offset, bf16, Swizzle::none, false)),
         "; setp.ne.s32 adds, 0, 0; wgmma.fence.sync.aligned; "
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {sum0, sum1, sum2, sum3}, "
         "{part0, part1, part2, part3}, d, adds, 1, 1, 0; wgmma.commit_group.sync.aligned;",
         behind, "}"});
  };
  const char* wait = "wgmma.wait_group.sync.aligned 0;";
  EXPECT_EQ(test.run(body(joined({wait, "add.s32 part1, part1, 1;"}).c_str())).kinds(), "");
  EXPECT_EQ(test.run(body(joined({"add.s32 part1, part1, 1;", wait}).c_str())).kinds(),
            "wgmma-accumulator");
}

// ---- tcgen05 ------------------------------------------------------------------------------------

struct TensorMultiply {
  const char* kind;
  MmaElement a, b;
  std::uint32_t codes;  // of types and majors in the instruction descriptor
  std::uint32_t m, n;
  std::uint32_t ctas = 1;
  bool ws = false, a_in_tensor_memory = false, a_mn_major = false, b_mn_major = false;
  Swizzle a_swizzle = usual_swizzle(a_mn_major), b_swizzle = usual_swizzle(b_mn_major);
};

// Where row i, column j of D lies: CTA, lane, column.
struct Place {
  std::uint32_t cta, lane, column;
};
Place place_of(const TensorMultiply& what, std::uint32_t i, std::uint32_t j) {
  const std::uint32_t m = what.m / what.ctas, cta = i / m, row = i % m;
  if (m == 128) return {cta, row, j};
  if (!what.ws && what.ctas == 1) return {0, row % 16 + 32 * (row / 16), j};
  const std::uint32_t parts = 128 / m, width = what.n / parts;
  return {cta, row + m * (j / width), j % width};
}

void expect_tcgen05(const TensorMultiply& what) {
  const std::uint32_t m = what.m, n = what.n, depth = mma_depth(what.a), ctas = what.ctas;
  const Matrix a = integers(m * depth, 3), b = integers(n * depth, 4);
  MatrixCase test;
  test.threads = 128;
  test.ctas = test.cluster = ctas;
  test.seed = n + m;
  Image images;
  for (std::uint32_t cta = 0; cta < ctas; ++cta) {
    const std::uint32_t rows = m / ctas, columns = n / ctas;
    const Matrix own_a(a.begin() + cta * rows * depth, a.begin() + (cta + 1) * rows * depth);
    const Matrix own_b(b.begin() + cta * columns * depth, b.begin() + (cta + 1) * columns * depth);
    for (const Image& image : {image_of(own_a, rows, what.a, what.a_mn_major, what.a_swizzle),
                               image_of(own_b, columns, what.b, what.b_mn_major, what.b_swizzle)})
      images.insert(images.end(), image.begin(), image.end());
  }
  // Row t of A as 8 words for thread t, for A in tensor memory.
  std::vector<std::byte> lines(128 * 32);
  for (std::uint32_t i = 0; i < std::min(m, 128u) * depth; ++i)
    put(what.a, a[i], &lines[i * element_bytes(what.a)]);
  const std::uint32_t columns = std::max(n, 32u), allocated = 512;
  const std::uint64_t out = test.memory.allocate(ctas * 128 * columns * 4);
  const std::string group = ctas == 2 ? "cta_group::2" : "cta_group::1";
  const std::string rows = number(test.put(lines.data(), lines.size()));
  const std::uint32_t instruction = 1 << 4 | what.codes | n / 8 << 17 | m / 16 << 24 |
                                    (what.a_mn_major ? 1u << 15 : 0) |
                                    (what.b_mn_major ? 1u << 16 : 0);
  std::string body =
      joined({MatrixCase::load(test.put(images.data(), images.size())), R"({
    .reg .b32 sum<256>; .reg .b64 d<2>; .reg .pred adds, quarter; .shared .align 4 .b8 where[4];
    mov.u32 %r5, where; setp.lt.u32 quarter, %r0, 32;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
    @quarter tcgen05.alloc.)",
              group, ".sync.aligned.shared::cta.b32 [%r5], ", number(allocated), R"(;
    tcgen05.fence::before_thread_sync;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %r6, [%r5]; add.s32 %r7, %r6, 256;
    and.b32 %r8, %r0, 96; shl.b32 %r8, %r8, 16; add.s32 %r10, %r7, %r8; add.s32 %r11, %r6, %r8;
    mul.wide.u32 %rd5, %r0, 32; add.s64 %rd5, %rd5, )",
              rows, R"(; ld.global.v8.b32 {sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7}, [%rd5];
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r10], {sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7};
    mov.b32 sum0, 0;)"});
  // All of D gets a value, so that every shape can be loaded as 128 lanes.
  for (std::uint32_t i = 0; i < columns; ++i)
    body.append(joined({"add.s32 %r12, %r11, ", number(i),
                        "; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r12], {sum0};"}));
  body.append(joined({R"(
    tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    tcgen05.fence::after_thread_sync;
    mov.u64 d0, )",
                      number(descriptor(smem, what.a, what.a_swizzle, true)), "; mov.u64 d1, ",
                      number(descriptor(smem + b_offset, what.b, what.b_swizzle, true)),
                      "; mov.u32 %r9, ", number(instruction), R"(;
    or.b32 %r12, %r3, %r0; setp.eq.s32 %p3, %r12, 0; setp.ne.s32 adds, 0, 0;
    @%p3 tcgen05.mma)",
                      what.ws ? ".ws." : ".", group, what.kind, " [%r6], ",
                      what.a_in_tensor_memory ? "[%r7]" : "d0", ", d1, %r9, adds;",
                      "@%p3 tcgen05.commit.", group, ".mbarrier::arrive::one.shared::cluster",
                      ctas == 2 ? ".multicast::cluster.b64 [%r2+8], %rs1;" : ".b64 [%r2+8];", R"(
    done: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2+8], 0; @!%p2 bra done;
    tcgen05.fence::after_thread_sync;)"}));
  for (std::uint32_t i = 0; i < columns; ++i)
    body.append(joined({"add.s32 %r12, %r11, ", number(i),
                        "; tcgen05.ld.sync.aligned.32x32b.x1.b32 {sum", number(i), "}, [%r12];"}));
  body.append(joined(
      {"tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync;",
       MatrixCase::store(out, "sum", columns),
       "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
       "@quarter tcgen05.dealloc.", group, ".sync.aligned.b32 %r6, ", number(allocated), "; }"}));
  test.run("mov.b16 %rs1, 3;" + body);
  ASSERT_EQ(test.kinds(), "") << to_string(test.findings[0]);
  const Matrix expected = product(a, b, m, n, depth);
  const Matrix actual = test.floats(out, ctas * 128 * columns);
  for (std::uint32_t i = 0; i < m; ++i)
    for (std::uint32_t j = 0; j < n; ++j) {
      const Place at = place_of(what, i, j);
      ASSERT_EQ(actual[(at.cta * 128 + at.lane) * columns + at.column], expected[i * n + j])
          << what.kind << " " << m << "x" << n << " row " << i << " column " << j;
    }
}

constexpr std::uint32_t both_f16 = 0, both_bf16 = 1 << 7 | 1 << 10, both_tf32 = 2 << 7 | 2 << 10,
                        e4m3_e5m2 = 0 << 7 | 1 << 10;

TEST(Tcgen05, Shapes) {
  for (const std::uint32_t m : {64u, 128u})
    for (const std::uint32_t n : {8u, 16u, 72u, 256u})
      expect_tcgen05({".kind::f16", bf16, bf16, both_bf16, m, n});
  for (const std::uint32_t m : {128u, 256u})
    for (const std::uint32_t n : {32u, 96u, 240u})
      expect_tcgen05({".kind::f16", f16, f16, both_f16, m, n, 2});
}

TEST(Tcgen05, Kinds) {
  expect_tcgen05({".kind::tf32", tf32, tf32, both_tf32, 128, 64});
  expect_tcgen05({".kind::f8f6f4", e4m3, e5m2, e4m3_e5m2, 128, 96});
  expect_tcgen05({".kind::f8f6f4", e4m3, e5m2, e4m3_e5m2, 256, 64, 2});
}

TEST(Tcgen05, Majors) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      expect_tcgen05({".kind::f16", bf16, bf16, both_bf16, 128, 128, 1, false, false, a, b});
      expect_tcgen05({".kind::f8f6f4", e4m3, e5m2, e4m3_e5m2, 128, 128, 1, false, false, a, b});
    }
}

TEST(Tcgen05, Swizzles) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64})
    for (const bool a : {false, true})
      for (const bool b : {false, true}) {
        expect_tcgen05({".kind::f16", bf16, bf16, both_bf16, 128, 128, 1, false, false, a, b,
                        swizzle, swizzle});
        expect_tcgen05(
            {".kind::f16", f16, f16, both_f16, 256, 128, 2, false, false, a, b, swizzle, swizzle});
      }
}

TEST(Tcgen05, WeightStationary) {
  for (const std::uint32_t m : {32u, 64u, 128u})
    expect_tcgen05({".kind::f16", bf16, bf16, both_bf16, m, 128, 1, true});
}

TEST(Tcgen05, AInTensorMemory) {
  expect_tcgen05({".kind::f16", bf16, bf16, both_bf16, 128, 64, 1, false, true});
  expect_tcgen05({".kind::tf32", tf32, tf32, both_tf32, 128, 32, 1, false, true});
  expect_tcgen05({".kind::f8f6f4", e4m3, e5m2, e4m3_e5m2, 128, 48, 1, false, true});
}

// One warp; `body` finds the address of 64 columns in %r6, of which column c of lane l holds
// 1000 l + c.
std::string with_tensor_memory(const std::string& body) {
  std::string text(R"(
    mov.u32 %r5, smem; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 64;
    bar.warp.sync -1; ld.shared.b32 %r6, [%r5]; mul.lo.s32 %r7, %r0, 1000;)");
  for (int i = 0; i < 64; ++i)
    text.append(joined({"add.s32 %r8, %r6, ", number(static_cast<std::uint64_t>(i)),
                        "; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r8], {%r7}; "
                        "add.s32 %r7, %r7, 1;"}));
  return text.append("tcgen05.wait::st.sync.aligned;")
      .append(body)
      .append("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, 64;");
}

// What a load of four registers gives, against lane and column by thread and register.
void expect_load(const char* form, const char* tail,
                 const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& expected) {
  for (std::uint32_t r = 0; r < 4; ++r) {
    const auto words = words_of(with_tensor_memory(
        joined({"tcgen05.ld.sync.aligned.", form, ".b32 {%r20, %r21, %r22, %r23}, [%r6]", tail,
                "; tcgen05.wait::ld.sync.aligned; mov.b32 %r9, %r2", number(r), ";"})));
    for (std::uint32_t t = 0; t < 32; ++t)
      ASSERT_EQ(words[t], expected(t, r)) << form << " thread " << t << " register " << r;
  }
}

TEST(Tcgen05, LoadShapes) {
  expect_load("32x32b.x4", "", [](auto t, auto r) { return t * 1000 + r; });
  expect_load("16x64b.x4", "",
              [](auto t, auto r) { return (t % 2 * 8 + t / 4) * 1000 + t / 2 % 2 + 2 * r; });
  expect_load("16x128b.x2", "",
              [](auto t, auto r) { return (t / 4 + 8 * (r % 2)) * 1000 + t % 4 + 4 * (r / 2); });
  expect_load("16x256b.x1", "",
              [](auto t, auto r) { return (t / 4 + 8 * (r / 2)) * 1000 + t % 4 * 2 + r % 2; });
  expect_load("16x32bx2.x4", ", 32",
              [](auto t, auto r) { return t % 16 * 1000 + r + t / 16 * 32; });
  expect_load("32x32b.x4.pack::16b", "", [](auto t, auto r) {
    return (t * 1000 + 2 * r) % 0x10000 | (t * 1000 + 2 * r + 1) << 16;
  });
}

// What one shape stores, 32x32b loads.
TEST(Tcgen05, StoreShapes) {
  const auto words = words_of(with_tensor_memory(R"(
    add.s32 %r20, %r0, 50000; add.s32 %r21, %r0, 60000; mov.b32 %r22, 1; mov.b32 %r23, 2;
    tcgen05.st.sync.aligned.16x256b.x1.b32 [%r6], {%r20, %r21, %r22, %r23};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r20, %r21, %r22, %r23}, [%r6];
    tcgen05.wait::ld.sync.aligned; mov.b32 %r9, %r23;)"));  // column 3: register 1, thread 1 mod 4
  for (std::uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(words[t], t < 8 ? 60000 + t * 4 + 1 : t < 16 ? 2 : t * 1000 + 3);
}

TEST(Tcgen05, StoresAndLoadsAreWaitedFor) {
  const char* load = R"(tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r9}, [%r6];
                        tcgen05.wait::ld.sync.aligned;)";
  const char* store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r7};";
  const char* wait = "tcgen05.wait::st.sync.aligned;";
  EXPECT_EQ(kinds_of(with_tensor_memory(joined({store, wait, load})), 32), "");
  EXPECT_EQ(kinds_of(with_tensor_memory(joined({store, load, wait})), 32), "tensor-race");
}

}  // namespace
}  // namespace bwgemm::vgpu
