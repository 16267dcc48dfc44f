// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_objects.h"

#include <cstring>
#include <utility>

namespace bwgemm::dropin {
namespace {

// Attributes of one object. Once one cannot be read, is_good() is false.
template <class Object, class Attribute>
class Reader {
 public:
  using Get = cublasStatus_t (*)(Object, Attribute, void*, std::size_t, std::size_t*);

  Reader(Get get, Object object) : get_(get), object_(object) {}

  template <class Value>
  void read(Attribute attribute, Value& value) {
    std::size_t written = 0;
    if (get_(object_, attribute, &value, sizeof value, &written) != CUBLAS_STATUS_SUCCESS)
      is_good_ = false;
  }
  // Whether all that is in the list is as in new objects.
  template <std::size_t capacity>
  bool has(const LtDefaultList<capacity>& list) const {
    for (const LtDefault& expected : list) {
      std::uint64_t value = 0;
      std::size_t written = 0;
      if (get_(object_, static_cast<Attribute>(expected.attribute), &value, expected.size,
               &written) != CUBLAS_STATUS_SUCCESS ||
          value != expected.value)
        return false;
    }
    return true;
  }
  bool is_good() const { return is_good_; }

 private:
  Get get_;
  Object object_;
  bool is_good_ = true;
};

using DescReader = Reader<cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t>;
using LayoutReader = Reader<cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t>;

template <class Image>
Image image_of(const void* object) {
  Image found;
  std::memcpy(&found, object, sizeof found);
  return found;
}

LtDesc asked(DescReader& desc, const LtDefaults& defaults) {
  LtDesc found{};
  desc.read(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, found.compute);
  desc.read(CUBLASLT_MATMUL_DESC_SCALE_TYPE, found.scale_type);
  desc.read(CUBLASLT_MATMUL_DESC_POINTER_MODE, found.pointer_mode);
  desc.read(CUBLASLT_MATMUL_DESC_TRANSA, found.transa);
  desc.read(CUBLASLT_MATMUL_DESC_TRANSB, found.transb);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE, found.epilogue);
  desc.read(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, found.sm_count_target);
  desc.read(CUBLASLT_MATMUL_DESC_BIAS_POINTER, found.bias);
  desc.read(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, found.bias_type);
  desc.read(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, found.bias_stride);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, found.aux);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, found.aux_type);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, found.aux_ld);
  desc.read(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, found.aux_stride);
  found.is_good = desc.is_good();
  found.is_plain = desc.has(defaults.desc);
  return found;
}

LtLayout asked(LayoutReader& layout, const LtDefaults& defaults) {
  LtLayout found{};
  layout.read(CUBLASLT_MATRIX_LAYOUT_TYPE, found.type);
  layout.read(CUBLASLT_MATRIX_LAYOUT_ORDER, found.order);
  layout.read(CUBLASLT_MATRIX_LAYOUT_ROWS, found.rows);
  layout.read(CUBLASLT_MATRIX_LAYOUT_COLS, found.columns);
  layout.read(CUBLASLT_MATRIX_LAYOUT_LD, found.ld);
  layout.read(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, found.batch);
  layout.read(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, found.stride);
  found.is_good = layout.is_good();
  found.is_plain = layout.has(defaults.layout);
  return found;
}

// The values that the table has for the image. What it lacks is asked for and put there.
template <class Table, class Image, class Reader>
auto looked_up(Table& table, const Image& image, Reader& reader, const LtDefaults& shown) {
  auto& entry = table.place(image);
  if (!Table::has(entry, image)) entry = {image, asked(reader, shown), true};
  return entry.values;
}

}  // namespace

LtDesc read_desc(const Cublas& cublas, cublasLtMatmulDesc_t from, LtCache* cache) {
  DescReader desc(cublas.lt_getters.desc, from);
  const LtImages& images = cublas.lt_images;
  if (cache == nullptr || !images.tell) return asked(desc, cublas.lt_defaults);
  // Pointers differ from call to call.
  auto image = image_of<LtDescImage>(from);
  auto* const bias = reinterpret_cast<void*>(std::exchange(image[images.bias_at], 0));
  auto* const aux = reinterpret_cast<void*>(std::exchange(image[images.aux_at], 0));
  LtDesc found = looked_up(cache->descs, image, desc, images.shown);
  found.bias = bias;
  found.aux = aux;
  found.is_plain = found.is_plain && desc.has(images.rest.desc);
  return found;
}

LtLayout read_layout(const Cublas& cublas, cublasLtMatrixLayout_t from, LtCache* cache) {
  LayoutReader layout(cublas.lt_getters.layout, from);
  const LtImages& images = cublas.lt_images;
  if (cache == nullptr || !images.tell) return asked(layout, cublas.lt_defaults);
  const auto image = image_of<LtLayoutImage>(from);
  LtLayout found = looked_up(cache->layouts, image, layout, images.shown);
  found.is_plain = found.is_plain && layout.has(images.rest.layout);
  return found;
}

bool read_compute(const Cublas& cublas, cublasLtMatmulDesc_t from, int& compute) {
  DescReader desc(cublas.lt_getters.desc, from);
  desc.read(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute);
  return desc.is_good();
}

bool read_type(const Cublas& cublas, cublasLtMatrixLayout_t from, int& type) {
  LayoutReader layout(cublas.lt_getters.layout, from);
  layout.read(CUBLASLT_MATRIX_LAYOUT_TYPE, type);
  return layout.is_good();
}

}  // namespace bwgemm::dropin
