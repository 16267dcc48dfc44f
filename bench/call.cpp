// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <cstdint>
#include <cstdlib>
#include <sstream>

namespace bwgemm::bench {

namespace {

bwgemmOperation_t operation(bool transposed) {
  return transposed ? BWGEMM_OP_T : BWGEMM_OP_N;
}

void require(bwgemmStatus_t status) {
  if (status == BWGEMM_STATUS_NOT_SUPPORTED) throw NotSupported(bwgemmGetLastErrorString());
  if (status != BWGEMM_STATUS_SUCCESS) throw std::runtime_error(bwgemmGetLastErrorString());
}

// What follows `word` and the blanks behind it; "" if the line starts with another word.
std::string after(const std::string& line, const std::string& word) {
  if (!line.starts_with(word + " ")) return "";
  return line.substr(line.find_first_not_of(' ', word.size()));
}

// "": nothing.
void force(const char* variable, const std::string& value) {
  if (value.empty())
    unsetenv(variable);
  else
    setenv(variable, value.c_str(), 1);
}

}  // namespace

Handle::Handle(CUstream_st* stream, bool device_scalars) {
  require(bwgemmCreate(&handle_));
  if (device_scalars) bwgemmSetPointerMode(handle_, BWGEMM_POINTER_MODE_DEVICE);
  if (bwgemmSetStream(handle_, stream) == BWGEMM_STATUS_SUCCESS) return;
  const std::string why = bwgemmGetLastErrorString();
  bwgemmDestroy(handle_);
  throw std::runtime_error(why);
}

void force_kernel(const std::string& name) {
  force("BWGEMM_FORCE_KERNEL", name);
}

void force_splits(int splits) {
  force("BWGEMM_FORCE_SPLITS", splits == 0 ? "" : std::to_string(splits));
}

void force_sums(const std::string& where) {
  force("BWGEMM_FORCE_SUMS", where);
}

void force_operands(const std::string& where) {
  force("BWGEMM_FORCE_OPERANDS", where);
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (int i = 0; i < bwgemmKernelCount(); ++i) names.emplace_back(bwgemmKernelName(i));
  return names;
}

MatmulCall matmul_call(const BenchProblem& p, const Pointers& at) {
  const BenchEpilogue& epilogue = p.epilogue;
  bwgemmMatmulDesc_t desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = operation(p.transa), desc.transb = operation(p.transb);
  desc.m = p.m, desc.n = p.n, desc.k = p.k;
  desc.Atype = p.a.type, desc.Btype = p.b.type;
  desc.Ctype = desc.Dtype = p.c.type;
  desc.lda = p.a.ld, desc.ldb = p.b.ld;
  desc.ldc = desc.ldd = p.c.ld;
  desc.batchCount = p.batch;
  desc.strideA = p.a.stride, desc.strideB = p.b.stride;
  desc.strideC = desc.strideD = p.c.stride;
  desc.activation = epilogue.activation;
  desc.gate = epilogue.gate;
  if (epilogue.bias) {
    const BenchMatrix bias = p.bias();
    desc.bias = at.bias, desc.biasType = bias.type, desc.biasDim = BWGEMM_DIM_M;
    desc.strideBias = bias.stride;
  }
  if (epilogue.derivative) {
    const BenchMatrix aux = p.aux();
    desc.auxMode = BWGEMM_AUX_DERIVATIVE;
    desc.aux = const_cast<void*>(at.aux);  // only written in another mode
    desc.auxType = aux.type, desc.ldaux = aux.ld, desc.strideAux = aux.stride;
  }
  // A gate wants to know on the host that beta is 0.
  const bool is_gated = epilogue.gate != BWGEMM_GATE_NONE;
  return {desc, is_gated ? nullptr : at.beta, epilogue.residual ? at.residual : at.c};
}

void run_bwgemm(bwgemmHandle_t handle, const BenchProblem& p, const Pointers& at) {
  const bwgemmOperation_t transa = operation(p.transa), transb = operation(p.transb);
  if (p.epilogue.any()) {
    const MatmulCall call = matmul_call(p, at);
    require(bwgemmMatmul(handle, &call.desc, at.alpha, at.a, at.b, call.beta, call.c, at.c));
  } else if (p.batch == 1)
    require(bwgemmGemmEx(handle, transa, transb, p.m, p.n, p.k, at.alpha, at.a, p.a.type, p.a.ld,
                         at.b, p.b.type, p.b.ld, at.beta, at.c, p.c.type, p.c.ld,
                         BWGEMM_COMPUTE_32F, -1));
  else
    require(bwgemmGemmStridedBatchedEx(handle, transa, transb, p.m, p.n, p.k, at.alpha, at.a,
                                       p.a.type, p.a.ld, p.a.stride, at.b, p.b.type, p.b.ld,
                                       p.b.stride, at.beta, at.c, p.c.type, p.c.ld, p.c.stride,
                                       p.batch, BWGEMM_COMPUTE_32F, -1));
}

std::string explain(bwgemmHandle_t handle, const BenchProblem& p, const Pointers& at) {
  std::string text(1 << 16, '\0');
  const MatmulCall call = matmul_call(p, at);
  require(bwgemmMatmulExplain(handle, &call.desc, at.alpha, at.a, at.b, call.beta, call.c, at.c,
                              text.data(), text.size()));
  text.resize(text.find('\0'));
  return text;
}

Pointers nominal_pointers(const BenchProblem& p) {
  const auto address = [](std::uintptr_t base, const BenchMatrix& matrix) {
    return reinterpret_cast<void*>(base + static_cast<std::uintptr_t>(matrix.displace));
  };
  const auto address_if = [&](bool is_read, std::uintptr_t base, const BenchMatrix& matrix) {
    return is_read ? address(base, matrix) : nullptr;
  };
  const BenchEpilogue& epilogue = p.epilogue;
  return {.a = address(1 << 20, p.a),
          .b = address(2 << 20, p.b),
          .c = address(3 << 20, p.c),
          .alpha = &p.alpha,
          .beta = &p.beta,
          .residual = address_if(epilogue.residual, 4 << 20, p.residual()),
          .bias = address_if(epilogue.bias, 5 << 20, p.bias()),
          .aux = address_if(epilogue.derivative, 6 << 20, p.aux())};
}

std::string explain_nominally(const BenchProblem& p) {
  return explain(nullptr, p, nominal_pointers(p));
}

std::string chosen_kernel(const std::string& explanation) {
  std::istringstream lines(explanation);
  for (std::string line; std::getline(lines, line);)
    if (const std::string kernel = after(line, "kernel"); kernel.starts_with("bwgemm_"))
      return kernel.substr(0, kernel.find(' '));
  return "";
}

std::string verdict(const std::string& explanation, const std::string& kernel) {
  std::string text;
  std::istringstream lines(explanation);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Nominal "))
      text += (text.empty() ? "" : "; ") + line.substr(8) + ":";
    else if (const std::string reason = after(line, "other"); reason.starts_with(kernel + ": "))
      text += reason.substr(kernel.size() + 1);
    else if (const std::string launch = after(line, "launch"); !launch.empty())
      text += " " + launch;
    else if (const std::string time = after(line, "predicted"); !time.empty())
      text += ", predicted " + time;
  }
  return text;
}

}  // namespace bwgemm::bench
