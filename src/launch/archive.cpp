// SPDX-License-Identifier: Apache-2.0
#include "launch/archive.h"

#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/text.h"

// From packaging/archive.S.
extern "C" {
extern const unsigned char bwgemm_archive_begin[] __attribute__((visibility("hidden")));
extern const unsigned char bwgemm_archive_end[] __attribute__((visibility("hidden")));
}

namespace bwgemm {
namespace {

struct Header {
  char magic[8];
  std::uint32_t version, entries;
};
static_assert(sizeof(Header) == 16);

struct ArchiveEntry {
  char name[96], target[16];
  std::uint64_t offset, size;
  unsigned char sha256[32];
};
static_assert(sizeof(ArchiveEntry) == 160);

template <class Value>
Value read(std::span<const unsigned char> bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <std::size_t capacity>
std::string_view zero_padded(const char (&text)[capacity]) {
  return {text, strnlen(text, capacity)};
}

[[noreturn]] void damaged(const char* why) {
  throw Error(BWGEMM_STATUS_INTERNAL_ERROR,
              text("the kernel archive of the library is damaged: ", why));
}

}  // namespace

std::string_view target_of(const DeviceFacts& facts) {
  if (facts.cc_major == 9) return "sm_90a";
  return facts.cc_minor == 0 ? "sm_100a" : "sm_100f";
}

Archive::Archive(std::span<const unsigned char> bytes) : bytes_(bytes) {
  if (bytes.size() < sizeof(Header)) damaged("no header");
  const Header header = read<Header>(bytes, 0);
  if (std::memcmp(header.magic, "BWGEMMAR", sizeof header.magic) != 0) damaged("wrong magic");
  if (header.version != 1) damaged("unknown version");
  if ((bytes.size() - sizeof(Header)) / sizeof(ArchiveEntry) < header.entries)
    damaged("entries are cut off");
}

Archive Archive::embedded() {
  return Archive({bwgemm_archive_begin, bwgemm_archive_end});
}

std::optional<std::span<const unsigned char>> Archive::found(std::string_view name,
                                                             std::string_view target) const {
  const auto entries = read<Header>(bytes_, 0).entries;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const auto entry = read<ArchiveEntry>(bytes_, sizeof(Header) + i * sizeof(ArchiveEntry));
    if (zero_padded(entry.name) != name || zero_padded(entry.target) != target) continue;
    if (entry.offset > bytes_.size() || entry.size > bytes_.size() - entry.offset)
      damaged("a kernel is cut off");
    return bytes_.subspan(entry.offset, entry.size);
  }
  return std::nullopt;
}

bool Archive::has(std::string_view name, std::string_view target) const {
  return found(name, target).has_value();
}

std::span<const unsigned char> Archive::find(std::string_view name, std::string_view target) const {
  if (const auto code = found(name, target)) return *code;
  throw Error(BWGEMM_STATUS_NOT_SUPPORTED,
              text("kernel ", name, " was not built into this library for ", target));
}

}  // namespace bwgemm
