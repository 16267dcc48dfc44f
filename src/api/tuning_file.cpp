// SPDX-License-Identifier: Apache-2.0
#include "api/tuning_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "core/text.h"

namespace bwgemm {
namespace {

constexpr std::string_view first_line = "bwgemm tuning cache 1";
constexpr std::chrono::seconds lock_patience{5};

std::string failure(std::string_view what, std::string_view path) {
  std::array<char, 128> buffer{};
  const char* text_of_error = strerror_r(errno, buffer.data(), buffer.size());
  return text(what, " ", path, ": ", std::string_view(text_of_error));
}

class File {
 public:
  File(const char* path, int flags, mode_t mode = 0)
      : File(::open(path, flags | O_CLOEXEC, mode)) {}
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  bool close() {
    const bool is_closed = descriptor_ < 0 || ::close(descriptor_) == 0;
    descriptor_ = -1;
    return is_closed;
  }

 private:
  int descriptor_;
};

bool read_all(int descriptor, std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::read(descriptor, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) bytes.resize(at);
    at += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string digits(16, '0');
  for (std::size_t i = 0; i < digits.size(); ++i)
    digits[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
  return digits;
}

// The word up to the next space, which is taken off too.
std::string_view taken(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool parse(std::string_view word, int& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

// The last line, which is taken off with its end.
std::string_view last_taken(std::string_view& bytes) {
  bytes.remove_suffix(1);
  const std::size_t before = bytes.rfind('\n') + 1;  // 0: it is the only one
  const std::string_view line = bytes.substr(before);
  bytes = bytes.substr(0, before);
  return line;
}

// The newest entries, as many as are kept: what stands in front of them is not looked at.
TuningContent parsed(std::string_view bytes) {
  TuningContent content;
  if (bytes.empty()) return content;
  if (bytes.substr(0, bytes.find('\n')) != first_line) return {{}, 0, "is not a tuning cache"};
  bytes.remove_prefix(std::min(first_line.size() + 1, bytes.size()));
  // A line without an end was cut off, or is still being written by somebody else's program.
  const std::size_t whole = bytes.rfind('\n') + 1;
  if (whole < bytes.size()) ++content.corrupt;
  bytes = bytes.substr(0, whole);
  while (!bytes.empty() && content.entries.size() < max_tuning_entries) {
    if (auto entry = tuning_entry(last_taken(bytes)))
      content.entries.push_back(std::move(*entry));
    else
      ++content.corrupt;
  }
  std::reverse(content.entries.begin(), content.entries.end());
  return content;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What a link leads to, whether that exists or not, so that it is not the link that is replaced.
std::string resolved(std::string path) {
  constexpr int most_links = 40;
  std::array<char, PATH_MAX> target{};
  for (int links = 0; links < most_links; ++links) {
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    if (size <= 0) break;
    const std::string_view to(target.data(), static_cast<std::size_t>(size));
    path = to.front() == '/' ? std::string(to) : text(folder_of(path), "/", to);
  }
  return path;
}

// Held by one writer at a time, of any process, until the folder is closed.
bool lock(const File& folder) {
  const auto end = std::chrono::steady_clock::now() + lock_patience;
  while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Whoever may not write the file may not replace it either; neither may root what is read-only.
bool may_replace(const std::string& path, const struct stat& status) {
  if ((status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) {
    errno = EACCES;
    return false;
  }
  return ::access(path.c_str(), W_OK) == 0;
}

// The rights of the file that is replaced, its group and, where that is allowed, its owner. False
// where the group would be another, which the rights are not meant for.
bool take_rights(const File& file, const struct stat& status) {
  constexpr auto as_it_is = static_cast<uid_t>(-1);
  struct stat own {};
  const bool has_group = ::fchown(file.get(), status.st_uid, status.st_gid) == 0 ||
                         ::fchown(file.get(), as_it_is, status.st_gid) == 0 ||
                         (::fstat(file.get(), &own) == 0 && own.st_gid == status.st_gid);
  return has_group && ::fchmod(file.get(), status.st_mode & 07777) == 0;
}

// A new file beside that of the path; its name is written to `beside`.
int made_beside(const std::string& path, mode_t mode, std::string& beside) {
  constexpr int most_tried = 10000;  // what writers that were killed left is not counted on to go
  int descriptor = -1;
  for (int tried = 0; descriptor < 0 && tried < most_tried; ++tried) {
    beside = text(path, ".", ::getpid(), ".", tried);
    descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  return descriptor;
}

std::string replace(const std::string& path, std::string_view bytes, const File& folder) {
  constexpr mode_t new_mode = 0666, until_it_has_its_rights = 0600;
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !may_replace(path, status)) return failure("cannot write", path);
  std::string beside;
  File file(made_beside(path, exists ? until_it_has_its_rights : new_mode, beside));
  if (!file) return failure("cannot write a file beside", path);
  if ((!exists || take_rights(file, status)) && write_all(file.get(), bytes) &&
      ::fsync(file.get()) == 0 && file.close() && ::rename(beside.c_str(), path.c_str()) == 0) {
    static_cast<void>(::fsync(folder.get()));  // without it a crash may bring back the old file
    return "";
  }
  std::string why = failure("cannot write", path);
  ::unlink(beside.c_str());
  return why;
}

}  // namespace

std::string tuning_line(const TuningEntry& entry) {
  const std::string words =
      text(entry.build, " ", entry.device, " ", entry.problem, " ", entry.kernel, " ", entry.tile_n,
           " ", entry.splits, " ", entry.raster, " ", entry.operands);
  return text(checksum(words), " ", words);
}

std::optional<TuningEntry> tuning_entry(std::string_view line) {
  const std::string_view sum = taken(line);
  if (sum != checksum(line)) return std::nullopt;
  TuningEntry entry;
  for (std::string* word : {&entry.build, &entry.device, &entry.problem, &entry.kernel})
    *word = taken(line);
  if (!parse(taken(line), entry.tile_n) || !parse(taken(line), entry.splits)) return std::nullopt;
  entry.raster = taken(line);
  entry.operands = line;
  return entry;
}

TuningContent read_tuning_file(const std::string& path) {
  // O_NONBLOCK: nobody writes to a pipe that is mistaken for the file.
  const File file(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (!file && errno == ENOENT) return {};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return {{}, 0, failure("cannot read", path)};
  if (!S_ISREG(status.st_mode)) return {{}, 0, text(path, " is not a file")};
  if (static_cast<std::size_t>(status.st_size) > max_tuning_bytes)
    return {{}, 0, text(path, " is larger than ", max_tuning_bytes, " bytes")};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (!read_all(file.get(), bytes)) return {{}, 0, failure("cannot read", path)};
  TuningContent content = parsed(bytes);
  if (!content.error.empty()) content.error = text(path, " ", content.error);
  return content;
}

std::string add_to_tuning_file(const std::string& given, std::span<const TuningEntry> added,
                               SameKey same_key) {
  const std::string path = resolved(given);
  const File folder(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (!folder || !lock(folder)) return failure("cannot lock the folder of", path);
  TuningContent content = read_tuning_file(path);
  if (!content.error.empty()) return content.error;
  std::vector<TuningEntry>& entries = content.entries;
  for (const TuningEntry& entry : added) {
    const auto is_same = [&](const TuningEntry& other) { return entry.has_key_of(other); };
    if (same_key == SameKey::stays && std::any_of(entries.begin(), entries.end(), is_same))
      continue;
    std::erase_if(entries, is_same);
    entries.push_back(entry);
  }
  const std::size_t first =
      entries.size() > max_tuning_entries ? entries.size() - max_tuning_entries : 0;
  std::string bytes = text(first_line, "\n");
  for (std::size_t i = first; i < entries.size(); ++i) bytes += tuning_line(entries[i]) + "\n";
  return replace(path, bytes, folder);
}

}  // namespace bwgemm
