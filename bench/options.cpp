// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <functional>
#include <map>
#include <stdexcept>

#include "fields.h"
#include "problem.h"

namespace bwgemm::bench {

namespace {

using Flags = std::map<std::string, std::function<void()>>;
using Values = std::map<std::string, std::function<void(const std::string&)>>;

double positive(const std::string& argument, const std::string& text) {
  const double value = real_number(argument, text);
  if (!(value > 0 && value <= 1e9))
    throw std::runtime_error(argument + " is " + text + " but must be above 0");
  return value;
}

int within(const std::string& argument, const std::string& text, int least, int most) {
  const std::int64_t value = whole_number(argument, text);
  if (value < least || value > most)
    throw std::runtime_error(argument + " is " + text + " but must be " + std::to_string(least) +
                             " to " + std::to_string(most));
  return static_cast<int>(value);
}

void read_shard(const std::string& text, Options& options) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    throw std::runtime_error("--shard is '" + text + "' but must be I/N, such as 0/4");
  options.shards = within("--shard's N", text.substr(slash + 1), 1, 1 << 20);
  options.shard = within("--shard's I", text.substr(0, slash), 0, options.shards - 1);
}

Flags flags_of(Options& options) {
  return {
      {"--help", [&] { options.help = true; }},
      {"--colmajor", [&] { options.column_major = true; }},
      {"--sweep", [&] { options.sweep = true; }},
      {"--resume", [&] { options.resume = true; }},
      {"--no-check", [&] { options.measure.check = false; }},
      {"--no-time", [&] { options.measure.time = false; }},
      {"--no-cublaslt", [&] { options.compare = false; }},
      {"--explain", [&] { options.explain = true; }},
  };
}

Values values_of(Options& options) {
  MeasureOptions& measure = options.measure;
  const auto text_into = [](std::string& to) { return [&to](const std::string& t) { to = t; }; };
  return {
      {"--problem", text_into(options.problem)},
      {"--list", text_into(options.list)},
      {"--kernel", text_into(options.kernel)},
      {"--csv", text_into(options.csv)},
      {"--json", text_into(options.json)},
      {"--budget-seconds",
       [&](const std::string& t) { options.budget_seconds = positive("--budget-seconds", t); }},
      {"--pairs", [&](const std::string& t) { measure.pairs = within("--pairs", t, 1, 1 << 20); }},
      {"--warm-ms", [&](const std::string& t) { measure.warm_ms = positive("--warm-ms", t); }},
      {"--graph-ms", [&](const std::string& t) { measure.graph_ms = positive("--graph-ms", t); }},
      {"--shard", [&](const std::string& t) { read_shard(t, options); }},
  };
}

void check_together(const Options& options) {
  if (options.problem.empty() == options.list.empty())
    throw std::runtime_error("give either --problem or --list");
  if (options.sweep && !options.kernel.empty())
    throw std::runtime_error("--sweep and --kernel exclude each other");
  if (options.resume && options.csv.empty())
    throw std::runtime_error("--resume needs --csv, whose file it continues");
}

}  // namespace

std::string usage() {
  return std::string(
             "bwgemm_bench: checks and times bwgemm against cuBLASLt\n"
             "  --problem TEXT      one problem: m=512,n=512,k=512[,KEY=VALUE...]; keys:\n"
             "                      ") +
         problem_keys +
         "\n"
         "  --list FILE.csv     one problem a row; the columns are those keys\n"
         "  --colmajor          sizes and letters are the C API's (column-major); default: the\n"
         "                      row-major view, D[M,N] = op(A) op(B), A stored [M,K] if transa=N\n"
         "  --kernel NAME       use this kernel instead of the chosen one\n"
         "  --sweep             measure every kernel that can serve, one line each\n"
         "  --explain           run nothing: what would be chosen on an H200 and a B200, and why\n"
         "  --csv FILE          write one row a measurement; --json FILE likewise\n"
         "  --resume            skip measurements that the CSV already holds\n"
         "  --budget-seconds S  start no new problem after S seconds\n"
         "  --shard I/N         only every N-th problem, starting with I (0-based)\n"
         "  --pairs N           paired samples (15)\n"
         "  --warm-ms X         load before the first sample (150)\n"
         "  --graph-ms X        device time of one sample (8)\n"
         "  --no-check          do not check results\n"
         "  --no-time           check results only\n"
         "  --no-cublaslt       time bwgemm alone\n"
         "Exit status: 0 good, 1 a result was wrong or a call failed, 2 wrong arguments.\n";
}

Options parse_options(int count, const char* const* arguments) {
  Options options;
  const Flags flags = flags_of(options);
  const Values values = values_of(options);
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (const auto flag = flags.find(argument); flag != flags.end()) {
      flag->second();
    } else if (const auto value = values.find(argument); value != values.end()) {
      if (++i == count) throw std::runtime_error(argument + " wants a value");
      value->second(arguments[i]);
    } else {
      throw std::runtime_error("unknown argument " + argument + "; see --help");
    }
  }
  if (!options.help) check_together(options);
  return options;
}

}  // namespace bwgemm::bench
