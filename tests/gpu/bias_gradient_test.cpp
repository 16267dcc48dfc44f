// SPDX-License-Identifier: Apache-2.0
// Sums of D or of an operand beside the product: against float64, against the order of additions
// that families/bias_gradient/params.h states bit by bit, and with guard bands. What the product
// itself puts into D is asked elsewhere: the sums are of what lies there.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "families/bias_gradient/params.h"
#include "support/gemm_case.h"

namespace bwgemm::test {
namespace {

struct GradientCase {
  bwgemmBiasGradient_t of = BWGEMM_BIAS_GRADIENT_D_COLUMNS;
  std::int64_t m = 100, n = 70, k = 24;
  Dtype input = Dtype::bf16, output = Dtype::bf16, gradient = Dtype::f32;
  bwgemmOrder_t order = BWGEMM_ORDER_ROW;  // of D, and of A and B before op()
  bwgemmOperation_t trans = BWGEMM_OP_N;   // of A and B
  std::int64_t ld_extra = 0, displacement = 0, ld_multiple = 8;
  std::int64_t batch = 1;
  bool pointer_array = false, repeat_inputs = false;
  bool has_gate = false, has_derivative = false;
  float alpha = 0.25f;
};

std::ostream& operator<<(std::ostream& out, const GradientCase& c) {
  return out << "of=" << c.of << " m=" << c.m << " n=" << c.n << " k=" << c.k << ' '
             << name(c.input) << "->" << name(c.output) << "->" << name(c.gradient)
             << " order=" << c.order << " trans=" << c.trans << " ld+" << c.ld_extra << " at+"
             << c.displacement << " batch=" << c.batch << " pointers=" << c.pointer_array
             << " gate=" << c.has_gate << " derivative=" << c.has_derivative;
}

// A matrix in either order.
struct Stored {
  Matrix matrix;
  bwgemmOrder_t order;

  float get(std::int64_t row, std::int64_t column, std::int64_t batch) const {
    return order == BWGEMM_ORDER_COL ? matrix.get(row, column, batch)
                                     : matrix.get(column, row, batch);
  }
};

// As the kernels' order says, in float.
float ordered_sum(const std::vector<float>& terms) {
  const auto count = static_cast<std::int64_t>(terms.size());
  const std::int64_t chunk = bias_gradient::chunk_terms(count);
  float total = 0;
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    std::vector<float> sum(bias_gradient::block, 0.0f);
    for (std::int64_t i = begin; i < std::min(count, begin + chunk); ++i)
      sum[static_cast<std::size_t>(i % bias_gradient::block)] += terms[static_cast<std::size_t>(i)];
    for (std::size_t step = 1; step < bias_gradient::block; step *= 2)
      for (std::size_t i = 0; i < bias_gradient::block; i += 2 * step) sum[i] += sum[i + step];
    total += sum[0];
  }
  return total;
}

class GradientOperands {
 public:
  explicit GradientOperands(const GradientCase& c) : case_(c) {
    const bool plain = c.trans == BWGEMM_OP_N;
    a_ = stored(c.input, plain ? c.m : c.k, plain ? c.k : c.m);
    b_ = stored(c.input, plain ? c.k : c.n, plain ? c.n : c.k);
    const bool halves_m = c.has_gate && c.order == BWGEMM_ORDER_COL;
    rows_ = halves_m ? c.m / 2 : c.m;
    columns_ = c.has_gate && !halves_m ? c.n / 2 : c.n;
    d_ = stored(c.output, rows_, columns_);
    aux_ = stored(Dtype::f32, c.m, c.n);
    fill_matrix(a_.matrix, Fill::normal, 1);
    fill_matrix(b_.matrix, Fill::normal, 2);
    fill_matrix(aux_.matrix, Fill::normal, 3);
    device_a_ = std::make_unique<GuardedBuffer>(a_.matrix, c.displacement);
    device_b_ = std::make_unique<GuardedBuffer>(b_.matrix, c.displacement);
    device_d_ = std::make_unique<GuardedBuffer>(d_.matrix, c.displacement);
    device_aux_ = std::make_unique<GuardedBuffer>(aux_.matrix, c.displacement);
    const std::int64_t stride = outputs() + 3;
    gradient_ = Matrix(c.gradient, outputs(), 1, outputs(), c.batch, stride);
    device_gradient_ = std::make_unique<GuardedBuffer>(gradient_, 1);
    if (c.pointer_array) make_pointers();
  }

