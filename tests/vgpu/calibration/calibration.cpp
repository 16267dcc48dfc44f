// SPDX-License-Identifier: Apache-2.0
#include "vgpu/calibration/calibration.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "vgpu/calibration/facts.h"
#include "vgpu/calibration/fit_sums.h"
#include "vgpu/calibration/question.h"
#include "vgpu/calibration/supervise.h"

namespace bwgemm::calibration {
namespace {

constexpr const char* usage =
    "[--questions 1,2,3] [--facts FILE] [--write FILE] [--raw FILE]\n"
    "    [--jobs N] [--case-seconds S] [--seconds S] [--quiet]\n"
    "--import FILE --write FILE [--questions ..]\n"
    "--fit FILE\n"
    "  --questions  which; by default all of this program\n"
    "  --facts      compare with what another device answered\n"
    "  --write      write answers as facts; what the file says of the virtual GPU stays\n"
    "  --raw        append measurements\n"
    "  --import     take answers from this file of facts instead of a device\n"
    "  --fit        find the model of sums that agrees with measurements\n";

struct Options {
  std::vector<int> questions = all_questions();
  std::string facts, write, raw, import, fit;
  Limits limits;
  bool quiet = false, is_wrong = false;
};

std::vector<int> numbers(const char* text) {
  std::vector<int> all;
  for (const char* at = text; *at != '\0';
       at += std::strcspn(at, ",") + (std::strchr(at, ',') != nullptr))
    all.push_back(std::atoi(at));
  return all;
}

Options parsed(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--quiet") {
      options.quiet = true;
      continue;
    }
    const char* value = i + 1 < count ? arguments[++i] : nullptr;
    if (value == nullptr)
      options.is_wrong = true;
    else if (name == "--questions")
      options.questions = numbers(value);
    else if (name == "--facts")
      options.facts = value;
    else if (name == "--write")
      options.write = value;
    else if (name == "--raw")
      options.raw = value;
    else if (name == "--import")
      options.import = value;
    else if (name == "--fit")
      options.fit = value;
    else if (name == "--jobs")
      options.limits.jobs = std::max(1, std::atoi(value));
    else if (name == "--case-seconds")
      options.limits.case_seconds = std::atof(value);
    else if (name == "--seconds")
      options.limits.total_seconds = std::atof(value);
    else
      options.is_wrong = true;
  }
  return options;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

void print(const Reply& reply) {
  std::printf("%s: %s", reply.name.c_str(), reply.answer.c_str());
  if (!reply.detail.empty()) std::printf("  (%s)", reply.detail.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

void keep_quiet(const Reply&) {}

// Prints what differs; false if anything does without a reason.
bool agrees(const std::vector<Reply>& replies, const std::string& path) {
  const Facts facts(path);
  int same = 0, open = 0, excused = 0, wrong = 0;
  for (const Reply& reply : replies) {
    const Fact* fact = facts.find(reply.name);
    if (fact == nullptr || fact->answer == "open") {
      ++open;
    } else if (fact->answer == reply.answer) {
      ++same;
    } else if (fact->on_virtual != "same") {
      ++excused;
    } else {
      ++wrong;
      std::printf("DIFFERENT %s\n  fact: %s\n  here: %s\n", reply.name.c_str(),
                  fact->answer.c_str(), reply.answer.c_str());
    }
  }
  std::printf("%d answers as in %s, %d different, %d different for a known reason, %d open\n", same,
              path.c_str(), wrong, excused, open);
  return wrong == 0;
}

std::string question_of(const std::string& name) {
  return name.substr(0, name.find('.'));
}

void write(const std::vector<Reply>& replies, const std::string& path) {
  Facts facts(path);
  for (const Reply& reply : replies)
    facts.set(
        {reply.name, reply.answer, today(), "same", "--questions " + question_of(reply.name)});
  facts.write(path);
}

// Answers that another run wrote, but those that it did not get.
void import_facts(const Options& options) {
  const Facts imported(options.import);
  Facts facts(options.write);
  for (const Fact& fact : imported.all()) {
    const int question = std::atoi(question_of(fact.name).c_str());
    const auto& chosen = options.questions;
    const bool is_asked = std::find(chosen.begin(), chosen.end(), question) != chosen.end();
    const bool is_answer = fact.answer != "not asked" && fact.answer != "error TIMEOUT";
    if (is_asked && is_answer) facts.set(fact);
  }
  facts.write(options.write);
}

int run(const Options& options) {
  if (options.is_wrong) {
    std::fputs(usage, stderr);
    return 2;
  }
  if (!options.fit.empty()) return fit_sums(options.fit);
  if (!options.import.empty()) {
    import_facts(options);
    return 0;
  }
  const auto replies =
      supervise(options.questions, options.raw, options.limits, options.quiet ? keep_quiet : print);
  if (!options.write.empty()) write(replies, options.write);
  return options.facts.empty() || agrees(replies, options.facts) ? 0 : 1;
}

}  // namespace

int calibrate(int count, char** arguments) {
  try {
    if (count == 5 && std::strcmp(arguments[1], "--serve") == 0)
      return serve(std::atoi(arguments[2]), std::atoi(arguments[3]), arguments[4]);
    return run(parsed(count, arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 2;
  }
}

}  // namespace bwgemm::calibration
