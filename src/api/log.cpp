// SPDX-License-Identifier: Apache-2.0
// spdlog is known to this file only. Its registry is not used: it would be shared with nothing, and
// torn down at exit, when calls may still be made. Neither are its sinks and its clock: they hold
// mutexes of their own or of the C library's, which a forked child may find locked for ever.
#include "api/log.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <spdlog/fmt/fmt.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <string>
#include <type_traits>
#include <unistd.h>

#include "api/log_file.h"
#include "api/options.h"
#include "launch/fork.h"

namespace bwgemm {
namespace {

struct LevelName {
  std::string_view name;
  spdlog::level::level_enum level;
};

constexpr std::array level_names = {
    // in the order of Level
    LevelName{"off", spdlog::level::off},      LevelName{"error", spdlog::level::err},
    LevelName{"warning", spdlog::level::warn}, LevelName{"info", spdlog::level::info},
    LevelName{"debug", spdlog::level::debug},  LevelName{"trace", spdlog::level::trace},
};

ForkedMutex opening, writing;

// One write for each line: lines of several processes do not mix.
class Sink : public spdlog::sinks::sink {
 public:
  explicit Sink(LogFile file) : file_(file) {}

  void log(const spdlog::details::log_msg& message) override {
    using namespace std::chrono;
    const auto day = floor<days>(message.time);
    const year_month_day date(day);
    const hh_mm_ss time(floor<microseconds>(message.time - day));
    fmt::memory_buffer line;
    fmt::format_to(std::back_inserter(line),
                   "[{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}Z] [bwgemm {}:{}] [{}] {}\n",
                   static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                   static_cast<unsigned>(date.day()), time.hours().count(), time.minutes().count(),
                   time.seconds().count(), time.subseconds().count(), ::getpid(), ::gettid(),
                   spdlog::level::to_string_view(message.level), message.payload);
    const std::lock_guard lock(writing);
    file_.write({line.data(), line.size()});
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  const LogFile file_;
};

struct Log {
  Level level = Level::off;
  spdlog::logger* logger = nullptr;
};

spdlog::logger* logger_to(LogFile file) {
  auto logger = std::make_unique<spdlog::logger>("bwgemm", std::make_shared<Sink>(file));
  logger->set_level(spdlog::level::trace);
  logger->set_error_handler([](const std::string&) {});  // the line is lost, and nobody told
  return logger.release();
}

void write(spdlog::logger& to, Level level, std::string_view line) {
  to.log(level_names[static_cast<std::size_t>(level)].level,
         spdlog::string_view_t(line.data(), line.size()));
}

Log opened() {
  const std::string wanted = option_value(Option::log_level);
  Log log;
  std::string complaint;
  std::size_t level = 0;
  while (level < level_names.size() && level_names[level].name != wanted) ++level;
  if (level == level_names.size()) {
    level = static_cast<std::size_t>(Level::warning);
    complaint = "BWGEMM_LOG_LEVEL is \"" + wanted + "\", which is no level: logging warnings";
  }
  log.level = static_cast<Level>(level);
  if (log.level == Level::off) return log;
  LogFile file;
  if (const std::string path = option_value(Option::log_file); !path.empty()) {
    file = LogFile(path);
    if (!file) {
      complaint = "BWGEMM_LOG_FILE \"" + path + "\" cannot be opened: " + ::strerrordesc_np(errno);
      file = LogFile();
    }
  }
  log.logger = logger_to(file);
  if (!complaint.empty() && log.level >= Level::warning)
    write(*log.logger, Level::warning, complaint);
  return log;
}

// Never destroyed: see above.
const Log& the_log() noexcept {
  static_assert(std::is_trivially_destructible_v<Log>);
  static constinit std::atomic<const Log*> the_one{nullptr};
  if (const Log* log = the_one.load(std::memory_order_acquire)) return *log;
  const CancellationHold hold;
  const std::lock_guard lock(opening);
  if (const Log* log = the_one.load(std::memory_order_relaxed)) return *log;
  static constinit Log log;
  try {
    log = opened();
  } catch (...) {
    log = {};  // memory is exhausted
  }
  the_one.store(&log, std::memory_order_release);
  return log;
}

}  // namespace

bool logs(Level level) noexcept {
  return the_log().level >= level;
}

void log(Level level, std::string_view line) noexcept {
  const Log& to = the_log();
  if (to.logger == nullptr || to.level < level || level == Level::off) return;
  const CancellationHold hold;
  try {
    write(*to.logger, level, line);
  } catch (...) {
    // Out of memory: see the header.
  }
}

}  // namespace bwgemm
