// SPDX-License-Identifier: Apache-2.0
#include "vgpu/driver/image.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "vgpu/driver/blob.h"
#include "vgpu/driver/blob_index.h"
#include "vgpu/driver/sha256.h"
#include "vgpu/driver/status.h"

namespace bwgemm::vgpu::driver {
namespace {

[[noreturn]] void refuse(CUresult result, const std::string& why) {
  std::fprintf(stderr, "vgpu: code was refused: %s\n", why.c_str());
  fail(result);
}

// PTX text with a name for it.
struct Source {
  std::string origin, text;
  std::unordered_map<std::string, int> registers;
};

Source source_of(const Blob& blob) {
  if (blob.kind == Blob::Kind::ptx)
    return {"PTX in memory",
            std::string(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size()),
            {}};
  const std::string hash = sha256(blob.bytes);
  const BlobIndex& index = BlobIndex::get();
  if (const auto path = index.find(hash)) {
    std::ifstream file(*path, std::ios::binary);
    if (!file)
      refuse(CUDA_ERROR_NOT_SUPPORTED, *path + ", the PTX of blob " + hash + ", cannot be read");
    std::ostringstream text;
    text << file.rdbuf();
    return {*path, text.str(), index.registers(*path)};
  }
  if (const auto text = uncompressed_ptx(blob)) return {"fatbin " + hash, std::string(*text), {}};
  refuse(CUDA_ERROR_NOT_SUPPORTED,
         "blob " + hash + " holds no readable PTX and is not in " + index.path());
}

void check_target(const Image& image, Blob::Kind kind, const DeviceModel& model) {
  if (runs_on(image.ptx.target, model.cc_major, model.cc_minor)) return;
  refuse(kind == Blob::Kind::ptx ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_NO_BINARY_FOR_GPU,
         image.origin + " is for " + image.ptx.target + ", not for " + std::string(model.name));
}

std::shared_ptr<const Image> parsed(Source source, Blob::Kind kind, const DeviceModel& model) {
  auto image = std::make_shared<Image>();
  image->origin = source.origin;
  image->ptx = read_ptx(source.text);
  image->registers = std::move(source.registers);
  if (image->ptx.target.empty())
    refuse(CUDA_ERROR_INVALID_PTX, source.origin + " has no .version and .target");
  check_target(*image, kind, model);
  try {
    image->module = vgpu::Module::parse(source.text, source.origin);
  } catch (const vgpu::LoadError& error) {
    refuse(CUDA_ERROR_NOT_SUPPORTED, error.what());
  }
  return image;
}

}  // namespace

const Signature* Image::find(std::string_view kernel) const {
  const auto found = std::find_if(ptx.kernels.begin(), ptx.kernels.end(),
                                  [&](const Signature& known) { return known.name == kernel; });
  return found != ptx.kernels.end() ? &*found : nullptr;
}

std::shared_ptr<const Image> load_image(const void* code, const DeviceModel& model) {
  static auto& parsed_before = *new std::unordered_map<std::string, std::shared_ptr<const Image>>;
  const Blob blob = blob_at(code);
  if (blob.kind == Blob::Kind::unknown)
    refuse(CUDA_ERROR_INVALID_IMAGE, "it is neither PTX nor a fatbin nor a cubin");
  auto& image = parsed_before[sha256(blob.bytes)];
  if (image == nullptr) image = parsed(source_of(blob), blob.kind, model);
  check_target(*image, blob.kind, model);
  return image;
}

}  // namespace bwgemm::vgpu::driver