  bwgemmMatmulDesc_t desc() const {
    const GradientCase& c = case_;
    bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
    desc.transa = desc.transb = c.trans;
    desc.m = c.m, desc.n = c.n, desc.k = c.k;
    desc.Atype = desc.Btype = c_type(c.input);
    desc.Ctype = desc.Dtype = c_type(c.output);
    desc.Aorder = desc.Border = desc.Corder = desc.Dorder = c.order;
    desc.lda = a_.matrix.ld(), desc.ldb = b_.matrix.ld(), desc.ldd = d_.matrix.ld();
    desc.batchCount = c.batch;
    desc.strideA = c.repeat_inputs ? 0 : a_.matrix.stride();
    desc.strideB = c.repeat_inputs ? 0 : b_.matrix.stride();
    desc.strideD = d_.matrix.stride();
    if (c.pointer_array) desc.batchMode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
    if (c.has_gate) desc.gate = BWGEMM_GATE_STACKED, desc.activation = BWGEMM_ACTIVATION_SILU;
    if (c.has_derivative) {
      desc.activation = BWGEMM_ACTIVATION_RELU, desc.auxMode = BWGEMM_AUX_DERIVATIVE;
      desc.aux = device_aux_->pointer(), desc.auxType = BWGEMM_R_32F;
      desc.ldaux = aux_.matrix.ld(), desc.strideAux = aux_.matrix.stride();
    }
    desc.biasGradientOf = c.of;
    desc.biasGradient = device_gradient_->pointer();
    desc.biasGradientType = c_type(c.gradient);
    desc.strideBiasGradient = gradient_.stride();
    return desc;
  }

  bwgemmStatus_t call(bwgemmHandle_t handle) const { return call(handle, desc()); }
  bwgemmStatus_t call(bwgemmHandle_t handle, const bwgemmMatmulDesc_t& desc) const {
    return bwgemmMatmul(handle, &desc, &case_.alpha, a(), b(), nullptr, nullptr, d());
  }

  const void* a() const { return case_.pointer_array ? pointers(0) : device_a_->pointer(); }
  const void* b() const { return case_.pointer_array ? pointers(1) : device_b_->pointer(); }
  void* d() const { return case_.pointer_array ? pointers(2) : device_d_->pointer(); }

  // Puts what is written back to poison.
  void restore() {
    device_d_->upload();
    device_gradient_->upload();
  }

  // Waits for the device, then expects the sums to be those of what lies there.
  void expect_result(const std::string& where = "") {
    d_.matrix = device_d_->download();
    EXPECT_EQ(device_d_->damage(), "") << case_ << where;
    gradient_ = device_gradient_->download();
    EXPECT_EQ(device_gradient_->damage(), "") << case_ << where;
    for (const auto& buffer : {&device_a_, &device_b_, &device_aux_}) {
      (*buffer)->download();
      EXPECT_TRUE((*buffer)->untouched()) << "an input was written: " << case_ << where;
    }
    int wrong = 0;
    for (std::int64_t batch = 0; batch < case_.batch; ++batch)
      for (std::int64_t i = 0; i < outputs(); ++i) {
        const std::vector<float> terms = terms_of(i, batch);
        const float expected = rounded(ordered_sum(terms));
        const float got = gradient_.get(i, 0, batch);
        if ((got != expected || !is_close(terms, got)) && ++wrong <= 3)
          ADD_FAILURE() << case_ << where << ": batch " << batch << ", sum " << i << " is " << got
                        << ", not " << expected;
      }
    EXPECT_EQ(wrong, 0) << case_ << where;
  }

  // The gradient and what lies around it, after expect_result().
  const std::vector<std::byte>& bytes() const { return gradient_.bytes(); }
  bool gradient_is_untouched() {
    device_gradient_->download();
    return device_gradient_->untouched();
  }

 private:
  Stored stored(Dtype type, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t length = case_.order == BWGEMM_ORDER_COL ? rows : columns;
    const std::int64_t lines = case_.order == BWGEMM_ORDER_COL ? columns : rows;
    const std::int64_t multiple = case_.ld_multiple;
    const std::int64_t least = std::max<std::int64_t>(1, length) + case_.ld_extra;
    const std::int64_t ld = (least + multiple - 1) / multiple * multiple;
    return {Matrix(type, length, lines, ld, case_.batch, ld * lines), case_.order};
  }

