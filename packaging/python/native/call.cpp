// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include "handles.h"
#include "library.h"
#include "python.h"

namespace bwgemm_python {
namespace {

template <class Pointer>
Pointer* at(std::uint64_t address) {
  return reinterpret_cast<Pointer*>(address);
}

// The members of a description that say where a matrix lies.
void place(const Matrix& matrix, std::uint64_t& address, std::int32_t& type, std::int32_t& order,
           std::int64_t& ld, std::int64_t& stride) {
  address = matrix.pointer;
  type = matrix.type;
  order = matrix.is_row_order ? BWGEMM_ORDER_ROW : BWGEMM_ORDER_COL;
  ld = matrix.ld;
  stride = matrix.stride;
}

}  // namespace

void set_a(Call& call, const Matrix& matrix) {
  auto& desc = call.desc;
  place(matrix, call.a, desc.Atype, desc.Aorder, desc.lda, desc.strideA);
}

void set_b(Call& call, const Matrix& matrix) {
  auto& desc = call.desc;
  place(matrix, call.b, desc.Btype, desc.Border, desc.ldb, desc.strideB);
}

void set_c(Call& call, const Matrix& matrix) {
  auto& desc = call.desc;
  place(matrix, call.c, desc.Ctype, desc.Corder, desc.ldc, desc.strideC);
}

void set_d(Call& call, const Matrix& matrix) {
  auto& desc = call.desc;
  place(matrix, call.d, desc.Dtype, desc.Dorder, desc.ldd, desc.strideD);
}

void multiply(const Call& call) {
  const WithoutPython elsewhere;
  const Lease lease(call.device);
  check(library().set_stream(lease.handle(), static_cast<CUstream_st*>(call.stream)));
  check(library().matmul(lease.handle(), &call.desc, &call.alpha, at<const void>(call.a),
                         at<const void>(call.b), &call.beta, at<const void>(call.c),
                         at<void>(call.d)));
}

std::string explained(const Call& call) {
  const WithoutPython elsewhere;
  const Lease lease(call.device);
  std::string text(1 << 16, '\0');
  check(library().set_stream(lease.handle(), static_cast<CUstream_st*>(call.stream)));
  check(library().explain(lease.handle(), &call.desc, &call.alpha, at<const void>(call.a),
                          at<const void>(call.b), &call.beta, at<const void>(call.c),
                          at<void>(call.d), text.data(), text.size()));
  return text.c_str();
}

}  // namespace bwgemm_python
