// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>

namespace bwgemm::bench {

const char* const usage =
    "bwgemm_bench: checks and times bwgemm against cuBLASLt\n"
    "  --problem TEXT      "
    "m=512,n=512,k=512[,transa=N][,transb=T][,dtype=bf16][,out=bf16][,batch=1][,beta=0]\n"
    "  --list FILE.csv     columns name,M,N,K,transA,transB,dtype,out_dtype,epilogue,batch\n"
    "  --colmajor          sizes and letters are the C API's (column-major); default: row-major "
    "view\n"
    "  --kernel NAME       use this kernel instead of the chosen one\n"
    "  --sweep             measure every kernel that can serve, one line each\n"
    "  --csv FILE          write one row a measurement; --json FILE likewise\n"
    "  --resume            skip measurements that the CSV already holds\n"
    "  --budget-seconds S  start no new problem after S seconds\n"
    "  --shard I/N         only every N-th problem, starting with I (0-based)\n"
    "  --pairs N  --warm-ms X  --graph-ms X   sampling (defaults 15, 150, 8)\n"
    "  --no-check  --no-cublaslt  --explain\n";

Options parse_options(int count, char** arguments) {
  Options options;
  const auto number = [](const std::string& text) {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used != text.size()) throw std::runtime_error("'" + text + "' is not a number");
    return value;
  };
  const std::map<std::string, std::function<void()>> flags = {
      {"--colmajor", [&] { options.column_major = true; }},
      {"--sweep", [&] { options.sweep = true; }},
      {"--resume", [&] { options.resume = true; }},
      {"--no-check", [&] { options.measure.check = false; }},
      {"--no-cublaslt", [&] { options.compare = false; }},
      {"--explain", [&] { options.explain = true; }},
  };
  const std::map<std::string, std::function<void(const std::string&)>> values = {
      {"--problem", [&](const std::string& text) { options.problem = text; }},
      {"--list", [&](const std::string& text) { options.list = text; }},
      {"--kernel", [&](const std::string& text) { options.kernel = text; }},
      {"--csv", [&](const std::string& text) { options.csv = text; }},
      {"--json", [&](const std::string& text) { options.json = text; }},
      {"--budget-seconds", [&](const std::string& text) { options.budget_seconds = number(text); }},
      {"--pairs",
       [&](const std::string& text) { options.measure.pairs = static_cast<int>(number(text)); }},
      {"--warm-ms", [&](const std::string& text) { options.measure.warm_ms = number(text); }},
      {"--graph-ms", [&](const std::string& text) { options.measure.graph_ms = number(text); }},
      {"--shard",
       [&](const std::string& text) {
         if (std::sscanf(text.c_str(), "%d/%d", &options.shard, &options.shards) != 2)
           throw std::runtime_error("--shard wants I/N");
       }},
  };
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (const auto flag = flags.find(argument); flag != flags.end()) {
      flag->second();
    } else if (const auto value = values.find(argument); value != values.end()) {
      if (++i == count) throw std::runtime_error(argument + " wants a value");
      value->second(arguments[i]);
    } else {
      throw std::runtime_error("unknown argument " + argument);
    }
  }
  if (options.problem.empty() == options.list.empty())
    throw std::runtime_error("give either --problem or --list");
  if (options.measure.pairs < 1 || options.shards < 1 || options.shard < 0 ||
      options.shard >= options.shards)
    throw std::runtime_error("--pairs and --shard must be positive and in range");
  return options;
}

}  // namespace bwgemm::bench
