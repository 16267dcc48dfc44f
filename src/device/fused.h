// SPDX-License-Identifier: Apache-2.0
// Fused operations: from products to values of D, for every family, in the order of core/problem.h
// and with explicitly rounded arithmetic, so that kernels differ in the order of their sums only.
// A kernel hands over a patch of the product that one thread holds: which rows and columns these
// are its Patch says. What is asked for is known at launch: each operation is a branch that all
// threads take or leave, around straight code for the patch.
//
// A Patch has `rows` rows and `pairs` pairs of columns; value i of all is of row i % rows and of
// pair i / rows. Its members:
//   is_single                     a pair has but its first column
//   in_pairs                      C and aux hold a pair as one aligned word, at column(i)
//   in_steps                      first(i) is first(0) + column_offset(i), second(i) the next
//   row(i), first(i), second(i)   of the product
//   has_row(i), has_first(i), has_second(i)   whether they lie inside of it
//   column(), column_offset(i)    where in_pairs: of the kernel, that of pair 0 and how far from it
//                                 pair i is; differs from first(i) if there is a gate
//   batch, type16()               the batch; KernelParams::type16
//   is_exchanged()                the kernel sees the problem transposed
//   c()                           where C lies
#pragma once

#include "device/computed_here.h"
#include "device/curves.h"
#include "device/epilogue.h"
#include "device/ptx/global_memory.h"

namespace bwgemm {

// FusedParams::operations, read anew.
BWGEMM_DEVICE std::uint32_t operations_of(const KernelParams& params) {
  return static_cast<std::uint32_t>(computed_here(static_cast<int>(params.fused.operations)));
}

// The same for kernels that let Fused load a C like D, too, as it does any other C.
BWGEMM_DEVICE std::uint32_t operations_with_c(const KernelParams& params) {
  if (params.fused.has(operation::any)) return operations_of(params);
  return operation::loads_c | (params.d_type == Dtype::f32 ? operation::c_f32 : 0);
}

// The curve, if any. Straight code for `count` pairs of values.
template <int count>
BWGEMM_DEVICE void apply_activation(const FusedParams& params, std::uint32_t operations, Pair* x) {
  visit_curve(params, operations, [&](const auto& curve) {
#pragma unroll
    for (int i = 0; i < count; ++i) x[i] = {curve.value(x[i].low), curve.value(x[i].high)};
  });
}

template <class Patch>
class Fused {
  static constexpr int rows = Patch::rows, pairs = Patch::pairs, count = rows * pairs;

 public:
  using Values = Pair[count];

  // `operations`: operations_of(params).
  BWGEMM_DEVICE Fused(const KernelParams& params, std::uint32_t operations, const Scaling& scaling,
                      const Patch& patch)
      : fused_(params.fused), operations_(operations), scaling_(scaling), patch_(patch) {}

  BWGEMM_DEVICE bool has(std::uint32_t operation) const { return (operations_ & operation) != 0; }

  // The curve, if any.
  BWGEMM_DEVICE void apply_activation(Values& x) const {
    bwgemm::apply_activation<count>(fused_, operations_, x);
  }

  // What comes before the curve. `x`: alpha * A * B. read_staged_c(c): where the kernel has loaded
  // C. Every value is loaded where it is used: a value that is defined on some paths only takes a
  // register on all paths.
  template <class ReadStaged>
  BWGEMM_DEVICE void add_operands(Values& x, const ReadStaged& read_staged_c) const {
    apply_scales(x);
    add_biases(x);
    if (scaling_.reads_c()) {
      Values c;
      if (has(operation::loads_c))
        load(patch_.c(), has(operation::c_f32), c);
      else
        read_staged_c(c);
      for_all([&](int i) {
        x[i] = {__fmaf_rn(scaling_.beta, c[i].low, x[i].low),
                __fmaf_rn(scaling_.beta, c[i].high, x[i].high)};
      });
    }
    if (has(operation::writes_aux)) store(fused_.aux, has(operation::aux_f32), x);
  }

