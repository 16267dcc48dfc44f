// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <vector>

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

void read_random(const std::string& text, Options& options) {
  const std::vector<std::string> parts = split(text, ',');
  const std::string name = parts.size() == 3 ? parts[2] : "";
  const auto* kind = std::ranges::find(random_problems, name, &RandomProblems::name);
  if (parts.size() < 2 || parts.size() > 3 || kind == std::end(random_problems))
    throw std::runtime_error("--random-problems is '" + text +
                             "' but must be SEED,COUNT, SEED,COUNT,space or SEED,COUNT,training, "
                             "such as 1,100");
  options.random_kind = kind;
  options.seed = static_cast<std::uint64_t>(whole_number("--random-problems' seed", parts[0]));
  options.count = within("--random-problems' count", parts[1], 1, 100000);
}

void set_mode(Options& options, Mode mode) {
  if (options.mode != Mode::measure && options.mode != mode)
    throw std::runtime_error(
        "only one of --sweep, --regret, --summary, --random-problems, --ceiling, --ladder, "
        "--host, --batch-invariant, --epilogue-price and --trace");
  options.mode = mode;
}

Flags flags_of(Options& options) {
  return {
      {"--help", [&] { options.help = true; }},
      {"--colmajor", [&] { options.column_major = true; }},
      {"--sweep", [&] { set_mode(options, Mode::sweep); }},
      {"--regret", [&] { set_mode(options, Mode::regret); }},
      {"--ceiling", [&] { set_mode(options, Mode::ceiling); }},
      {"--ladder", [&] { set_mode(options, Mode::ladder); }},
      {"--host", [&] { set_mode(options, Mode::host); }},
      {"--batch-invariant", [&] { set_mode(options, Mode::batch_invariance_price); }},
      {"--epilogue-price", [&] { set_mode(options, Mode::epilogue_price); }},
      {"--resume", [&] { options.resume = true; }},
      {"--no-check", [&] { options.measure.check = false; }},
      {"--no-time", [&] { options.measure.time = false; }},
      {"--no-cublaslt", [&] { options.compare = false; }},
      {"--only-first",
       [&] {
         options.measure.only_first = true;
         options.measure.host_cost = false;
       }},
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
      {"--graph-ms",
       [&](const std::string& t) {
         measure.graph_ms = options.sweep.graph_ms = positive("--graph-ms", t);
       }},
      {"--from", text_into(options.from)},
      {"--summary",
       [&](const std::string& t) {
         set_mode(options, Mode::summary);
         options.input = t;
       }},
      {"--trace",
       [&](const std::string& t) {
         set_mode(options, Mode::trace);
         options.output = t;
       }},
      {"--sm-count",
       [&](const std::string& t) { options.sm_count = within("--sm-count", t, 1, 1 << 20); }},
      {"--random-problems",
       [&](const std::string& t) {
         set_mode(options, Mode::random_problems);
         read_random(t, options);
       }},
      {"--prune", [&](const std::string& t) { options.sweep.prune = positive("--prune", t); }},
      {"--measured",
       [&](const std::string& t) { options.measured = within("--measured", t, 1, 1 << 20); }},
      {"--worst", [&](const std::string& t) { options.worst = within("--worst", t, 0, 1 << 20); }},
      {"--shard", [&](const std::string& t) { read_shard(t, options); }},
      {"--size", [&](const std::string& t) { options.size = within("--size", t, 256, 1 << 16); }},
  };
}

// What the options say of problems: none, one source, or either.
void check_problems(const Options& options) {
  const bool has_none = options.problem.empty() && options.list.empty();
  const bool needs_none = options.mode == Mode::summary || options.mode == Mode::random_problems ||
                          options.mode == Mode::ceiling || options.mode == Mode::ladder ||
                          !options.from.empty();
  if (needs_none && !has_none) throw std::runtime_error("--problem and --list mean nothing here");
  if (!needs_none && options.problem.empty() == options.list.empty())
    throw std::runtime_error("give either --problem or --list");
  if (options.mode == Mode::trace && options.problem.empty())
    throw std::runtime_error("--trace takes one --problem");
}

void check_together(const Options& options) {
  if (!options.from.empty() && options.mode != Mode::regret)
    throw std::runtime_error("--from belongs to --regret");
  if (options.measured != 0 && options.mode != Mode::regret)
    throw std::runtime_error("--measured belongs to --regret");
  if (options.sm_count != 0 && options.mode != Mode::trace)
    throw std::runtime_error("--sm-count belongs to --trace");
  check_problems(options);
  if (options.mode == Mode::sweep && !options.kernel.empty())
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
         "  --sweep             time every kernel that is predicted within --prune X (2.5) of the\n"
         "                      best, nothing else; with --no-time check every kernel\n"
         "  --regret            sweep, then how much slower the chosen kernel is than the "
         "fastest;\n"
         "                      with --from SWEEP.csv: of a sweep's CSV, without a GPU; --explain\n"
         "                      shows all times, --worst N (15) how many problems; --measured N\n"
         "                      chooses among the N best predicted by time, as BWGEMM_TUNE=1 (8)\n"
         "  --summary FILES     ratios of result CSVs (a,b,...) by class of problem\n"
         "  --random-problems SEED,COUNT  print a list of problems: layers of models, odd sizes\n"
         "  --random-problems SEED,COUNT,space  from all over what a user can ask for\n"
         "  --random-problems SEED,COUNT,training  layers in each direction, attention\n"
         "  --ceiling           the rates that nothing can exceed: tensor cores, memory, delivery\n"
         "  --ladder            times the steps of bench/kernels/ladder at m = n = k = --size N\n"
         "                      (4096); on a virtual B200 only checks them\n"
         "  --host              host time of a call, of an empty launch and of cuBLASLt\n"
         "  --batch-invariant   what batch invariance costs: times with it over times without\n"
         "  --epilogue-price    what epilogues cost, checked: times of the fused call over those\n"
         "                      of the plain GEMM\n"
         "  --trace FILE.json   timeline of one problem (chrome://tracing, Perfetto); prints on "
         "how\n"
         "                      many multiprocessors it was, with --sm-count N at most N\n"
         "  --explain           run nothing: what would be chosen on an H200 and a B200, and why\n"
         "  --csv FILE          write one row a measurement; --json FILE likewise\n"
         "  --resume            skip measurements that the CSV already holds\n"
         "  --budget-seconds S  start no new problem after S seconds\n"
         "  --shard I/N         only every N-th problem, starting with I (0-based)\n"
         "  --pairs N           paired samples (15)\n"
         "  --warm-ms X         load before the first sample (150)\n"
         "  --graph-ms X        device time of one sample (8; of a sweep 4)\n"
         "  --no-check          do not check results\n"
         "  --no-time           check results only\n"
         "  --no-cublaslt       time bwgemm alone\n"
         "  --only-first        compare with cuBLASLt's first algorithm alone; time no host\n"
         "Exit status: 0 good, 1 a result was wrong or a call failed, 2 wrong arguments,\n"
         "3 the GPU is none that --ladder is for.\n";
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
  options.sweep.budget_seconds = options.budget_seconds;
  options.sweep.resume = options.resume;
  options.sweep.csv = options.csv;
  return options;
}

}  // namespace bwgemm::bench
