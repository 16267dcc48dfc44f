// SPDX-License-Identifier: Apache-2.0
// Question 3: what matrix instructions make of sums that f32 does not hold exactly. The answer is a
// hash; fit_sums.cpp reads the raw data.
#include <cstring>

#include "vgpu/calibration/question.h"
#include "vgpu/calibration/sum_cases.h"

namespace bwgemm::calibration {
namespace {

template <class T>
void append(std::vector<char>& record, const T* values, int count) {
  const auto* bytes = reinterpret_cast<const char*>(values);
  record.insert(record.end(), bytes, bytes + static_cast<std::size_t>(count) * sizeof(T));
}

// As packed_sums of fit_sums.cpp reads them: only the k that count.
void append(std::vector<char>& packed, const SumCase& sums) {
  append(packed, &sums.is_f16, 4);
  const int depth = sums.steps * 16;
  for (int row = 0; row < SumCase::rows; ++row)
    append(packed, sums.a + row * SumCase::depth, depth);
  for (int column = 0; column < SumCase::columns; ++column)
    append(packed, sums.b + column * SumCase::depth, depth);
  append(packed, sums.c, SumCase::rows * SumCase::columns);
  append(packed, sums.d_wgmma, SumCase::rows * SumCase::columns);
  append(packed, sums.d_mma, SumCase::rows * SumCase::columns);
}

Answer summed(Device& device, const RawData& raw, bool is_f16, SumKind kind) {
  std::vector<SumCase> chosen;
  for (const SumCase& sums : make_sum_cases(is_f16))
    if (sums.kind == kind) chosen.push_back(sums);
  const Memory memory(chosen);
  const CUdeviceptr cases = memory.address();
  device.run(device.function("sums", is_f16 ? "sum_f16" : "sum_bf16"),
             {static_cast<unsigned>(chosen.size()), 128, 16384}, {&cases});
  chosen = memory.read<SumCase>();
  std::vector<char> packed, wgmma, mma;
  for (const SumCase& sums : chosen) {
    append(packed, sums);
    append(wgmma, sums.d_wgmma, SumCase::rows * SumCase::columns);
    append(mma, sums.d_mma, SumCase::rows * SumCase::columns);
  }
  raw.add("sums", packed);
  return {"wgmma " + hexadecimal(hash_of(wgmma)) + " mma " + hexadecimal(hash_of(mma)),
          std::to_string(chosen.size() * SumCase::rows * SumCase::columns) + " sums"};
}

}  // namespace

std::vector<Case> sum_cases() {
  std::vector<Case> cases;
  for (const bool is_f16 : {false, true})
    for (int i = 0; i < sum_kinds; ++i) {
      const auto kind = static_cast<SumKind>(i);
      std::string name(is_f16 ? "3.f16." : "3.bf16.");
      for (const char* at = name_of(kind); *at != '\0'; ++at)
        name.push_back(*at == ' ' ? '_' : *at);
      cases.push_back({name, [is_f16, kind](Device& device, const RawData& raw) {
                         return summed(device, raw, is_f16, kind);
                       }});
    }
  return cases;
}

}  // namespace bwgemm::calibration
