// SPDX-License-Identifier: Apache-2.0
// The folders of src/ include each other in one direction only. Reads the sources, which lie above
// the working folder, above this file, or where BWGEMM_SOURCE_DIR says.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

// What the files of a folder may include besides files of their own folder.
const std::map<std::string, std::set<std::string>> allowed = {
    {"core", {}},
    {"kernels", {"core"}},
    {"select", {"core", "kernels"}},
    {"plan", {"core", "kernels"}},
    {"launch", {"core", "kernels", "plan"}},
    {"api", {"core", "kernels", "select", "plan", "launch"}},
};

// Single files beyond the rule: the includer's and the included path.
const std::set<std::pair<std::string, std::string>> exceptions = {
    {"plan/plan.h", "select/select.h"},    // Choice is what a plan is made from
    {"plan/copies.h", "select/copies.h"},  // and Copies what theirs is
};

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

// The project file that a line includes; nothing for system headers and the public header.
std::optional<std::string> included(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == line.npos || line[hash] != '#') return std::nullopt;
  const std::size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == line.npos || line.compare(word, 7, "include") != 0) return std::nullopt;
  const std::size_t open = line.find('"', word), close = line.find('"', open + 1);
  if (open == line.npos || close == line.npos) return std::nullopt;
  const std::string path = line.substr(open + 1, close - open - 1);
  if (path.starts_with("bwgemm/") || path.find('/') == path.npos) return std::nullopt;
  return path;
}

bool may_include(const std::string& from, const std::string& to) {
  if (folder_of(from) == folder_of(to) || exceptions.contains({from, to})) return true;
  const auto rule = allowed.find(folder_of(from));
  return rule == allowed.end() || rule->second.contains(folder_of(to)) ||
         !allowed.contains(folder_of(to));
}

bool is_source_folder(const fs::path& folder) {
  return fs::exists(folder / "src" / "core" / "problem.h");
}

fs::path source_folder() {
  if (const char* folder = std::getenv("BWGEMM_SOURCE_DIR")) return folder;
  for (const fs::path& start : {fs::current_path(), fs::absolute(__FILE__).parent_path()})
    for (fs::path folder = start; folder != folder.root_path(); folder = folder.parent_path())
      if (is_source_folder(folder)) return folder;
  return {};
}

TEST(IncludeRules, FoldersIncludeInOneDirection) {
  const fs::path root = source_folder();
  ASSERT_TRUE(is_source_folder(root)) << "sources not found: set BWGEMM_SOURCE_DIR";
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "src")) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cuh" && extension != ".cpp" && extension != ".cu")
      continue;
    ++files;
    const std::string from = entry.path().lexically_relative(root / "src").generic_string();
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const std::optional<std::string> to = included(line);
      EXPECT_TRUE(!to.has_value() || may_include(from, *to)) << from << " holds " << line;
    }
  }
  EXPECT_GT(files, 20);
}

TEST(IncludeRules, TellRightFromWrong) {
  EXPECT_EQ(included("#include \"core/error.h\""), "core/error.h");
  EXPECT_EQ(included("  # include \"plan/plan.h\"  // why"), "plan/plan.h");
  EXPECT_EQ(included("#include <vector>"), std::nullopt);
  EXPECT_EQ(included("#include \"bwgemm/bwgemm.h\""), std::nullopt);
  EXPECT_FALSE(may_include("core/problem.h", "kernels/rows.h"));
  EXPECT_FALSE(may_include("select/select.cpp", "plan/plan.h"));
  EXPECT_FALSE(may_include("plan/plan.cpp", "select/cost.h"));
  EXPECT_FALSE(may_include("plan/plan.cpp", "launch/driver.h"));
  EXPECT_FALSE(may_include("kernels/sm90/gemm.cuh", "plan/plan.h"));
  EXPECT_FALSE(may_include("launch/launch.cpp", "api/handle.h"));
  EXPECT_TRUE(may_include("plan/plan.h", "select/select.h"));
  EXPECT_TRUE(may_include("api/entry.cpp", "select/select.h"));
}

}  // namespace
