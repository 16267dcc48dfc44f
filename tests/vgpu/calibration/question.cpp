// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/question.h"

#include <cstdio>
#include <fcntl.h>
#include <stdexcept>
#include <sys/file.h>
#include <unistd.h>

namespace bwgemm::calibration {

void RawData::add(const std::string& name, const void* data, std::size_t bytes) const {
  if (path_.empty()) return;
  std::string section("section ");
  section.append(name).append(" ").append(std::to_string(bytes)).append("\n");
  section.append(static_cast<const char*>(data), bytes);
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error("cannot append to " + path_);
  flock(file, LOCK_EX);
  std::size_t written = 0;
  while (written < section.size()) {
    const ssize_t count = ::write(file, section.data() + written, section.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  close(file);
  if (written < section.size()) throw std::runtime_error("cannot append to " + path_);
}

std::uint64_t hash_of(const void* data, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  return hash;
}

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

}  // namespace bwgemm::calibration
