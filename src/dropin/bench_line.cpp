// SPDX-License-Identifier: Apache-2.0
#include "dropin/bench_line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "dropin/epilogue.h"
#include "dropin/serve.h"

namespace bwgemm::dropin {
namespace {

class Fields {
 public:
  Fields& add(const char* key, const std::string& value) {
    if (!text_.empty()) text_ += ',';
    text_.append(key).append(1, '=').append(value);
    return *this;
  }
  Fields& add(const char* key, std::int64_t value) { return add(key, std::to_string(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The shortest text that is read as the same number.
std::string shortest(float value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

const char* type_name(int type) {
  return type == CUDA_R_32F ? "f32" : type == CUDA_R_16F ? "f16" : "bf16";
}

// What is unusual about a stored matrix of rows x columns.
void add_oddities(Fields& fields, char letter, const Operand& matrix, std::int64_t rows,
                  std::int64_t columns, const Call& call) {
  const std::string name(1, letter);
  if (matrix.is_row_major()) return;  // the bench has columns
  if (matrix.ld != std::max<std::int64_t>(1, rows)) fields.add(("ld" + name).c_str(), matrix.ld);
  if (call.by_pointers()) return;
  if (call.batch > 1 && matrix.stride != matrix.ld * columns)
    fields.add(("stride" + name).c_str(), matrix.stride);
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.data);
  if (address % 16 != 0)
    fields.add(("align" + name).c_str(), static_cast<std::int64_t>(address & (~address + 1)));
}

void add_scalars(Fields& fields, const Call& call, const CallSettings& settings) {
  if (settings.has_device_scalars()) {
    fields.add("scalars", "device");
    return;
  }
  fields.add("beta", shortest(host_scalar(call, call.beta)));
  const float alpha = host_scalar(call, call.alpha);
  if (alpha != 1) fields.add("alpha", shortest(alpha));
}

// The name that the bench has for the epilogue, with the aux matrix and the sums left out.
const char* epilogue_name(int kind) {
  switch (kind) {
    case CUBLASLT_EPILOGUE_RELU: return "relu";
    case CUBLASLT_EPILOGUE_BIAS: return "bias";
    case CUBLASLT_EPILOGUE_RELU_BIAS: return "bias_relu";
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX: return "gelu_tanh";
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS: return "bias_gelu_tanh";
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD: return "dgelu";
    default: return "none";
  }
}

// What the call has and the bench has not; empty: nothing.
std::string left_out(const Call& call) {
  std::string text;
  const auto add = [&](bool has, const char* what) {
    if (has) text.append(text.empty() ? "  # the call has " : ", ").append(what);
  };
  add(call.by_pointers(), "arrays of pointers");
  add(orders_of(call) != 0, "matrices in row order");
  add(call.d && call.d->data != call.c.data, "C apart from D");
  add(form_of(call.epilogue.kind)->writes_beside_d(), "more outputs than D");
  return text;
}

}  // namespace

std::string bench_line(const Call& call, const CallSettings& settings) {
  const bool transa = call.transa != CUBLAS_OP_N, transb = call.transb != CUBLAS_OP_N;
  Fields fields;
  fields.add("m", call.m).add("n", call.n).add("k", call.k);
  fields.add("transa", transa ? "T" : "N").add("transb", transb ? "T" : "N");
  fields.add("dtype", type_name(call.a.type)).add("out", type_name(call.output().type));
  fields.add("batch", call.batch);
  add_scalars(fields, call, settings);
  if (call.epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT)
    fields.add("epilogue", epilogue_name(call.epilogue.kind));
  add_oddities(fields, 'a', call.a, transa ? call.k : call.m, transa ? call.m : call.k, call);
  add_oddities(fields, 'b', call.b, transb ? call.n : call.k, transb ? call.k : call.n, call);
  add_oddities(fields, 'c', call.output(), call.m, call.n, call);
  std::string line = "bwgemm_bench --colmajor --problem \"";
  line.append(fields.text()).append("\"");
  return line.append(left_out(call));
}

}  // namespace bwgemm::dropin
