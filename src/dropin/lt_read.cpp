// SPDX-License-Identifier: Apache-2.0
#include "dropin/lt_read.h"

#include "dropin/epilogue.h"

namespace bwgemm::dropin {
namespace {

bool has_objects(const LtArguments& from) {
  return from.desc != nullptr && from.a_layout != nullptr && from.b_layout != nullptr &&
         from.c_layout != nullptr && from.d_layout != nullptr;
}

bool read_types(const LtArguments& from, const Cublas& cublas, Call& call) {
  return read_compute(cublas, from.desc, call.compute) &&
         read_type(cublas, from.a_layout, call.a.type) &&
         read_type(cublas, from.b_layout, call.b.type) &&
         read_type(cublas, from.c_layout, call.c.type) &&
         read_type(cublas, from.d_layout, call.d->type);
}

void set_matrix(const LtLayout& layout, Operand& operand) {
  operand.type = layout.type;
  operand.ld = layout.ld;
  operand.stride = layout.batch != 1 ? layout.stride : 0;
  operand.order = layout.order;
}

bool is_served(const LtLayout& layout) {
  return layout.is_plain &&
         (layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW);
}

// Sets the sizes of the product. Reason::layout if the matrices do not fit each other.
Reason set_sizes(const LtLayout& a, const LtLayout& b, const LtLayout& c, const LtLayout& d,
                 Call& call) {
  const bool ta = call.transa != CUBLAS_OP_N, tb = call.transb != CUBLAS_OP_N;
  call.m = static_cast<std::int64_t>(d.rows);
  call.n = static_cast<std::int64_t>(d.columns);
  call.k = static_cast<std::int64_t>(ta ? a.rows : a.columns);
  call.batch = d.batch;
  const bool fits = (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
                    (tb ? b.columns : b.rows) == static_cast<std::uint64_t>(call.k) &&
                    c.rows == d.rows && c.columns == d.columns && a.batch == d.batch &&
                    b.batch == d.batch && c.batch == d.batch;
  return fits && is_served(a) && is_served(b) && is_served(c) && is_served(d) ? Reason::none
                                                                              : Reason::layout;
}

Reason read_matrices(const LtArguments& from, const Cublas& cublas, LtCache* cache, Call& call) {
  const LtLayout a = read_layout(cublas, from.a_layout, cache);
  const LtLayout b = read_layout(cublas, from.b_layout, cache);
  const LtLayout d = read_layout(cublas, from.d_layout, cache);
  const LtLayout c = from.c_layout == from.d_layout ? d : read_layout(cublas, from.c_layout, cache);
  if (!a.is_good || !b.is_good || !c.is_good || !d.is_good) return Reason::descriptor;
  set_matrix(a, call.a);
  set_matrix(b, call.b);
  set_matrix(c, call.c);
  set_matrix(d, *call.d);
  return set_sizes(a, b, c, d, call);
}

// What is not said takes the type of D. What the epilogue does not use stays as it is.
void set_epilogue(const LtDesc& desc, Call& call) {
  Epilogue& epilogue = call.epilogue;
  epilogue.kind = desc.epilogue;
  const EpilogueForm* const form = form_of(desc.epilogue);
  if (form == nullptr) return;
  const auto type_or = [&](int type) { return type == -1 ? call.output().type : type; };
  if (form->uses_bias_pointer()) {
    epilogue.bias = desc.bias;
    epilogue.bias_type = type_or(desc.bias_type);
    if (call.batch != 1) epilogue.bias_stride = desc.bias_stride;
  }
  if (form->aux_mode == BWGEMM_AUX_NONE) return;
  epilogue.aux = desc.aux;
  epilogue.aux_type = type_or(desc.aux_type);
  epilogue.aux_ld = desc.aux_ld;
  if (call.batch != 1) epilogue.aux_stride = desc.aux_stride;
}

// Whether bwgemm may split k through the workspace. A program that chose an algorithm chose with it
// whether k is split, and so the bits of D.
bool may_split(const LtArguments& from, const Cublas& cublas) {
  if (from.algo == nullptr || cublas.lt_algo_config_get_attribute == nullptr) return true;
  std::int32_t splits = 0;
  std::size_t written = 0;
  const cublasStatus_t status = cublas.lt_algo_config_get_attribute(
      from.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits, &written);
  return status == CUBLAS_STATUS_SUCCESS && splits > 1;
}

Reason read_objects(const LtArguments& from, const Cublas& cublas, LtCache* cache, LtCall& read) {
  Call& call = read.call;
  const LtDesc desc = read_desc(cublas, from.desc, cache);
  call.compute = desc.compute;
  call.transa = desc.transa;
  call.transb = desc.transb;
  read.settings.pointer_mode = desc.pointer_mode;
  read.settings.sm_count_target = desc.sm_count_target;
  const Reason reason = read_matrices(from, cublas, cache, call);
  set_epilogue(desc, call);
  if (!desc.is_good || reason == Reason::descriptor) return Reason::descriptor;
  if (const Reason types = why_types(call); types != Reason::none) return types;
  if (!desc.is_plain) return Reason::descriptor;
  if (desc.scale_type != (call.has_half_scalars() ? CUDA_R_16F : CUDA_R_32F))
    return Reason::compute_type;
  return reason;
}

}  // namespace

Reason read_call(const LtArguments& arguments, const Cublas& cublas, LtCache* cache, bool reads_all,
                 LtCall& read) {
  Call& call = read.call;
  call = Call{Entry::lt_matmul,
              reinterpret_cast<cublasHandle_t>(arguments.handle),
              0,
              0,
              0,
              0,
              0,
              arguments.alpha,
              arguments.beta,
              {arguments.a, 0, 0, 0},
              {arguments.b, 0, 0, 0},
              {arguments.c, 0, 0, 0},
              0,
              0,
              CUBLAS_GEMM_DEFAULT,
              Operand{arguments.d, 0, 0, 0}};
  call.lt_algo = arguments.algo;
  read.settings =
      CallSettings{arguments.stream, 0, 0, 0, arguments.workspace, arguments.workspace_size};
  if (!has_objects(arguments) || !cublas.lt_defaults.are_known) return Reason::descriptor;
  // Without a cache, most calls that are not served cost few questions.
  if (!reads_all && (cache == nullptr || !cublas.lt_images.tell)) {
    if (!read_types(arguments, cublas, call)) return Reason::descriptor;
    if (const Reason types = why_types(call); types != Reason::none) return types;
  }
  const Reason reason = read_objects(arguments, cublas, cache, read);
  read.settings.splits_k = may_split(arguments, cublas);
  return reason;
}

}  // namespace bwgemm::dropin
