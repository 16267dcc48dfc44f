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

std::int32_t order(const Matrix& matrix) {
  return matrix.is_row_order ? BWGEMM_ORDER_ROW : BWGEMM_ORDER_COL;
}

}  // namespace

void set_a(Call& call, const Matrix& matrix) {
  call.a = matrix.pointer;
  call.desc.Atype = matrix.type;
  call.desc.Aorder = order(matrix);
  call.desc.lda = matrix.ld;
  call.desc.strideA = matrix.stride;
}

void set_b(Call& call, const Matrix& matrix) {
  call.b = matrix.pointer;
  call.desc.Btype = matrix.type;
  call.desc.Border = order(matrix);
  call.desc.ldb = matrix.ld;
  call.desc.strideB = matrix.stride;
}

void set_c(Call& call, const Matrix& matrix) {
  call.c = matrix.pointer;
  call.desc.Ctype = matrix.type;
  call.desc.Corder = order(matrix);
  call.desc.ldc = matrix.ld;
  call.desc.strideC = matrix.stride;
}

void set_d(Call& call, const Matrix& matrix) {
  call.d = matrix.pointer;
  call.desc.Dtype = matrix.type;
  call.desc.Dorder = order(matrix);
  call.desc.ldd = matrix.ld;
  call.desc.strideD = matrix.stride;
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
