// SPDX-License-Identifier: Apache-2.0
#include "dropin/outputs.h"

#include <cmath>
#include <cstdio>

#include "dropin/epilogue.h"

namespace bwgemm::dropin {
namespace {

// A sum, and the sum of the sizes of its terms.
struct Sum {
  double value = 0, size = 0;
};

Sum sum_of(const Summed& summed, const HostMatrix& terms, std::int64_t at, std::int64_t batch) {
  Sum sum;
  const std::int64_t count = summed.by_columns ? summed.rows : summed.columns;
  for (std::int64_t term = 0; term < count; ++term) {
    const double value = summed.by_columns ? terms.at(term, at, batch) : terms.at(at, term, batch);
    sum.value += value;
    sum.size += std::fabs(value);
  }
  return sum;
}

// bwgemm adds up D as it is stored, in float. cuBLASLt may add up what it rounds to that, and it
// rounds sums of parts of k to the 16-bit type, as a GPU showed.
bool is_sum(double value, const Sum& sum, double part_of_size, double of_type) {
  if (std::isnan(sum.value) || std::isinf(sum.value)) return true;
  const double off = part_of_size * sum.size;
  return std::fabs(value - sum.value) <= off + of_type * (std::fabs(sum.value) + off) + 0x1p-25;
}

std::string sentence(const char* whose, std::int64_t at, double ours, double theirs, double exact) {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "%s bias gradient (%lld) leaves its bound: it is %.9g by bwgemm, %.9g by cuBLAS, %.9g "
      "exactly",
      whose, static_cast<long long>(at), ours, theirs, exact);
  return text;
}

}  // namespace

std::vector<Output> outputs_of(const Call& call) {
  std::vector<Output> all{{Written::result, call}};
  const EpilogueForm& form = *form_of(call.epilogue.kind);
  const Epilogue& epilogue = call.epilogue;
  if (form.aux_mode == BWGEMM_AUX_STORE) {
    Call aux = call;
    aux.epilogue.kind = form.adds_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    aux.d = Operand{epilogue.aux, epilogue.aux_type, epilogue.aux_ld, epilogue.aux_stride};
    all.push_back({Written::aux, aux});
  }
  if (form.gradient_of != BWGEMM_BIAS_GRADIENT_NONE) {
    Call gradient = call;
    gradient.m = form.gradient_of == BWGEMM_BIAS_GRADIENT_B ? call.n : call.m;
    gradient.n = 1;
    gradient.d = Operand{epilogue.bias, epilogue.bias_type, gradient.m, epilogue.bias_stride};
    all.push_back({Written::bias_gradient, gradient});
  }
  return all;
}

Call redirected(const Call& call, Written what, void* to) {
  Call changed = call;
  if (what == Written::aux) changed.epilogue.aux = to;
  if (what == Written::bias_gradient) changed.epilogue.bias = to;
  return changed;
}

Summed summed_of(const Call& call) {
  const bool ta = call.transa != CUBLAS_OP_N, tb = call.transb != CUBLAS_OP_N;
  switch (form_of(call.epilogue.kind)->gradient_of) {
    case BWGEMM_BIAS_GRADIENT_A: return {call.a, ta ? call.k : call.m, ta ? call.m : call.k, ta};
    case BWGEMM_BIAS_GRADIENT_B: return {call.b, tb ? call.n : call.k, tb ? call.k : call.n, !tb};
    default: return {call.output(), call.m, call.n, false};
  }
}

std::string judge_gradient(const Call& call, const HostMatrix& ours, const HostMatrix& our_terms,
                           const HostMatrix& theirs, const HostMatrix& their_terms) {
  const Summed summed = summed_of(call);
  const std::int64_t sums = summed.by_columns ? summed.columns : summed.rows;
  const auto count = static_cast<double>(summed.by_columns ? summed.rows : summed.columns);
  const double our_part = (150 + count * 0x1p-14) * 0x1p-24;
  const double their_part = our_part + count * 0x1p-24 + unit_of(our_terms.type);
  const double of_type = unit_of(ours.type);
  for (std::int64_t batch = 0; batch < call.batch; ++batch)
    for (std::int64_t at = 0; at < sums; ++at) {
      const double our = ours.at(at, 0, batch), their = theirs.at(at, 0, batch);
      const Sum our_sum = sum_of(summed, our_terms, at, batch);
      if (!is_sum(our, our_sum, our_part, of_type))
        return sentence("bwgemm's", at, our, their, our_sum.value);
      const Sum their_sum = sum_of(summed, their_terms, at, batch);
      if (!is_sum(their, their_sum, their_part, of_type))
        return sentence("cuBLAS's", at, our, their, their_sum.value);
    }
  return "";
}

}  // namespace bwgemm::dropin
