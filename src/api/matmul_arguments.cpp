// SPDX-License-Identifier: Apache-2.0
// The arguments of bwgemmMatmul. The struct is taken word by word: its members fill whole words,
// group by group.
#include <algorithm>
#include <cstring>

#include "api/arguments.h"
#include "api/validate.h"

namespace bwgemm {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr bwgemmMatmulDesc_t defaults = BWGEMM_MATMUL_DESC_INIT;
// The sizes of the struct in the versions before this one.
constexpr std::uint32_t first_desc_size = offsetof(bwgemmMatmulDesc_t, biasGradientOf);
constexpr std::uint32_t second_desc_size = offsetof(bwgemmMatmulDesc_t, clampLow);
static_assert(sizeof(bwgemmMatmulDesc_t) == second_desc_size + 2 * sizeof(float));
static_assert(offsetof(bwgemmMatmulDesc_t, gate) % word_bytes == 0);

// Words of the struct, from the first to the one behind the last.
struct Group {
  unsigned bit;
  std::size_t begin, end;

  std::size_t size() const { return end - begin; }
};
constexpr Group group_from(unsigned bit, std::size_t begin, std::size_t end) {
  return {bit, begin / word_bytes, end / word_bytes};
}
constexpr Group product = group_from(0, 0, offsetof(bwgemmMatmulDesc_t, gate));
constexpr std::array groups = {
    group_from(group::epilogue, offsetof(bwgemmMatmulDesc_t, gate),
               offsetof(bwgemmMatmulDesc_t, algo)),
    group_from(group::settings, offsetof(bwgemmMatmulDesc_t, algo), first_desc_size),
    group_from(group::gradient, first_desc_size, second_desc_size),
    group_from(group::clamp, second_desc_size, sizeof(bwgemmMatmulDesc_t))};

// Members of groups that are addresses, of which the key has traits, up to that of `most`.
struct Address {
  std::size_t word;
  Argument argument;
  std::uintptr_t most;
};
constexpr std::uintptr_t element = alignof(float);  // kernels read vectors by elements
constexpr std::array addresses = {
    Address{offsetof(bwgemmMatmulDesc_t, bias) / word_bytes, Argument::bias, element},
    Address{offsetof(bwgemmMatmulDesc_t, rowScale) / word_bytes, Argument::row_scale, element},
    Address{offsetof(bwgemmMatmulDesc_t, columnScale) / word_bytes, Argument::column_scale,
            element},
    Address{offsetof(bwgemmMatmulDesc_t, aux) / word_bytes, Argument::aux, 256},
    Address{offsetof(bwgemmMatmulDesc_t, workspace) / word_bytes, Argument::workspace, 256},
    Address{offsetof(bwgemmMatmulDesc_t, biasGradient) / word_bytes, Argument::bias_gradient,
            element}};

const std::byte* at_word(const bwgemmMatmulDesc_t& desc, std::size_t word) {
  return reinterpret_cast<const std::byte*>(&desc) + word * word_bytes;
}

bool is_default(const bwgemmMatmulDesc_t& desc, const Group& group) {
  std::uint64_t differing = 0;
  for (std::size_t word = group.begin; word < group.end; ++word) {
    std::uint64_t given = 0, usual = 0;
    std::memcpy(&given, at_word(desc, word), sizeof given);
    std::memcpy(&usual, at_word(defaults, word), sizeof usual);
    differing |= given ^ usual;
  }
  return differing == 0;
}

// In the form of this version.
bwgemmMatmulDesc_t known_desc(const bwgemmMatmulDesc_t& desc) {
  const std::uint32_t size = desc.structSize;
  check_struct_size("structSize", size, {first_desc_size, second_desc_size}, sizeof desc);
  bwgemmMatmulDesc_t known = defaults;
  std::memcpy(&known, &desc, std::min<std::size_t>(size, sizeof known));
  known.structSize = sizeof known;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&desc);
  for (std::size_t i = sizeof known; i < size; ++i)
    if (bytes[i] != 0)
      unsupported("structSize is ", size, ", and byte ", i,
                  " is not 0: a member that this version of the library does not know");
  return known;
}

void add(const bwgemmMatmulDesc_t& desc, const Group& group, Arguments& arguments) {
  CallKey& key = arguments.key;
  std::uint64_t* const words = &key.words[key.count];
  std::memcpy(words, at_word(desc, group.begin), group.size() * word_bytes);
  key.count += group.size();
  for (const Address& address : addresses) {
    if (address.word < group.begin || address.word >= group.end) continue;
    const void* given = nullptr;
    std::memcpy(&given, at_word(desc, address.word), sizeof given);
    words[address.word - group.begin] = alignment_traits(given, address.most);
    arguments.values.set(address.argument, given);
  }
}

void take(const bwgemmMatmulDesc_t& desc, Arguments& arguments) {
  arguments.key.count = 1;
  arguments.groups = 0;
  arguments.algo = -1;
  arguments.is_nothing = desc.m <= 0 || desc.n <= 0 || desc.batchCount <= 0;
  add(desc, product, arguments);
  for (const Group& group : groups) {
    if (is_default(desc, group)) continue;
    arguments.groups |= group.bit;
    add(desc, group, arguments);
  }
  if (!arguments.has(group::settings)) return;
  arguments.workspace_size = desc.workspaceSize;
  arguments.algo = desc.algo;
}

}  // namespace

Arguments matmul_arguments(const bwgemmMatmulDesc_t* desc, const void* alpha, const void* a,
                           const void* b, const void* beta, const void* c, void* d) {
  require(desc != nullptr, "desc is null but must be a struct");
  Arguments arguments;
  if (desc->structSize == sizeof *desc)
    take(*desc, arguments);
  else
    take(known_desc(*desc), arguments);
  arguments.alpha = alpha, arguments.beta = beta;
  arguments.values.set(Argument::a, a);
  arguments.values.set(Argument::b, b);
  arguments.values.set(Argument::c, c);
  arguments.values.set(Argument::d, d);
  arguments.is_gemm = false;
  return arguments;
}

bwgemmMatmulDesc_t matmul_desc(const Arguments& arguments) {
  bwgemmMatmulDesc_t desc = defaults;
  const std::uint64_t* words = arguments.key.words.data() + 1;
  const auto restore_group = [&](const Group& group) {
    std::memcpy(reinterpret_cast<std::byte*>(&desc) + group.begin * word_bytes, words,
                group.size() * word_bytes);
    words += group.size();
  };
  restore_group(product);
  for (const Group& group : groups)
    if (arguments.has(group.bit)) restore_group(group);
  for (const Address& address : addresses) {
    const void* const given = arguments.values.address(address.argument);
    std::memcpy(reinterpret_cast<std::byte*>(&desc) + address.word * word_bytes, &given,
                sizeof given);
  }
  return desc;
}

}  // namespace bwgemm
