// SPDX-License-Identifier: Apache-2.0
// The file of the tuning cache: damage is found line by line, what is no such file is left alone,
// and writers of several processes lose nothing of each other's.
#include "api/tuning_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text.h"

namespace bwgemm {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TuningEntry entry_number(int number) {
  return {"build",        "device;9.0;132", "problem" + std::to_string(number),     "kernel", 128,
          1 + number % 7, "grouped",        number % 2 == 0 ? "in_place" : "copied"};
}

class TuningFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "bwgemm_tuning_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  std::string path() const { return folder_ / "cache"; }
  const fs::path& folder() const { return folder_; }

  std::string bytes() const {
    std::ostringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path()) << bytes; }
  void add(const TuningEntry& entry) const {
    EXPECT_EQ(add_to_tuning_file(path(), {&entry, 1}), "");
  }
  void fill(int entries) const {
    for (int i = 0; i < entries; ++i) add(entry_number(i));
  }

 private:
  fs::path folder_;
};

TEST(TuningLine, ComesBack) {
  const TuningEntry entry = entry_number(3);
  EXPECT_EQ(tuning_entry(tuning_line(entry)), entry);
}

TEST(TuningLine, EveryDamageIsFound) {
  const std::string line = tuning_line(entry_number(3));
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string damaged = line;
    damaged[at] ^= 1;
    EXPECT_EQ(tuning_entry(damaged), std::nullopt) << damaged;
    EXPECT_EQ(tuning_entry(line.substr(0, at)), std::nullopt) << at;
  }
  EXPECT_EQ(tuning_entry(line + " "), std::nullopt);
}

TEST_F(TuningFile, OneThatIsNotThereIsEmpty) {
  const TuningContent content = read_tuning_file(path());
  EXPECT_EQ(content.error, "");
  EXPECT_TRUE(content.entries.empty());
  write("");
  EXPECT_EQ(read_tuning_file(path()).error, "");
}

TEST_F(TuningFile, KeepsWhatIsAdded) {
  fill(5);
  const TuningContent content = read_tuning_file(path());
  ASSERT_EQ(content.entries.size(), 5u);
  EXPECT_EQ(content.corrupt, 0);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(content.entries[static_cast<std::size_t>(i)], entry_number(i));
}

TEST_F(TuningFile, ANewerEntryReplacesOneWithItsKey) {
  fill(3);
  TuningEntry newer = entry_number(1);
  newer.kernel = "faster";
  add(newer);
  TuningEntry of_other_build = entry_number(1);
  of_other_build.build = "other";
  add(of_other_build);
  EXPECT_THAT(read_tuning_file(path()).entries,
              ::testing::ElementsAre(entry_number(0), entry_number(2), newer, of_other_build));
}

TEST_F(TuningFile, ADamagedLineCostsOnlyItself) {
  fill(3);
  std::string damaged = bytes();
  damaged[damaged.find("problem1")] = 'q';
  write(damaged);
  const TuningContent content = read_tuning_file(path());
  EXPECT_EQ(content.corrupt, 1);
  EXPECT_THAT(content.entries, ::testing::ElementsAre(entry_number(0), entry_number(2)));
  add(entry_number(4));
  EXPECT_EQ(read_tuning_file(path()).corrupt, 0) << "writing cleans up";
  EXPECT_EQ(read_tuning_file(path()).entries.size(), 3u);
}

TEST_F(TuningFile, CutOffAnywhere) {
  fill(2);
  const std::string whole = bytes();
  const std::size_t first = whole.find('\n') + 1, second = whole.find('\n', first) + 1;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    const TuningContent content = read_tuning_file(path());
    EXPECT_EQ(content.error.empty(), size + 1 >= first) << size;
    EXPECT_EQ(content.entries.size(), size >= second ? 1u : 0u) << size;
    EXPECT_EQ(content.corrupt, size > first && size != second ? 1 : 0) << size;
  }
}

TEST_F(TuningFile, WhatIsNoneIsLeftAlone) {
  const std::string text = "Dear diary,\n";
  write(text);
  EXPECT_THAT(read_tuning_file(path()).error, HasSubstr("is not a tuning cache"));
  const TuningEntry entry = entry_number(0);
  EXPECT_THAT(add_to_tuning_file(path(), {&entry, 1}), HasSubstr("is not a tuning cache"));
  EXPECT_EQ(bytes(), text);
  EXPECT_THAT(read_tuning_file(folder()).error, HasSubstr("is not a file"));
  fs::remove(path());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(read_tuning_file(path()).error, HasSubstr("is not a file"));
}

TEST_F(TuningFile, IsOfBoundedSize) {
  std::vector<TuningEntry> many;
  for (int i = 0; i < static_cast<int>(max_tuning_entries) + 10; ++i)
    many.push_back(entry_number(i));
  ASSERT_EQ(add_to_tuning_file(path(), many), "");
  const TuningContent content = read_tuning_file(path());
  ASSERT_EQ(content.entries.size(), max_tuning_entries);
  EXPECT_EQ(content.entries.front(), entry_number(10)) << "the oldest go";
  fs::resize_file(path(), max_tuning_bytes + 1);
  EXPECT_THAT(read_tuning_file(path()).error, HasSubstr("is larger than"));
}