  void make_pointers() {
    std::vector<std::uint64_t> all;
    const auto add = [&](const GuardedBuffer& buffer, const Matrix& matrix, bool repeats) {
      for (std::int64_t batch = 0; batch < case_.batch; ++batch)
        all.push_back(reinterpret_cast<std::uint64_t>(buffer.pointer()) +
                      static_cast<std::uint64_t>((repeats ? 0 : batch) * matrix.stride() *
                                                 size_bytes(matrix.type())));
    };
    add(*device_a_, a_.matrix, case_.repeat_inputs);
    add(*device_b_, b_.matrix, case_.repeat_inputs);
    add(*device_d_, d_.matrix, false);
    pointers_ = std::make_unique<DeviceMemory>(8 * all.size());
    check(driver().memcpy_htod(pointers_->address(), all.data(), 8 * all.size()), "cuMemcpyHtoD");
    synchronize();
  }
  void* pointers(std::int64_t i) const { return pointers_->as<char>() + 8 * i * case_.batch; }

  std::int64_t outputs() const {
    switch (case_.of) {
      case BWGEMM_BIAS_GRADIENT_A: return case_.m;
      case BWGEMM_BIAS_GRADIENT_B: return case_.n;
      case BWGEMM_BIAS_GRADIENT_D_ROWS: return rows_;
      default: return columns_;
    }
  }

  std::vector<float> terms_of(std::int64_t i, std::int64_t batch) const {
    const bool plain = case_.trans == BWGEMM_OP_N;
    const std::int64_t of_inputs = case_.repeat_inputs ? 0 : batch;
    const auto all = [](std::int64_t count, const auto& at) {
      std::vector<float> terms(static_cast<std::size_t>(count));
      for (std::int64_t j = 0; j < count; ++j) terms[static_cast<std::size_t>(j)] = at(j);
      return terms;
    };
    switch (case_.of) {
      case BWGEMM_BIAS_GRADIENT_A:
        return all(case_.k, [&](auto j) {
          return plain ? a_.get(i, j, of_inputs) : a_.get(j, i, of_inputs);
        });
      case BWGEMM_BIAS_GRADIENT_B:
        return all(case_.k, [&](auto j) {
          return plain ? b_.get(j, i, of_inputs) : b_.get(i, j, of_inputs);
        });
      case BWGEMM_BIAS_GRADIENT_D_ROWS:
        return all(columns_, [&](auto j) { return d_.get(i, j, batch); });
      default: return all(rows_, [&](auto j) { return d_.get(j, i, batch); });
    }
  }

  float rounded(float value) const {
    std::byte bytes[4];
    store(bytes, case_.gradient, value);
    return load(bytes, case_.gradient);
  }

  // What the header promises, and half a unit of the gradient's type.
  bool is_close(const std::vector<float>& terms, float got) const {
    double sum = 0, magnitude = 0;
    for (const float term : terms) sum += term, magnitude += std::fabs(term);
    const double rounding = case_.gradient == Dtype::f32    ? 0x1p-24
                            : case_.gradient == Dtype::bf16 ? 0x1p-8
                                                            : 0x1p-11;
    const double bound = (150 + static_cast<double>(terms.size()) * 0x1p-14) * 0x1p-24 * magnitude;
    return std::fabs(got - sum) <= bound + rounding * (std::fabs(sum) + bound) + 0x1p-25;
  }

