// SPDX-License-Identifier: Apache-2.0
// spdlog is known to this file only. Its registry is not used: it would be shared with nothing, and
// torn down at exit, when calls may still be made.
#include "api/log.h"

#include <array>
#include <memory>
#include <pthread.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <string>

#include "api/options.h"

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

struct Log {
  Level level = Level::off;
  spdlog::logger* logger = nullptr;
};

spdlog::sink_ptr sink_for(const std::string& file) {
  if (file.empty()) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  return std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
}

spdlog::logger* logger_to(const std::string& file) {
  auto logger = std::make_unique<spdlog::logger>("bwgemm", sink_for(file));
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern("[%Y-%m-%d %H:%M:%S.%f] [%n %P:%t] [%l] %v");
  return logger.release();
}

// While one lives, its thread is not cancelled: nothing here may be left half done, and functions
// that are noexcept cannot be unwound.
class CancellationHold {
 public:
  CancellationHold() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHold() { pthread_setcancelstate(before_, nullptr); }
  CancellationHold(const CancellationHold&) = delete;
  CancellationHold& operator=(const CancellationHold&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

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
  const std::string file = option_value(Option::log_file);
  try {
    log.logger = logger_to(file);
  } catch (const spdlog::spdlog_ex& error) {
    complaint = "BWGEMM_LOG_FILE cannot be opened: " + std::string(error.what());
    log.logger = logger_to({});
  }
  if (!complaint.empty() && log.level >= Level::warning)
    write(*log.logger, Level::warning, complaint);
  return log;
}

// Never destroyed: see above.
const Log& the_log() noexcept {
  static const Log log = []() noexcept {
    const CancellationHold hold;
    try {
      return opened();
    } catch (...) {
      return Log{};
    }
  }();
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
    // Out of memory or disk: the call that is being logged is not to fail for it.
  }
}

}  // namespace bwgemm
