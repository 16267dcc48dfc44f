// SPDX-License-Identifier: Apache-2.0
// The folders of src/ include each other in one direction only, and so do those of tests/vgpu,
// which includes nothing of the library. Reads the sources, which lie above the working folder,
// above this file, or where BWGEMM_SOURCE_DIR says.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace fs = std::filesystem;

// What the files of a folder may include besides files of their own folder; and single files beyond
// that: the includer's and the included path.
struct Rules {
  std::map<std::string, std::set<std::string>> allowed;
  std::set<std::pair<std::string, std::string>> exceptions;
};

// A family is a room of its own, "families/sm90": its kernels and what the host must know of them.
// The files on top of families/ join the rooms, so that nobody else names one. Some are steps
// beside a product, which a call adds.
const std::set<std::string> product_rooms = {"families/sm90",   "families/sm100",
                                             "families/direct", "families/dot",
                                             "families/warp",   "families/stationary"};
const std::set<std::string> step_rooms = {"families/copies", "families/bias_gradient"};

Rules rules_of_library() {
  const std::set<std::string> below_families = {"core", "device", "program", "rules"};
  Rules rules{{{"core", {}},
               {"device", {"core"}},
               {"program", {"core", "device"}},
               {"rules", {"core", "device", "program"}},
               {"families", below_families},
               {"select", {"core", "device", "rules", "families"}},
               {"launch", {"core", "device", "program", "rules", "families"}},
               {"api", {"core", "device", "program", "rules", "families", "select", "launch"}},
               {"dropin", {}}},  // stands on the public header alone
              {}};
  for (const auto* rooms : {&product_rooms, &step_rooms})
    for (const std::string& room : *rooms) {
      rules.allowed[room] = below_families;
      rules.allowed["families"].insert(room);
    }
  rules.allowed["api"].insert(step_rooms.begin(), step_rooms.end());
  return rules;
}
const Rules library = rules_of_library();

// "": the files on top, which are the interface. Machine and judges know each other: an access is
// judged where a warp makes it.
const Rules virtual_gpu = {
    {{"", {}},
     {"ptx", {""}},
     {"judges", {"", "ptx", "machine"}},
     {"machine", {"", "ptx", "judges"}},
     {"operations", {"", "ptx", "judges", "machine"}},
     {"asynchronous", {"", "ptx", "judges", "machine", "operations"}},
     {"timing", {"", "ptx", "judges", "machine", "operations"}},
     {"driver", {"", "timing"}},
     {"calibration", {"operations", "asynchronous"}},
     {"support", {""}},
     {"example", {}}},
    {{"machine/cta.cpp", "asynchronous/wgmma.h"},  // a CTA owns its warpgroups
     {"machine/simulation.cpp", "asynchronous/wgmma.h"},
     {"machine/splits.cpp", "asynchronous/wgmma.h"},
     {"machine/simulation.cpp",
      "timing/timeline.h"},  // which decides who goes next, if there is one
     {"operations/fragment.cpp",
      "asynchronous/matrix_operand.h"},                  // mma.sync multiplies as the others do
     {"ptx/register_places.cpp", "timing/timeline.h"}},  // and asks for some registers' places
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

// The same, or the family's room.
std::string room_of(const std::string& path) {
  constexpr std::string_view families = "families/";
  if (!path.starts_with(families)) return folder_of(path);
  const std::size_t slash = path.find('/', families.size());
  return slash == path.npos ? "families" : path.substr(0, slash);
}

// What stands between the quotes, or the brackets, of a line that includes something.
std::optional<std::string> included(const std::string& line, char opening, char closing) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == line.npos || line[hash] != '#') return std::nullopt;
  const std::size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == line.npos || line.compare(word, 7, "include") != 0) return std::nullopt;
  const std::size_t open = line.find(opening, word), close = line.find(closing, open + 1);
  if (open == line.npos || close == line.npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

// The project file that a line of src includes; nothing for system headers and the public header.
std::optional<std::string> included(const std::string& line) {
  const std::optional<std::string> path = included(line, '"', '"');
  if (!path || path->starts_with("bwgemm/") || path->find('/') == path->npos) return std::nullopt;
  return path;
}

// A folder that no rule names may not be included: a new one needs its place.
bool may_include(const Rules& rules, const std::string& from, const std::string& to) {
  if (room_of(from) == room_of(to) || rules.exceptions.contains({from, to})) return true;
  const auto rule = rules.allowed.find(room_of(from));
  return rule != rules.allowed.end() && rule->second.contains(room_of(to));
}

bool may_include(const std::string& from, const std::string& to) {
  return may_include(library, from, to);
}

bool is_test(const std::string& path) {
  return path.ends_with("_test.cpp");
}

// Whether a file of the virtual GPU, by its path below tests/vgpu, may hold the line. What it
// includes begins with vgpu/. Tests may include every folder.
bool vgpu_may_hold(const std::string& from, const std::string& line) {
  const std::optional<std::string> system = included(line, '<', '>');
  if (system && (system->starts_with("bwgemm/") || system->starts_with("vgpu/"))) return false;
  const std::optional<std::string> path = included(line, '"', '"');
  if (!path) return true;
  constexpr std::string_view root = "vgpu/";
  if (!path->starts_with(root)) return false;
  const std::string to = path->substr(root.size());
  return virtual_gpu.allowed.contains(folder_of(from)) &&
         virtual_gpu.allowed.contains(folder_of(to)) &&
         (is_test(from) || may_include(virtual_gpu, from, to));
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions = {".h", ".cuh", ".cpp", ".cu", ".c", ".S"};
  return extensions.contains(path.extension().string());
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

// Visits every line of the sources below a folder: the file's path below it, and the line. Returns
// the number of files.
template <class Visit>
int visit_lines(const fs::path& folder, Visit visit) {
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path())) continue;
    ++files;
    const std::string from = entry.path().lexically_relative(folder).generic_string();
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) visit(from, line);
  }
  return files;
}