  const GradientCase case_;
  std::int64_t rows_ = 0, columns_ = 0;  // of D
  Stored a_, b_, d_, aux_;
  Matrix gradient_;
  std::unique_ptr<GuardedBuffer> device_a_, device_b_, device_d_, device_aux_, device_gradient_;
  std::unique_ptr<DeviceMemory> pointers_;
};

constexpr bwgemmBiasGradient_t sources[] = {BWGEMM_BIAS_GRADIENT_D_ROWS,
                                            BWGEMM_BIAS_GRADIENT_D_COLUMNS, BWGEMM_BIAS_GRADIENT_A,
                                            BWGEMM_BIAS_GRADIENT_B};

// With as many terms to each sum.
GradientCase with_terms(bwgemmBiasGradient_t of, std::int64_t terms) {
  GradientCase c{.of = of};
  (of == BWGEMM_BIAS_GRADIENT_D_ROWS      ? c.n
   : of == BWGEMM_BIAS_GRADIENT_D_COLUMNS ? c.m
                                          : c.k) = terms;
  return c;
}

class BiasGradient : public HandleTest {
 protected:
  void run(const GradientCase& c) {
    GradientOperands operands(c);
    ASSERT_TRUE(succeeds(operands.call(handle()))) << c;
    operands.expect_result();
  }
};

TEST_F(BiasGradient, OfEveryMatrixInEveryOrderAndType) {
  for (const bwgemmBiasGradient_t of : sources)
    for (const bwgemmOrder_t order : {BWGEMM_ORDER_COL, BWGEMM_ORDER_ROW})
      for (const bwgemmOperation_t trans : {BWGEMM_OP_N, BWGEMM_OP_T})
        for (const Dtype input : {Dtype::bf16, Dtype::f16})
          for (const bool to_f32 : {false, true}) {
            GradientCase c = with_terms(of, 300);
            c.order = order, c.trans = trans, c.input = input;
            c.output = to_f32 ? Dtype::f32 : input;
            c.gradient = to_f32 == (trans == BWGEMM_OP_N) ? Dtype::f32 : input;
            run(c);
          }
}

// Bases, leading dimensions and extents that are no multiples of 16 bytes.
TEST_F(BiasGradient, OfAnyAlignment) {
  for (const bwgemmBiasGradient_t of : sources)
    for (const bwgemmOrder_t order : {BWGEMM_ORDER_COL, BWGEMM_ORDER_ROW})
      for (const Dtype output : {Dtype::f16, Dtype::f32}) {
        GradientCase c = with_terms(of, 259);
        c.m += 1, c.n += 3, c.k += 1;
        c.order = order, c.input = Dtype::f16, c.output = output;
        c.ld_multiple = 1, c.ld_extra = 1;
        run(c);
        c.displacement = 1;
        run(c);
        c.ld_multiple = 8;
        run(c);
        c.displacement = 0;
        run(c);
      }
}

TEST_F(BiasGradient, OfBatchesAndArraysOfPointers) {
  for (const bwgemmBiasGradient_t of : sources)
    for (const bool pointer_array : {false, true})
      for (const bool repeat_inputs : {false, true}) {
        GradientCase c = with_terms(of, 40);
        c.batch = 3, c.pointer_array = pointer_array, c.repeat_inputs = repeat_inputs;
        run(c);
        c.ld_multiple = 1, c.displacement = 1, c.gradient = c.input;
        run(c);
      }
}

// Behind what is fused: what D holds then.
TEST_F(BiasGradient, OfDerivativesAndGates) {
  for (const bwgemmOrder_t order : {BWGEMM_ORDER_COL, BWGEMM_ORDER_ROW})
    for (const bwgemmBiasGradient_t of : sources) {
      GradientCase c{.of = of, .m = 144, .n = 80, .order = order};
      c.has_derivative = true;
      run(c);
      c.has_derivative = false, c.has_gate = true;
      run(c);
    }
}

// One chunk and several, of terms in and between whole blocks; outputs in one unit and in several.
// Neither workspace nor multiprocessors change a bit.
TEST_F(BiasGradient, DependsOnNothingButTheTerms) {
  const DeviceMemory workspace(1 << 20);
  for (const bwgemmBiasGradient_t of : sources)
    for (const std::int64_t terms : {1, 255, 513, 1025, small_scale() ? 1537 : 70001}) {
      GradientCase c = with_terms(of, terms);
      GradientOperands operands(c);
      ASSERT_TRUE(succeeds(operands.call(handle()))) << c;
      operands.expect_result();
      const std::vector<std::byte> bits = operands.bytes();
      const auto expect_the_same = [&](const bwgemmMatmulDesc_t& desc, const char* where) {
        operands.restore();
        EXPECT_TRUE(succeeds(operands.call(handle(), desc))) << c;
        operands.expect_result(where);
        // Other splits of k may be other bits of D.
        const bool is_of_input = of == BWGEMM_BIAS_GRADIENT_A || of == BWGEMM_BIAS_GRADIENT_B;
        EXPECT_TRUE(!is_of_input || operands.bytes() == bits) << c << where;
      };
      bwgemmMatmulDesc_t desc = operands.desc();
      expect_the_same(desc, " again");
      desc.workspaceSize = 1;
      expect_the_same(desc, " without workspace");
      desc.workspace = workspace.as<void>(), desc.workspaceSize = 1 << 20;
      expect_the_same(desc, " with the caller's workspace");
      ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle(), 2)));
      expect_the_same(desc, " on two multiprocessors");
      ASSERT_TRUE(succeeds(bwgemmSetSmCountTarget(handle(), 0)));
    }
}

// The last to arrive takes several rounds to add them.
TEST_F(BiasGradient, OfManyChunks) {
  GradientCase c = with_terms(BWGEMM_BIAS_GRADIENT_A, 20 * bias_gradient::least_chunk + 5);
  c.m = 5, c.n = 3;
  run(c);
}