TEST_F(TuningFile, WhatCannotBeWrittenSaysWhy) {
  const TuningEntry entry = entry_number(0);
  EXPECT_THAT(add_to_tuning_file(folder() / "none" / "cache", {&entry, 1}),
              HasSubstr("No such file"));
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::permissions(folder(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(add_to_tuning_file(path(), {&entry, 1}), HasSubstr("Permission denied"));
}

TEST_F(TuningFile, ALinkLeadsToTheFile) {
  fs::create_directory(folder() / "elsewhere");
  const fs::path target = folder() / "elsewhere" / "target";
  std::ofstream(target).close();
  fs::create_symlink(target, path());
  fill(1);
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(read_tuning_file(target).entries.size(), 1u);
}

// Whether the link is absolute or not, and whether or not there is something to lead to yet.
TEST_F(TuningFile, ALinkToNothingMakesTheFile) {
  fs::create_directory(folder() / "elsewhere");
  for (const fs::path& target : {folder() / "elsewhere" / "one", fs::path("elsewhere/two")}) {
    fs::remove(path());
    fs::create_symlink(target, path());
    fill(1);
    EXPECT_TRUE(fs::is_symlink(path())) << target;
    EXPECT_EQ(read_tuning_file(folder() / target).entries.size(), 1u) << target;
  }
}

TEST_F(TuningFile, ALinkToItselfIsLeftAlone) {
  fs::create_symlink(path(), path());
  const TuningEntry entry = entry_number(0);
  EXPECT_NE(add_to_tuning_file(path(), {&entry, 1}), "");
  EXPECT_TRUE(fs::is_symlink(path()));
}

TEST_F(TuningFile, KeepsItsRights) {
  fill(1);
  for (const mode_t mode : {0600, 0640, 0664}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    add(entry_number(static_cast<int>(mode)));
    struct stat status {};
    ASSERT_EQ(stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
  }
}

// Not even by root, whom the folder's rights do not stop.
TEST_F(TuningFile, OneThatIsReadOnlyIsNotReplaced) {
  fill(1);
  const std::string before = bytes();
  ASSERT_EQ(chmod(path().c_str(), 0444), 0);
  const TuningEntry entry = entry_number(1);
  EXPECT_THAT(add_to_tuning_file(path(), {&entry, 1}), HasSubstr("Permission denied"));
  EXPECT_EQ(bytes(), before);
}

TEST_F(TuningFile, OtherFilesBesideItAreLeftAlone) {
  const std::string theirs = path() + ".tmp", also_theirs = text(path(), ".", getpid(), ".0");
  for (const std::string& name : {theirs, also_theirs}) std::ofstream(name) << "mine";
  fill(2);
  EXPECT_EQ(read_tuning_file(path()).entries.size(), 2u);
  for (const std::string& name : {theirs, also_theirs}) {
    std::string read;
    std::ifstream(name) >> read;
    EXPECT_EQ(read, "mine") << name;
  }
  const auto files = std::distance(fs::directory_iterator(folder()), fs::directory_iterator());
  EXPECT_EQ(files, 3) << "what was written beside it is gone";
}

// What nobody would keep is not parsed either: the time of reading is bounded.
TEST_F(TuningFile, OnlyTheNewestEntriesAreRead) {
  constexpr int lines = 20000;
  std::string bytes = "bwgemm tuning cache 1\ndamaged\n";
  for (int i = 0; i < lines; ++i) bytes += tuning_line(entry_number(i)) + "\n";
  ASSERT_LT(bytes.size(), max_tuning_bytes);
  write(bytes);
  const TuningContent content = read_tuning_file(path());
  EXPECT_EQ(content.error, "");
  EXPECT_EQ(content.corrupt, 0) << "the damaged line was looked at";
  ASSERT_EQ(content.entries.size(), max_tuning_entries);
  EXPECT_EQ(content.entries.back(), entry_number(lines - 1));
  EXPECT_EQ(content.entries.front(), entry_number(lines - static_cast<int>(max_tuning_entries)));
}

TEST_F(TuningFile, WritersOfSeveralProcesses) {
  constexpr int writers = 4, each = 8;  // few: a writer waits for the others at most five seconds
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int failed = 0;
      for (int i = 0; i < each; ++i) {
        const TuningEntry entry = entry_number(1000 * writer + i);
        failed += !add_to_tuning_file(path(), {&entry, 1}).empty();
      }
      _exit(failed);
    }
    children.push_back(child);
  }
  std::size_t running = children.size(), seen = 0;
  while (running > 0) {
    const TuningContent content = read_tuning_file(path());
    EXPECT_EQ(content.error, "");
    EXPECT_EQ(content.corrupt, 0);
    EXPECT_GE(content.entries.size(), seen) << "an entry was lost";
    seen = content.entries.size();
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) <= 0) continue;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    --running;
  }
  EXPECT_EQ(read_tuning_file(path()).entries.size(), std::size_t{writers * each});
}

}  // namespace
}  // namespace bwgemm