  BWGEMM_DEVICE void apply_scales(Values& x) const {
    auto of_rows = [&] {
      if (!has(operation::row_scale)) return;
      float scale[rows];
      load_rows(fused_.row_scale, true, scale);
      for_all([&](int i) {
        const float by = scale[i % rows];
        x[i] = {__fmul_rn(x[i].low, by), __fmul_rn(x[i].high, by)};
      });
    };
    if (!patch_.is_exchanged()) of_rows();
    if (has(operation::column_scale)) {
      Pair scale[pairs];
      load_columns(fused_.column_scale, true, scale);
      for_all([&](int i) {
        const Pair by = scale[i / rows];
        x[i] = {__fmul_rn(x[i].low, by.low), __fmul_rn(x[i].high, by.high)};
      });
    }
    if (patch_.is_exchanged()) of_rows();
  }

  // The curve's slope at aux, times the values.
  BWGEMM_DEVICE void differentiate(Values& x) const {
    Values aux;
    load(fused_.aux, has(operation::aux_f32), aux);
    constexpr int part = count < 2 ? count : count / 2;
    // Parts take turns: slopes of all values at once take too many registers.
    visit_curve(fused_, operations_, [&](const auto& curve) {
#pragma unroll 1
      for (int done = 0; done < count; done += part) {
        Values others, other_aux;
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const int to = (i + part) % count;
          others[to] = i >= part ? x[i]
                                 : Pair{__fmul_rn(x[i].low, curve.slope(aux[i].low)),
                                        __fmul_rn(x[i].high, curve.slope(aux[i].high))};
          other_aux[to] = aux[i];
        }
        for_all([&](int i) {
          x[i] = others[i];
          aux[i] = other_aux[i];
        });
      }
    });
  }

  // Stores aux, or a D of the types of aux that is stored by elements.
  BWGEMM_DEVICE void store(const StridedMatrix& matrix, bool is_f32, const Values& values) const {
    // Outputs are only ever reached through this pointer; StridedMatrix is const for the inputs'
    // sake.
    auto writable = [](const char* address) { return const_cast<char*>(address); };
    if (is_f32)
      for_all([&](int i) {
        const Place to = place(matrix, 4, i);
        const std::uint32_t low = __float_as_uint(values[i].low);
        const std::uint32_t high = __float_as_uint(values[i].high);
        if constexpr (Patch::in_pairs) {
          ptx::st_global_v2_if(to.has_first, writable(to.first), low, high);
        } else {
          ptx::st_global_if(to.has_first, writable(to.first), low);
          if constexpr (!Patch::is_single)
            ptx::st_global_if(to.has_second, writable(to.second), high);
        }
      });
    else
      for_all([&](int i) {
        const Place to = place(matrix, 2, i);
        const std::uint32_t packed = pack(patch_.type16(), values[i]);
        if constexpr (Patch::in_pairs) {
          ptx::st_global_if(to.has_first, writable(to.first), packed);
        } else {
          ptx::st_global_u16_if(to.has_first, writable(to.first), packed & 0xffff);
          if constexpr (!Patch::is_single)
            ptx::st_global_u16_if(to.has_second, writable(to.second), packed >> 16);
        }
      });
  }

 private:
  template <class Visit>
  BWGEMM_DEVICE static void for_all(Visit visit) {
#pragma unroll
    for (int i = 0; i < count; ++i) visit(i);
  }

  BWGEMM_DEVICE void add_biases(Values& x) const {
    if (has(operation::row_bias)) {
      float bias[rows];
      load_rows(fused_.row_bias, has(operation::row_bias_f32), bias);
      for_all([&](int i) {
        x[i] = {__fadd_rn(x[i].low, bias[i % rows]), __fadd_rn(x[i].high, bias[i % rows])};
      });
    }
    if (has(operation::column_bias)) {
      Pair bias[pairs];
      load_columns(fused_.column_bias, has(operation::column_bias_f32), bias);
      for_all([&](int i) {
        x[i] = {__fadd_rn(x[i].low, bias[i / rows].low), __fadd_rn(x[i].high, bias[i / rows].high)};
      });
    }
  }

  BWGEMM_DEVICE float load16(bool condition, const char* address) const {
    return unpack(patch_.type16(), ptx::ld_global_u16_if(condition, address)).low;
  }
  BWGEMM_DEVICE static float load32(bool condition, const char* address) {
    return __uint_as_float(ptx::ld_global_if(condition, address));
  }

  // Element `index` from `data` on.
  BWGEMM_DEVICE static const char* element(const char* data, int bytes, std::int64_t index) {
    return data + bytes * index;
  }
  BWGEMM_DEVICE const char* start_of(const FusedVector& vector, int bytes) const {
    return element(static_cast<const char*>(vector.data), bytes,
                   patch_.batch * vector.batch_stride);
  }

