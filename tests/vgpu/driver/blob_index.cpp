// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/blob_index.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace bwgemm::vgpu::driver {
namespace {

std::string own_folder() {
  Dl_info self{};
  static const char anchor = 0;
  return dladdr(&anchor, &self) != 0 ? std::filesystem::path(self.dli_fname).parent_path() : "";
}

}  // namespace

BlobIndex::BlobIndex() {
  const char* chosen = std::getenv("BWGEMM_VGPU_INDEX");
  const std::filesystem::path path =
      chosen != nullptr && *chosen != '\0' ? chosen : own_folder() + "/kernels.index";
  path_ = path;
  folder_ = path.parent_path();

  std::ifstream index(path);
  for (std::string hash, file; index >> hash >> file;) files_[hash] = file;

  std::ifstream table(path.parent_path() / "kernels.csv");
  std::string line;
  std::getline(table, line);  // the header
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string name, target, registers;
    std::getline(fields, name, ',');
    std::getline(fields, target, ',');
    std::getline(fields, registers, ',');
    registers_[name + '.' + target] = std::atoi(registers.c_str());
  }
}

const BlobIndex& BlobIndex::get() {
  static const BlobIndex& index = *new BlobIndex;
  return index;
}

std::optional<std::string> BlobIndex::find(const std::string& hash) const {
  const auto found = files_.find(hash);
  if (found == files_.end()) return std::nullopt;
  return std::filesystem::path(folder_) / found->second;
}

std::unordered_map<std::string, int> BlobIndex::registers(const std::string& ptx_path) const {
  const std::filesystem::path stem = std::filesystem::path(ptx_path).stem();  // <kernel>.<target>
  const auto found = registers_.find(stem);
  if (found == registers_.end()) return {};
  return {{std::filesystem::path(stem).stem(), found->second}};
}

}  // namespace bwgemm::vgpu::driver