TEST(IncludeRules, FoldersIncludeInOneDirection) {
  const fs::path root = source_folder();
  ASSERT_TRUE(is_source_folder(root)) << "sources not found: set BWGEMM_SOURCE_DIR";
  const auto visit = [](const std::string& from, const std::string& line) {
    const std::optional<std::string> to = included(line);
    EXPECT_TRUE(!to.has_value() || may_include(from, *to)) << from << " holds " << line;
  };
  EXPECT_GT(visit_lines(root / "src", visit), 20);
}

TEST(IncludeRules, TheVirtualGpuKnowsNothingOfTheLibrary) {
  const fs::path root = source_folder();
  ASSERT_TRUE(is_source_folder(root)) << "sources not found: set BWGEMM_SOURCE_DIR";
  const auto visit = [](const std::string& from, const std::string& line) {
    EXPECT_TRUE(vgpu_may_hold(from, line)) << "vgpu/" << from << " holds " << line;
  };
  EXPECT_GT(visit_lines(root / "tests" / "vgpu", visit), 100);
}

TEST(IncludeRules, TellRightFromWrong) {
  EXPECT_EQ(included("#include \"core/error.h\""), "core/error.h");
  EXPECT_EQ(included("  # include \"program/product.h\"  // why"), "program/product.h");
  EXPECT_EQ(included("#include <vector>"), std::nullopt);
  EXPECT_EQ(included("#include \"bwgemm/bwgemm.h\""), std::nullopt);
  EXPECT_FALSE(may_include("core/problem.h", "families/variants.h"));
  EXPECT_FALSE(may_include("device/ring.h", "families/sm90/cta.h"));
  EXPECT_FALSE(may_include("rules/fill.cpp", "families/facts.h"));
  EXPECT_FALSE(may_include("families/sm90/cost.cpp", "families/sm100/functions.h"));
  EXPECT_FALSE(may_include("families/sm90/cost.cpp", "families/registry.h"));
  EXPECT_FALSE(may_include("select/select.cpp", "families/sm90/layout.h"));
  EXPECT_FALSE(may_include("select/select.cpp", "program/part.h"));
  EXPECT_FALSE(may_include("launch/kernels.cpp", "api/handle.h"));
  EXPECT_FALSE(may_include("api/entry.cpp", "families/dot/layout.h"));
  EXPECT_FALSE(may_include("elsewhere/entry.cpp", "core/problem.h"));
  EXPECT_TRUE(may_include("families/sm90/gemm.cuh", "families/sm90/cta.h"));
  EXPECT_TRUE(may_include("families/registry.h", "families/sm90/facts.h"));
  EXPECT_TRUE(may_include("select/select.cpp", "families/registry.h"));
  EXPECT_TRUE(may_include("api/program.cpp", "families/copies/step.h"));
}

TEST(IncludeRules, TellRightFromWrongInTheVirtualGpu) {
  EXPECT_TRUE(vgpu_may_hold("driver/heap.h", "#include \"vgpu/memory.h\""));
  EXPECT_TRUE(vgpu_may_hold("driver/heap.h", "#include <cuda.h>"));
  EXPECT_TRUE(vgpu_may_hold("machine/cta.cpp", "#include \"vgpu/asynchronous/wgmma.h\""));
  EXPECT_TRUE(vgpu_may_hold("operations/alu_test.cpp", "#include \"vgpu/support/ptx_case.h\""));
  EXPECT_FALSE(vgpu_may_hold("driver/heap.h", "#include \"core/error.h\""));
  EXPECT_FALSE(vgpu_may_hold("driver/heap.h", "#include \"heap.h\""));
  EXPECT_FALSE(vgpu_may_hold("driver/heap.h", "#include \"bwgemm/bwgemm.h\""));
  EXPECT_FALSE(vgpu_may_hold("driver/heap.h", "#include <bwgemm/bwgemm.h>"));
  EXPECT_FALSE(vgpu_may_hold("driver/heap.h", "#include \"vgpu/machine/simulation.h\""));
  EXPECT_FALSE(vgpu_may_hold("ptx/decoder.h", "#include \"vgpu/driver/driver.h\""));
  EXPECT_FALSE(vgpu_may_hold("judges/findings.h", "#include \"vgpu/operations/alu.h\""));
  EXPECT_FALSE(vgpu_may_hold("machine.h", "#include \"vgpu/machine/simulation.h\""));
  EXPECT_FALSE(vgpu_may_hold("elsewhere/a.h", "#include \"vgpu/machine.h\""));
  EXPECT_FALSE(vgpu_may_hold("alu_test.cpp", "#include \"support/element.h\""));
}

}  // namespace
