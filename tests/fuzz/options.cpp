// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdlib>
#include <stdexcept>

namespace bwgemm::fuzz {
namespace {

double number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0) || value > 1e15)
    throw std::runtime_error(option + " " + text + ": not a number");
  return value;
}

Damage damage_named(const std::string& word) {
  if (word == "element") return Damage::element;
  if (word == "row") return Damage::row;
  if (word == "aux") return Damage::aux;
  if (word == "gradient") return Damage::gradient;
  throw std::runtime_error("--self-test " + word + ": known are element, row, aux and gradient");
}

}  // namespace

std::string usage() {
  return "bwgemm_fuzz [--seed N] [--calls N] [--seconds T] [--shrink] [--list]\n"
         "bwgemm_fuzz --replay \"<case>\" [--shrink]\n"
         "Runs random valid calls of libbwgemm.so and judges them; see tests/fuzz/README.md.\n";
}

Options parse_options(int count, const char* const* arguments) {
  Options options;
  bool is_limited = false;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    const auto value = [&]() -> std::string {
      if (++i == count) throw std::runtime_error(option + " needs a value");
      return arguments[i];
    };
    if (option == "--seed") {
      options.seed = static_cast<std::uint64_t>(number(option, value()));
    } else if (option == "--calls") {
      options.cases = static_cast<std::int64_t>(number(option, value()));
      is_limited = true;
    } else if (option == "--seconds") {
      options.seconds = number(option, value());
      is_limited = true;
    } else if (option == "--replay") {
      options.replay = value();
    } else if (option == "--shrink") {
      options.shrink = true;
    } else if (option == "--list") {
      options.list = true;
    } else if (option == "--self-test") {
      options.damage = damage_named(options.self_test = value());
    } else {
      throw std::runtime_error(option + ": no such option\n" + usage());
    }
  }
  if (!is_limited) options.cases = 100;
  return options;
}

}  // namespace bwgemm::fuzz