TEST_F(BiasGradient, OfNoProduct) {
  for (const bwgemmBiasGradient_t of : sources) {
    GradientCase c{.of = of};
    c.alpha = 0;
    run(c);
    c.k = 0;
    run(c);
    c.batch = 2, c.pointer_array = true;
    run(c);
  }
}

TEST_F(BiasGradient, OfNothingIsNotWritten) {
  for (const bwgemmBiasGradient_t of : sources) {
    GradientOperands operands({.of = of});
    for (std::int64_t bwgemmMatmulDesc_t::*size :
         {&bwgemmMatmulDesc_t::m, &bwgemmMatmulDesc_t::n, &bwgemmMatmulDesc_t::batchCount}) {
      bwgemmMatmulDesc_t desc = operands.desc();
      desc.*size = 0;
      EXPECT_TRUE(succeeds(operands.call(handle(), desc)));
    }
    EXPECT_TRUE(operands.gradient_is_untouched());
  }
}

TEST_F(BiasGradient, UsesTheWorkspaceWithinItsBounds) {
  for (const bwgemmBiasGradient_t of : sources) {
    const GradientCase c = with_terms(of, 1100);
    GradientOperands operands(c);
    bwgemmMatmulDesc_t desc = operands.desc();
    std::size_t wanted = 0;
    EXPECT_TRUE(
        succeeds(bwgemmMatmulGetWorkspaceSize(handle(), &desc, &c.alpha, operands.a(), operands.b(),
                                              nullptr, nullptr, operands.d(), &wanted)));
    const std::size_t of_sums =
        3 * 2 * bias_gradient::unit_outputs * sizeof(float);  // chunks, units
    EXPECT_GE(wanted, of_sums);
    for (const std::size_t size : {of_sums - 4, of_sums, wanted}) {
      const auto floats = static_cast<std::int64_t>(size / sizeof(float));
      GuardedBuffer buffer(Matrix(Dtype::f32, floats, 1, floats));
      desc.workspace = buffer.pointer(), desc.workspaceSize = size;
      operands.restore();
      EXPECT_TRUE(succeeds(operands.call(handle(), desc))) << c;
      operands.expect_result(" with a workspace of " + std::to_string(size));
      buffer.download();
      EXPECT_EQ(buffer.damage(), "") << c << " size " << size;
      EXPECT_TRUE(size < of_sums || !buffer.untouched()) << c << " size " << size;
    }
  }
}

// The sums wait for the product, what comes next for the sums; a graph repeats both.
TEST_F(BiasGradient, InStreamOrderAndInGraphs) {
  const Stream stream;
  ASSERT_TRUE(succeeds(bwgemmSetStream(handle(), stream.get())));
  for (const bwgemmBiasGradient_t of : sources)
    for (const int overlaps : {0, 1}) {
      ASSERT_TRUE(succeeds(bwgemmSetProgrammaticLaunch(handle(), overlaps)));
      GradientOperands operands(with_terms(of, 600));
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(succeeds(operands.call(handle())));
      stream.synchronize();
      operands.expect_result(" in a chain");
      check(driver().stream_begin_capture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED),
            "cuStreamBeginCapture");
      for (int i = 0; i < 2; ++i) EXPECT_TRUE(succeeds(operands.call(handle())));
      CUgraph captured = nullptr;
      check(driver().stream_end_capture(stream.get(), &captured), "cuStreamEndCapture");
      const Graph graph(captured);
      for (int replay = 0; replay < 2; ++replay) {
        operands.restore();
        graph.launch(stream.get());
        stream.synchronize();
        operands.expect_result(" replayed");
      }
    }
}

TEST_F(BiasGradient, AfterTuning) {
  const GradientCase c = with_terms(BWGEMM_BIAS_GRADIENT_D_COLUMNS, 600);
  GradientOperands operands(c);
  const bwgemmMatmulDesc_t desc = operands.desc();
  bwgemmAutotuneOptions_t options = BWGEMM_AUTOTUNE_OPTIONS_INIT;
  options.candidates = 2, options.repetitions = 1;
  std::int64_t algo = 0;
  ASSERT_TRUE(succeeds(bwgemmMatmulAutotune(handle(), &desc, &c.alpha, operands.a(), operands.b(),
                                            nullptr, nullptr, operands.d(), &options, &algo)));
  operands.expect_result(" after tuning");
}

}  // namespace
}  // namespace bwgemm::test
