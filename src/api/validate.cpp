// SPDX-License-Identifier: Apache-2.0
#include "api/validate.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "api/batch_overlap.h"

namespace bwgemm {
namespace {

template <class... Parts>
[[noreturn]] void unsupported(const Parts&... parts) {
  throw Error(BWGEMM_STATUS_NOT_SUPPORTED, text(parts...));
}

void check_operation(const char* name, bwgemmOperation_t operation) {
  require(operation == BWGEMM_OP_N || operation == BWGEMM_OP_T || operation == BWGEMM_OP_C, name,
          " is ", static_cast<int>(operation),
          " but must be BWGEMM_OP_N (0), BWGEMM_OP_T (1) or BWGEMM_OP_C (2)");
}

void check_not_negative(const char* name, std::int64_t value) {
  require(value >= 0, name, " is ", value, " but must be at least 0");
}

std::optional<Dtype> known_type(bwgemmDataType_t type) {
  switch (static_cast<int>(type)) {
    case BWGEMM_R_32F: return Dtype::f32;
    case BWGEMM_R_16F: return Dtype::f16;
    case BWGEMM_R_16BF: return Dtype::bf16;
    case BWGEMM_R_8F_E4M3: return Dtype::e4m3;
    case BWGEMM_R_8F_E5M2: return Dtype::e5m2;
    default: return std::nullopt;
  }
}

const char* enumerator(Dtype type) {
  switch (type) {
    case Dtype::f32: return "BWGEMM_R_32F";
    case Dtype::f16: return "BWGEMM_R_16F";
    case Dtype::bf16: return "BWGEMM_R_16BF";
    case Dtype::e4m3: return "BWGEMM_R_8F_E4M3";
    case Dtype::e5m2: return "BWGEMM_R_8F_E5M2";
  }
  return "?";
}

Scalar checked_scalar(const char* name, const void* pointer, bwgemmPointerMode_t mode) {
  require(pointer != nullptr, name, " is null but must point to a float");
  Scalar scalar;
  if (mode == BWGEMM_POINTER_MODE_HOST) {
    std::memcpy(&scalar.value, pointer, sizeof scalar.value);
    return scalar;
  }
  require(reinterpret_cast<std::uintptr_t>(pointer) % alignof(float) == 0, name,
          " is a device address that is not a multiple of ", alignof(float), " bytes");
  scalar.device = static_cast<const float*>(pointer);
  return scalar;
}

// One matrix of the arguments, as stored: `columns` columns of `rows` elements.
struct Operand {
  const char* name;       // "A"
  const char* ld_name;    // "lda"
  const char* rows_name;  // what the leading dimension must cover
  const char* access;     // "written"
  const void* data;
  bwgemmDataType_t type;
  std::int64_t rows, columns, ld, stride;
  bool is_touched;
};

// Whether the last element lies beyond what 63 bits address. Cannot overflow: the factors are below
// 2^63, so their products are below 2^126.
bool spans_too_much(const Operand& operand, std::int64_t batch, Dtype type) {
  __extension__ using Wide = __int128;
  if (operand.rows == 0 || operand.columns == 0) return false;
  const Wide elements =
      (Wide{batch} - 1) * operand.stride + Wide{operand.columns - 1} * operand.ld + operand.rows;
  return elements > std::numeric_limits<std::int64_t>::max() / size_bytes(type);
}

// The rules that A, B and C share, in argument order: pointer, type, leading dimension, stride.
Dtype check_operand(const Operand& operand, std::int64_t batch) {
  require(!operand.is_touched || operand.data != nullptr, operand.name, " is null but will be ",
          operand.access);
  const auto type = known_type(operand.type);
  require(type.has_value(), operand.name, "type is ", static_cast<int>(operand.type),
          " but must be a bwgemmDataType_t");
  const auto address = reinterpret_cast<std::uintptr_t>(operand.data);
  require(!operand.is_touched || (address & static_cast<unsigned>(size_bytes(*type) - 1)) == 0,
          operand.name, " is address ", address, " but must be a multiple of ", size_bytes(*type),
          ", the size of its ", enumerator(*type), " elements");
  const std::int64_t least = std::max<std::int64_t>(1, operand.rows);
  require(operand.ld >= least, operand.ld_name, " is ", operand.ld, " but must be at least max(1, ",
          operand.rows_name, " = ", operand.rows, ")");
  require(operand.stride >= 0, "stride", operand.name, " is ", operand.stride,
          " but must be at least 0");
  require(!operand.is_touched || !spans_too_much(operand, batch, *type), operand.name, " with ",
          operand.ld_name, " ", operand.ld, " and stride", operand.name, " ", operand.stride,
          " ends beyond 2^63 bytes");
  return *type;
}

void check_batches_of_c(const Operand& c, std::int64_t batch) {
  require(!c.is_touched || !batches_overlap(c.rows, c.columns, c.ld, c.stride, batch),
          "strideC is ", c.stride, ", with which batches of C overlap (m ", c.rows, ", n ",
          c.columns, ", ldc ", c.ld, ", batchCount ", batch, ")");
}

// cuBLAS's values, of which only the one of the header is served.
void check_compute_type(bwgemmComputeType_t type) {
  const int value = static_cast<int>(type);
  require(value >= 64 && value <= 79, "computeType is ", value,
          " but must be BWGEMM_COMPUTE_32F (68)");
}

void check_algo(int algo) {
  require((algo >= -1 && algo <= 23) || (algo >= 99 && algo <= 115), "algo is ", algo,
          " but must be -1, 0..23 or 99..115");
}

void check_supported(Dtype a, Dtype b, Dtype c, const GemmArguments& arguments) {
  if (a != Dtype::bf16 && a != Dtype::f16)
    unsupported("Atype is ", enumerator(a), "; supported are BWGEMM_R_16BF and BWGEMM_R_16F");
  if (b != a)
    unsupported("Btype is ", enumerator(b), "; supported is the same as Atype, ", enumerator(a));
  if (c != a && c != Dtype::f32)
    unsupported("Ctype is ", enumerator(c), "; supported are Atype, ", enumerator(a),
                ", and BWGEMM_R_32F");
  if (arguments.compute_type != BWGEMM_COMPUTE_32F)
    unsupported("computeType is ", static_cast<int>(arguments.compute_type),
                "; supported is BWGEMM_COMPUTE_32F (68)");
  if (arguments.batch_count > std::numeric_limits<std::int32_t>::max())
    unsupported("batchCount is ", arguments.batch_count, "; supported are at most ",
                std::numeric_limits<std::int32_t>::max());
}

}  // namespace

Problem validated(const GemmArguments& arguments, bwgemmPointerMode_t pointer_mode) {
  check_operation("transa", arguments.transa);
  check_operation("transb", arguments.transb);
  check_not_negative("m", arguments.m);
  check_not_negative("n", arguments.n);
  check_not_negative("k", arguments.k);

  Problem problem;
  problem.m = arguments.m;
  problem.n = arguments.n;
  problem.k = arguments.k;
  problem.batch = arguments.batch_count;
  const bool touches_c = !problem.empty();
  if (touches_c) problem.alpha = checked_scalar("alpha", arguments.alpha, pointer_mode);
  const bool touches_ab = touches_c && !problem.scale_only();
  const char* read =
      problem.alpha.device != nullptr ? "read unless alpha, which is on the device, is 0" : "read";

  const bool plain_a = arguments.transa == BWGEMM_OP_N, plain_b = arguments.transb == BWGEMM_OP_N;
  const Operand a{"A",
                  "lda",
                  "rows of A as stored",
                  read,
                  arguments.a,
                  arguments.a_type,
                  plain_a ? problem.m : problem.k,
                  plain_a ? problem.k : problem.m,
                  arguments.lda,
                  arguments.stride_a,
                  touches_ab};
  const Operand b{"B",
                  "ldb",
                  "rows of B as stored",
                  read,
                  arguments.b,
                  arguments.b_type,
                  plain_b ? problem.k : problem.n,
                  plain_b ? problem.n : problem.k,
                  arguments.ldb,
                  arguments.stride_b,
                  touches_ab};
  const Operand c{
      "C",       "ldc",     "m",           "written",          arguments.c, arguments.c_type,
      problem.m, problem.n, arguments.ldc, arguments.stride_c, touches_c};
  const Dtype a_type = check_operand(a, problem.batch);
  const Dtype b_type = check_operand(b, problem.batch);
  if (touches_c) problem.beta = checked_scalar("beta", arguments.beta, pointer_mode);
  const Dtype c_type = check_operand(c, problem.batch);
  check_not_negative("batchCount", problem.batch);
  check_batches_of_c(c, problem.batch);
  check_compute_type(arguments.compute_type);
  check_algo(arguments.algo);
  check_supported(a_type, b_type, c_type, arguments);

  // What will not be read is dropped, so that equal work is an equal problem.
  const auto matrix = [&](const Operand& from, Dtype type, bool is_plain) {
    return Matrix{from.is_touched ? from.data : nullptr, type,
                  is_plain ? Order::column : Order::row, from.ld,
                  problem.batch > 1 ? from.stride : 0};
  };
  problem.a = matrix(a, a_type, plain_a);
  problem.b = matrix(b, b_type, plain_b);
  problem.c = problem.d = matrix(c, c_type, true);
  return with_row_order_d(problem);
}

}  // namespace bwgemm