  template <class Load>
  BWGEMM_DEVICE static float if_pair(const Load& load_second) {
    if constexpr (Patch::is_single)
      return 0;
    else
      return load_second();
  }

  BWGEMM_DEVICE void load_rows(const FusedVector& vector, bool is_f32,
                               float (&values)[rows]) const {
    const char* const start = start_of(vector, is_f32 ? 4 : 2);
    if (is_f32) {
#pragma unroll
      for (int i = 0; i < rows; ++i)
        values[i] = load32(patch_.has_row(i), element(start, 4, patch_.row(i)));
    } else {
#pragma unroll
      for (int i = 0; i < rows; ++i)
        values[i] = load16(patch_.has_row(i), element(start, 2, patch_.row(i)));
    }
  }

  BWGEMM_DEVICE void load_columns(const FusedVector& vector, bool is_f32,
                                  Pair (&values)[pairs]) const {
    const char* const start = start_of(vector, is_f32 ? 4 : 2);
    if (is_f32) {
#pragma unroll
      for (int i = 0; i < pairs; ++i)
        values[i] = {load32(patch_.has_first(i), first(start, 4, i)),
                     if_pair([&] { return load32(patch_.has_second(i), second(start, 4, i)); })};
    } else {
#pragma unroll
      for (int i = 0; i < pairs; ++i)
        values[i] = {load16(patch_.has_first(i), first(start, 2, i)),
                     if_pair([&] { return load16(patch_.has_second(i), second(start, 2, i)); })};
    }
  }

  // The elements of pair i, of a vector of columns. A constant distance from one address is part of
  // the load; an address of its own takes several instructions.
  BWGEMM_DEVICE const char* first(const char* start, int bytes, int i) const {
    if constexpr (Patch::in_steps)
      return element(start, bytes, patch_.first(0)) + bytes * Patch::column_offset(i);
    else
      return element(start, bytes, patch_.first(i));
  }
  BWGEMM_DEVICE const char* second(const char* start, int bytes, int i) const {
    if constexpr (Patch::in_steps)
      return first(start, bytes, i) + bytes;
    else
      return element(start, bytes, patch_.second(i));
  }

  // Where value i of a matrix lies, and the value that follows in its pair.
  struct Place {
    const char *first, *second;
    bool has_first, has_second;
  };
  BWGEMM_DEVICE Place place(const StridedMatrix& matrix, int bytes, int i) const {
    const char* const line =
        element(static_cast<const char*>(matrix.data), bytes,
                patch_.batch * matrix.batch_stride +
                    static_cast<std::int64_t>(patch_.row(i % rows)) * matrix.outer_stride);
    const bool has_row = patch_.has_row(i % rows), has_first = patch_.has_first(i / rows);
    if constexpr (Patch::in_pairs)
      return {element(line, bytes, patch_.column()) + bytes * Patch::column_offset(i / rows),
              nullptr, has_row && has_first, false};
    else
      return {element(line, bytes, patch_.first(i / rows) * matrix.inner_stride),
              element(line, bytes, patch_.second(i / rows) * matrix.inner_stride),
              has_row && has_first, has_row && patch_.has_second(i / rows)};
  }

  BWGEMM_DEVICE void load(const StridedMatrix& matrix, bool is_f32, Values& values) const {
    if (is_f32)
      for_all([&](int i) {
        const Place from = place(matrix, 4, i);
        if constexpr (Patch::in_pairs) {
          std::uint32_t words[2];
          ptx::ld_global_v2_if(from.has_first, from.first, words);
          values[i] = {__uint_as_float(words[0]), __uint_as_float(words[1])};
        } else {
          values[i] = {load32(from.has_first, from.first),
                       if_pair([&] { return load32(from.has_second, from.second); })};
        }
      });
    else
      for_all([&](int i) {
        const Place from = place(matrix, 2, i);
        if constexpr (Patch::in_pairs)
          values[i] = unpack(patch_.type16(), ptx::ld_global_if(from.has_first, from.first));
        else
          values[i] = {load16(from.has_first, from.first),
                       if_pair([&] { return load16(from.has_second, from.second); })};
      });
  }

  const FusedParams& fused_;
  std::uint32_t operations_;
  Scaling scaling_;
  const Patch& patch_;
};

}  // namespace bwgemm
