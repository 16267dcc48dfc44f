// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/blob.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <elf.h>

namespace bwgemm::vgpu::driver {
namespace {

// Fatbin, little-endian: this header, then entries, each of which says how long its header is.
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t payload_bytes;
};
static_assert(sizeof(FatbinHeader) == 16);

struct FatbinEntry {
  std::uint16_t kind, unknown;
  std::uint32_t header_bytes;
  std::uint64_t padded_bytes;
  std::uint32_t compressed_bytes;  // 0: stored as it is
};

// What nvcc puts around a fatbin in host code.
struct FatbinWrapper {
  std::uint32_t magic, version;
  const void* fatbin;
};

constexpr std::uint32_t fatbin_magic = 0xba55ed50, wrapper_magic = 0x466243b1;
constexpr std::uint16_t ptx_entry = 1;

template <class Value>
Value read(const void* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::span<const std::byte> bytes_at(const void* code, std::size_t size) {
  return {static_cast<const std::byte*>(code), size};
}

// Section headers come last in what ptxas writes.
std::size_t elf_bytes(const void* code) {
  const auto header = read<Elf64_Ehdr>(code);
  std::size_t end = header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
  end =
      std::max<std::size_t>(end, header.e_phoff + std::size_t{header.e_phentsize} * header.e_phnum);
  return end;
}

// Text up to its null, if it begins as PTX does: with .version, comments before it aside.
Blob text_at(const char* text) {
  const char* at = text;
  for (;;) {
    while (std::isspace(static_cast<unsigned char>(*at)) != 0) ++at;
    if (at[0] != '/' || at[1] != '/') break;
    while (*at != '\0' && *at != '\n') ++at;
  }
  constexpr std::string_view begin = ".version";
  if (std::strncmp(at, begin.data(), begin.size()) != 0) return {Blob::Kind::unknown, {}};
  return {Blob::Kind::ptx, bytes_at(text, std::strlen(text))};
}

}  // namespace

Blob blob_at(const void* code) {
  const auto* text = static_cast<const char*>(code);
  // Byte by byte: text may be shorter than a number.
  if (std::strncmp(text, ELFMAG, SELFMAG) == 0)
    return {Blob::Kind::cubin, bytes_at(code, elf_bytes(code))};
  const auto begins_with = [&](std::uint32_t magic) {
    return std::strncmp(text, reinterpret_cast<const char*>(&magic), sizeof magic) == 0;
  };
  if (begins_with(wrapper_magic)) return blob_at(read<FatbinWrapper>(code).fatbin);
  if (!begins_with(fatbin_magic)) return text_at(text);
  const auto header = read<FatbinHeader>(code);
  return {Blob::Kind::fatbin, bytes_at(code, header.header_bytes + header.payload_bytes)};
}

std::optional<std::string_view> uncompressed_ptx(const Blob& fatbin) {
  if (fatbin.kind != Blob::Kind::fatbin) return std::nullopt;
  std::span<const std::byte> rest =
      fatbin.bytes.subspan(read<FatbinHeader>(fatbin.bytes.data()).header_bytes);
  while (rest.size() >= sizeof(FatbinEntry)) {
    const auto entry = read<FatbinEntry>(rest.data());
    const std::size_t size = entry.header_bytes + entry.padded_bytes;
    if (entry.header_bytes < sizeof(FatbinEntry) || size > rest.size()) return std::nullopt;
    if (entry.kind == ptx_entry && entry.compressed_bytes == 0) {
      const auto* text = reinterpret_cast<const char*>(rest.data()) + entry.header_bytes;
      return std::string_view(text, strnlen(text, entry.padded_bytes));
    }
    rest = rest.subspan(size);
  }
  return std::nullopt;
}

}  // namespace bwgemm::vgpu::driver
