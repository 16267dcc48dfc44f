// SPDX-License-Identifier: Apache-2.0
#include "dropin/record.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

#include "dropin/cublas.h"
#include "dropin/fork.h"
#include "dropin/last.h"
#include "dropin/serve.h"
#include "dropin/settings.h"

namespace bwgemm::dropin {

const char* const columns =
    "process,library,function,transa,transb,m,n,k,Atype,Btype,Ctype,Dtype,orders,epilogue,compute,"
    "algo,ltalgo,lda,ldb,ldc,ldd,strideA,strideB,strideC,strideD,batch,align,scalars,beta,math,"
    "workspace,sms,"
    "outcome,reason,calls\n";

namespace {

// As fields of a line, with a comma behind each.
class Line {
 public:
  Line& operator<<(const char* text) {
    line_.append(text).append(1, ',');
    return *this;
  }
  Line& operator<<(std::int64_t number) { return *this << std::to_string(number).c_str(); }
  const std::string& text() const { return line_; }

 private:
  std::string line_;
};

// Up to 16 bytes, which decide what kernels can serve the call.
std::int64_t common_alignment(const Call& call) {
  std::uintptr_t bits = 16;
  if (!call.by_pointers())
    for (const Operand* operand : {&call.a, &call.b, &call.c, &call.output()})
      bits |= reinterpret_cast<std::uintptr_t>(operand->data);
  return static_cast<std::int64_t>(bits & (~bits + 1));
}

// Whether C is read: 0 or 1. Empty if the host does not know, and of a call that is not understood.
const char* beta_text(const Call& call, const CallSettings& settings, Reason reason) {
  if (reason != Reason::none || settings.has_device_scalars()) return "";
  return host_scalar(call, call.beta) != 0 ? "1" : "0";
}

const char* outcome_name(Outcome outcome, Reason reason) {
  if (outcome == Outcome::forwarded && reason == Reason::none) return "servable";
  constexpr const char* names[] = {"served", "forwarded", "agreed", "differed"};
  return names[static_cast<std::size_t>(outcome)];
}

// 16 digits for each word. Empty: cuBLASLt chooses.
std::string algo_text(const Call& call) {
  if (call.lt_algo == nullptr) return "";
  std::string text;
  for (const std::uint64_t word : call.lt_algo->data) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(word));
    text.append(digits);
  }
  return text;
}

// The library is loaded with the program, which has room for it then.
[[gnu::tls_model("initial-exec")]] constinit thread_local const char* last = "";

// A comma would begin another field: then nothing is said.
std::string as_field(const std::string& path) {
  return path.find_first_of(",\n") == std::string::npos ? path : "";
}

struct Counts {
  std::map<std::string, std::uint64_t> calls;  // that are not written yet
  unsigned forks = 0;                          // fork_count() of the process whose calls these are
};

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

void say_of_file(const char* what, const std::string& path, const char* why) {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  std::string line = what;
  say(line.append(path).append(why));
}

// Several processes may write at once; the first one writes the names of the columns.
void append(const std::string& path, const std::string& lines) {
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return say_of_file("the counts cannot be written to ", path, "");
  flock(file, LOCK_EX);
  std::string head(std::strlen(columns), '\0');
  const bool is_new = pread(file, head.data(), head.size(), 0) <= 0;  // or nothing to read again
  const bool has_columns = is_new || head == columns;
  if (has_columns) write_all(file, is_new ? columns + lines : lines);
  flock(file, LOCK_UN);  // the child of a fork meanwhile has the file too, and would keep it locked
  close(file);
  if (!has_columns) say_of_file("the counts are not added to ", path, ", which has other columns");
}

Counts& counts() {
  static Counts* const all = new Counts;  // calls may come as late as they like
  return *all;
}

std::string line_of(const std::string& process, const std::string& kind, std::uint64_t number) {
  std::string line = process;
  return line.append(kind).append(std::to_string(number)).append("\n");
}

// The first cells of this process's lines.
std::string process_cells() {
  std::string process = std::to_string(getpid());
  return process.append(",").append(as_field(loaded_cublas())).append(",");
}

void write_counts() {
  const std::string process = process_cells();
  std::string lines;
  {
    const std::lock_guard lock(seldom());
    const Counts& all = counts();
    if (all.forks != fork_count()) return;
    for (const auto& [kind, number] : all.calls)
      if (number != 0) lines.append(line_of(process, kind, number));
  }
  if (lines.empty()) return;
  const std::string& path = settings().log_file;
  if (path.empty())
    write_all(STDERR_FILENO, columns + lines);
  else
    append(path, lines);
}

// Whether a kind's first call is written at once. A process that a signal ends writes nothing more.
bool writes_at_once() {
  return settings().mode == Mode::log && !settings().log_file.empty();
}

void count(const std::string& kind) {
  static const int at_end = std::atexit(write_counts);
  if (at_end != 0) return;
  {
    const std::lock_guard lock(seldom());
    Counts& all = counts();
    if (all.forks != fork_count()) all.calls.clear();  // the parent writes its own
    all.forks = fork_count();
    const auto [found, is_new] = all.calls.try_emplace(kind, 0);
    if (!is_new || !writes_at_once()) {
      ++found->second;
      return;
    }
  }
  append(settings().log_file, line_of(process_cells(), kind, 1));
}

}  // namespace

std::string kind_of(const Call& call, const CallSettings* settings, Outcome outcome,
                    Reason reason) {
  const Operand& d = call.output();
  Line line;
  line << name(call.entry) << call.transa << call.transb << call.m << call.n << call.k;
  line << call.a.type << call.b.type << call.c.type << d.type;
  line << orders_of(call) << call.epilogue.kind << call.compute << call.algo;
  line << algo_text(call).c_str();
  line << call.a.ld << call.b.ld << call.c.ld << d.ld;
  line << call.a.stride << call.b.stride << call.c.stride << d.stride;
  line << call.batch << common_alignment(call);
  if (settings != nullptr)
    line << (settings->has_device_scalars() ? "device" : "host")
         << beta_text(call, *settings, reason) << settings->math_mode
         << static_cast<std::int64_t>(settings->workspace_size) << settings->sm_count_target;
  else
    line << ""
         << ""
         << ""
         << ""
         << "";
  line << outcome_name(outcome, reason) << name(reason);
  return line.text();
}

bool is_recording() {
  const Settings& asked = settings();
  return asked.mode == Mode::log || !asked.log_file.empty();
}

void record(const Call& call, const CallSettings* settings, Outcome outcome, Reason reason) {
  last = reason == Reason::none ? outcome_name(outcome, reason) : name(reason);
  if (!is_recording()) return;
  try {
    count(kind_of(call, settings, outcome, reason));
  } catch (const std::bad_alloc&) {  // then the call is not counted
  }
}

}  // namespace bwgemm::dropin

const char* bwgemmCublasTakeLast() {
  return std::exchange(bwgemm::dropin::last, "");
}
