// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_images.h"

#include <algorithm>
#include <cstring>

namespace bwgemm::dropin {
namespace {

constexpr std::size_t first_version = 130000;  // with objects of these sizes

// An object that is tried, and how.
template <class Object, class Attribute, class Image>
struct Trial {
  Object object;
  cublasStatus_t (*get)(Object, Attribute, void*, std::size_t, std::size_t*);
  cublasStatus_t (*set)(Object, Attribute, const void*, std::size_t);

  Image image() const {
    Image found;
    std::memcpy(&found, reinterpret_cast<const void*>(object), sizeof found);
    return found;
  }
  bool sets(int attribute, std::uint64_t value, std::size_t size) const {
    return set(object, static_cast<Attribute>(attribute), &value, size) == CUBLAS_STATUS_SUCCESS;
  }
  // The object is cuBLASLt's, or a copy of its memory.
  std::uint64_t value(Object of, int attribute, std::size_t size) const {
    std::uint64_t found = 0;
    std::size_t written = 0;
    get(of, static_cast<Attribute>(attribute), &found, size, &written);
    return found;
  }
  // 0 if there is no such attribute.
  std::size_t size_of(int attribute) const {
    std::size_t size = 0;
    const auto id = static_cast<Attribute>(attribute);
    return get(object, id, nullptr, 0, &size) == CUBLAS_STATUS_SUCCESS ? size : 0;
  }

  bool shows(int attribute, std::size_t size) const {
    const std::uint64_t before = value(object, attribute, size);
    const Image image_before = image();
    for (const std::uint64_t candidate : {before + 1, before - 1, before ^ 16, before + 4096}) {
      std::uint64_t wanted = 0;
      std::memcpy(&wanted, &candidate, size);
      if (wanted == before || !sets(attribute, wanted, size)) continue;
      struct {
        Image image;
        std::uint64_t behind[64];  // where getters look that know larger objects
      } copy{image(), {}};
      return copy.image != image_before &&
             value(reinterpret_cast<Object>(&copy), attribute, size) == wanted;
    }
    return false;  // nothing is known of an attribute that takes no other value
  }
};

// Sorts the attributes by whether images decide about them. False if they do not about one that is
// no default, and so is read of each call. `make` makes a trial with a new object, `end` ends that.
template <class Make, class End, class List>
bool sort(const Make& make, const End& end, const List& defaults, List& shown, List& rest) {
  for (int attribute = 0; attribute < lt_attributes; ++attribute) {
    const auto trial = make();
    if (trial.object == nullptr) return false;
    const std::size_t size = trial.size_of(attribute);
    const bool is_shown = size != 0 && size <= 8 && trial.shows(attribute, size);
    end(trial.object);
    if (size == 0) continue;
    const auto* const known =
        std::find_if(defaults.begin(), defaults.end(),
                     [=](const LtDefault& one) { return one.attribute == attribute; });
    if (known == defaults.end() && !is_shown) return false;
    if (known != defaults.end()) (is_shown ? shown : rest).add(*known);
  }
  return true;
}

// The word of the memory that a pointer is kept in. False if there is no such word.
template <class DescTrial>
bool find_word(const DescTrial& trial, int attribute, std::size_t& word) {
  const auto number = static_cast<std::uint64_t>(attribute) << 16;
  const std::uint64_t patterns[] = {0x0123456780000000 + number, 0x0fedcba980000000 + number};
  std::size_t found[2] = {};
  for (int at = 0; at < 2; ++at) {
    if (!trial.sets(attribute, patterns[at], 8)) return false;
    const LtDescImage image = trial.image();
    const auto* const place = std::find(image.begin(), image.end(), patterns[at]);
    if (place == image.end()) return false;
    found[at] = static_cast<std::size_t>(place - image.begin());
  }
  word = found[0];
  return found[0] == found[1];
}

}  // namespace

LtImages images_of(const LtGetters& getters, const LtMakers& makers, const LtDefaults& defaults) {
  LtImages found{};
  if (makers.get_version == nullptr || makers.get_version() < first_version ||
      makers.set_desc == nullptr || makers.set_layout == nullptr)
    return found;
  using DescTrial = Trial<cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, LtDescImage>;
  using LayoutTrial = Trial<cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, LtLayoutImage>;
  const auto make_desc = [&] {
    DescTrial made{nullptr, getters.desc, makers.set_desc};
    makers.create_desc(&made.object, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    return made;
  };
  const auto make_layout = [&] {
    LayoutTrial made{nullptr, getters.layout, makers.set_layout};
    makers.create_layout(&made.object, CUDA_R_16BF, 64, 64, 64);
    return made;
  };
  const DescTrial desc = make_desc();
  if (desc.object == nullptr) return found;
  found.tell =
      find_word(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, found.bias_at) &&
      find_word(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, found.aux_at) &&
      sort(make_desc, makers.destroy_desc, defaults.desc, found.shown.desc, found.rest.desc) &&
      sort(make_layout, makers.destroy_layout, defaults.layout, found.shown.layout,
           found.rest.layout);
  makers.destroy_desc(desc.object);
  return found;
}

}  // namespace bwgemm::dropin
