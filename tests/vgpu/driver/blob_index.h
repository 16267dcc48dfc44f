// SPDX-License-Identifier: Apache-2.0
// BlobIndex: kernels.index as packaging/pack_archive.py writes it (sha256 of an embedded blob, the
// PTX it was made of), and what kernels.csv beside it says of registers. BWGEMM_VGPU_INDEX names
// the file; else it lies beside the driver's library.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

namespace bwgemm::vgpu::driver {

class BlobIndex {
 public:
  static const BlobIndex& get();

  const std::string& path() const { return path_; }
  // The PTX file of a blob.
  std::optional<std::string> find(const std::string& hash) const;
  // By kernel, of a PTX file named <kernel>.<target>.ptx.
  std::unordered_map<std::string, int> registers(const std::string& ptx_path) const;

 private:
  BlobIndex();

  std::string path_, folder_;
  std::unordered_map<std::string, std::string> files_;  // by hash
  std::unordered_map<std::string, int> registers_;      // by <kernel>.<target>
};

}  // namespace bwgemm::vgpu::driver
