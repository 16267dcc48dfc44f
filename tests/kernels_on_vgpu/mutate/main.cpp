// SPDX-License-Identifier: Apache-2.0
// bwgemm_mutate: mutants of one kernel, each judged on the virtual GPU; a line of text per mutant,
// behind two that say which PTX lines the kernel executes and which it does not.
// What the lines mean for a test, and which kernels are taken, is mutate.py's business.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "families/variants.h"
#include "gpu/row_classes.h"
#include "kernels_on_vgpu/kernel_case.h"
#include "kernels_on_vgpu/mutate/subject.h"

namespace bwgemm::vgpu::mutate {
namespace {

struct Options {
  std::string kernel, ptx;
  std::string operation;  // only these; empty: all
  std::set<int> lines;    // of PTX, likewise
  int sample = 0;         // so many mutants, picked at random; 0: all
  unsigned seed = 1;
  int schedules = 2;
  int shard = 0, shards = 1;
};

// The row that stands for each class of code.
int list() {
  for (const KernelConfig& row : kernel_variants)
    if (test::is_representative(row)) std::printf("%s\n", kernel_name(row).c_str());
  return 0;
}

const KernelConfig* row_named(const std::string& kernel) {
  for (const KernelConfig& row : kernel_variants)
    if (kernel_name(row).view() == kernel) return &row;
  return nullptr;
}

const char* name(Verdict::Result result) {
  switch (result) {
    case Verdict::Result::killed: return "killed";
    case Verdict::Result::survived: return "survived";
    case Verdict::Result::unreached: return "unreached";
    case Verdict::Result::no_program: return "no program";
  }
  return "?";
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<Mutation> chosen(const PtxSource& source, const Options& options) {
  std::vector<Mutation> all = mutations_of(source), kept;
  for (Mutation& mutation : all) {
    const Statement& statement = source.statements()[mutation.statement];
    if (!options.operation.empty() && mutation.operation != options.operation) continue;
    if (!options.lines.empty() && options.lines.count(statement.line) == 0) continue;
    kept.push_back(std::move(mutation));
  }
  if (options.sample > 0) {
    std::mt19937 random(options.seed);
    for (std::size_t i = 0; i + 1 < kept.size(); ++i)  // the same everywhere, unlike std::shuffle
      std::swap(kept[i], kept[i + random() % (kept.size() - i)]);
    kept.resize(std::min(kept.size(), static_cast<std::size_t>(options.sample)));
  }
  std::vector<Mutation> shard;
  for (std::size_t i = static_cast<std::size_t>(options.shard); i < kept.size();
       i += static_cast<std::size_t>(options.shards))
    shard.push_back(std::move(kept[i]));
  return shard;
}

// operation, change, PTX line, instruction, result, killer, problem, seed, runs, ms, finding
void print(const PtxSource& source, const Mutation& mutation, const Verdict& verdict, double ms) {
  const Statement& statement = source.statements()[mutation.statement];
  std::string seed = verdict.schedule.is_adversarial ? "adversarial " : "benign ";
  seed += std::to_string(verdict.schedule.seed);
  std::printf("%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%.0f\t%s\n", mutation.operation.c_str(),
              mutation.change.c_str(), statement.line, one_line(as_text(statement)).c_str(),
              name(verdict.result), verdict.killer.c_str(), verdict.problem.c_str(), seed.c_str(),
              verdict.runs, ms, one_line(verdict.text).c_str());
  std::fflush(stdout);
}

int run(const Options& options) {
  const KernelConfig* row = row_named(options.kernel);
  if (row == nullptr) throw std::runtime_error("no row " + options.kernel);
  const std::string file = kernel_ptx_file(options.kernel);
  if (file.empty()) throw std::runtime_error("no PTX of " + options.kernel);
  Subject subject(*row, read_text(file), file, options.schedules);
  for (const bool is_executed : {true, false}) {
    std::printf(is_executed ? "executed" : "missed");
    for (const Subject::Line& line : subject.instruction_lines())
      if (line.is_executed == is_executed) std::printf("\t%d", line.number);
    std::printf("\n");
  }
  for (const Mutation& mutation : chosen(subject.source(), options)) {
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = subject.judge(mutation);
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    print(subject.source(), mutation, verdict, ms.count());
  }
  return 0;
}

int usage() {
  std::fprintf(stderr,
               "usage: bwgemm_mutate --list | --kernel NAME [--operation NAME] [--lines N,N,...]\n"
               "       [--sample N] [--seed N] [--schedules N] [--shard I/N]\n"
               "BWGEMM_VGPU_PTX: the folder of the PTX\n");
  return 2;
}

// Of "1,2,3".
std::set<int> numbers(const std::string& text) {
  std::set<int> all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) all.insert(std::atoi(part.c_str()));
  return all;
}

bool read(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--kernel")
      options.kernel = value;
    else if (flag == "--operation")
      options.operation = value;
    else if (flag == "--lines")
      options.lines = numbers(value);
    else if (flag == "--sample")
      options.sample = std::atoi(value.c_str());
    else if (flag == "--seed")
      options.seed = static_cast<unsigned>(std::atoi(value.c_str()));
    else if (flag == "--schedules")
      options.schedules = std::atoi(value.c_str());
    else if (flag != "--shard" ||
             std::sscanf(value.c_str(), "%d/%d", &options.shard, &options.shards) != 2)
      return false;
  }
  return argc % 2 == 1 && !options.kernel.empty() && options.shard >= 0 &&
         options.shard < options.shards;
}

}  // namespace
}  // namespace bwgemm::vgpu::mutate

int main(int argc, char** argv) {
  using namespace bwgemm::vgpu::mutate;
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return list();
  Options options;
  if (!read(argc, argv, options)) return usage();
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bwgemm_mutate: %s\n", error.what());
    return 1;
  }
}
