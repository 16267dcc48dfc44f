// SPDX-License-Identifier: Apache-2.0
#include "random_list.h"

namespace bwgemm::bench {

bool is_too_large(const RandomSizes& sizes, double most_flop) {
  constexpr double most_elements = 2e9;
  const auto product = [&](std::int64_t x, std::int64_t y) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(sizes.batch);
  };
  return 2 * product(sizes.m, sizes.n) * static_cast<double>(sizes.k) > most_flop ||
         product(sizes.m, sizes.n) + product(sizes.m, sizes.k) + product(sizes.n, sizes.k) >
             most_elements;
}

RandomList::RandomList(std::uint64_t seed, int count, std::string_view option,
                       std::string_view columns)
    : seed_(seed), count_(count) {
  text_.append("# bwgemm_bench --random-problems ").append(std::to_string(seed));
  text_.append(",").append(std::to_string(count));
  text_.append(option).append(", row-major view\nname,M,N,K,transA,transB,dtype,out_dtype,");
  text_.append(columns).append("\n");
}

void RandomList::add(const RandomSizes& sizes, const RandomForm& form, std::string_view cells) {
  text_.append(sizes.kind).append(".").append(std::to_string(seed_));
  text_.append(".").append(std::to_string(size_++));
  for (const std::int64_t size : {sizes.m, sizes.n, sizes.k})
    text_.append(",").append(std::to_string(size));
  const std::string type = form.f16 ? "f16" : "bf16";
  text_.append(form.a_is_t ? ",T," : ",N,").append(form.b_is_t ? "T," : "N,");
  text_.append(type).append(",").append(form.f32_out ? "f32" : type).append(",");
  text_.append(cells).append("\n");
}

}  // namespace bwgemm::bench
