// SPDX-License-Identifier: Apache-2.0
#include "api/tuning_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
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
      : descriptor_(::open(path, flags | O_CLOEXEC, mode)) {}
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

TuningContent parsed(std::string_view bytes) {
  TuningContent content;
  for (bool is_first = true; !bytes.empty(); is_first = false) {
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (is_first && line != first_line) return {{}, 0, "is not a tuning cache"};
    if (is_first) continue;
    // A line without an end was cut off, or is still being written by somebody else's program.
    auto entry = end == std::string_view::npos ? std::nullopt : tuning_entry(line);
    if (entry)
      content.entries.push_back(std::move(*entry));
    else
      ++content.corrupt;
  }
  return content;
}

// What a link leads to, so that it is not the link that is replaced.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real != nullptr ? std::string(real.get()) : path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
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

// Through a file beside it, which the lock keeps to one writer.
std::string replace(const std::string& path, std::string_view bytes, const File& folder) {
  const std::string beside = path + ".tmp";
  ::unlink(beside.c_str());  // what a writer that was killed left
  File file(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  if (!file) return failure("cannot write", beside);
  if (write_all(file.get(), bytes) && ::fsync(file.get()) == 0 && file.close() &&
      ::rename(beside.c_str(), path.c_str()) == 0) {
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

std::string add_to_tuning_file(const std::string& given, std::span<const TuningEntry> added) {
  const std::string path = resolved(given);
  const File folder(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (!folder || !lock(folder)) return failure("cannot lock the folder of", path);
  TuningContent content = read_tuning_file(path);
  if (!content.error.empty()) return content.error;
  std::vector<TuningEntry>& entries = content.entries;
  for (const TuningEntry& entry : added) {
    std::erase_if(entries, [&](const TuningEntry& other) { return entry.has_key_of(other); });
    entries.push_back(entry);
  }
  const std::size_t first =
      entries.size() > max_tuning_entries ? entries.size() - max_tuning_entries : 0;
  std::string bytes = text(first_line, "\n");
  for (std::size_t i = first; i < entries.size(); ++i) bytes += tuning_line(entries[i]) + "\n";
  return replace(path, bytes, folder);
}

}  // namespace bwgemm
