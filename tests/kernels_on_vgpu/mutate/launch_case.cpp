// SPDX-License-Identifier: Apache-2.0
#include "kernels_on_vgpu/mutate/launch_case.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/error.h"
#include "families/registry.h"
#include "families/variants.h"
#include "gpu/fused_problems.h"
#include "gpu/mixed_operands.h"
#include "select/select.h"
#include "vgpu/driver/tensor_map_check.h"

namespace bwgemm::vgpu::mutate {
namespace {

using test::GemmCase;
using test::Matrix;
using test::RowProblem;

constexpr std::size_t guard = 8192;
constexpr std::size_t most_workspace = std::size_t{64} << 20;

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill oob_fill) {
  const driver::TensorMapArguments arguments{type,    rank,      address,         dims,
                                             strides, box,       element_strides, interleave,
                                             swizzle, promotion, oob_fill};
  if (driver::broken_rule(arguments) != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto fields = driver::fields_of(arguments);
  if (!fields) return CUDA_ERROR_NOT_SUPPORTED;
  const TensorMapBytes bytes = encode(*fields);
  static_assert(sizeof *map == sizeof bytes);
  std::memcpy(map, bytes.data(), sizeof bytes);
  return CUDA_SUCCESS;
}

std::int64_t leading_dimension(const GemmCase& gemm, std::int64_t rows, std::int64_t extra) {
  const std::int64_t least = std::max<std::int64_t>(rows, 1) + extra;
  return (least + gemm.ld_multiple - 1) / gemm.ld_multiple * gemm.ld_multiple;
}

Matrix operand(const GemmCase& gemm, bool is_transposed, std::int64_t rows, std::int64_t columns,
               std::int64_t extra, bool repeat, std::uint64_t seed) {
  if (is_transposed) std::swap(rows, columns);
  const std::int64_t ld = leading_dimension(gemm, rows, extra);
  Matrix matrix(gemm.input, rows, columns, ld, repeat ? 1 : gemm.batch,
                repeat ? 0 : ld * columns + gemm.stride_extra);
  fill_matrix(matrix, test::Fill::integers, seed);
  return matrix;
}

DeviceFacts facts_of(const KernelConfig& row) {
  return row.arch == Arch::sm90 ? nominal_h200 : nominal_b200;
}

std::string described(const RowProblem& problem) {
  std::ostringstream text;
  const GemmCase& gemm = problem.gemm;
  text << gemm.m << 'x' << gemm.n << 'x' << gemm.k << ' ' << name(gemm.input) << "->"
       << name(gemm.output) << " batch " << gemm.batch << " alpha " << gemm.alpha << " beta "
       << gemm.beta
       << (problem.splits == test::Splits::none        ? ""
           : problem.splits == test::Splits::in_memory ? " split"
                                                       : " split in clusters")
       << (problem.device_scalars ? " device scalars" : "");
  if (problem.tile_n != 0) text << " tile " << problem.tile_n;
  if (problem.raster != Raster::grouped) text << ' ' << name(problem.raster);
  if (problem.fusing) {
    const test::Fusing& fusing = *problem.fusing;
    text << " activation " << fusing.activation << " gate " << fusing.gate << " aux " << fusing.aux;
    if (fusing.bias != test::Bias::none) text << " bias";
    if (fusing.pointer_array) text << " pointers";
  }
  return text.str();
}

Arguments given(const CallArguments& call) {
  const bwgemmMatmulDesc_t& desc = call.desc;
  Arguments arguments =
      matmul_arguments(&desc, call.alpha, call.a, call.b, call.beta, call.c, call.d);
  arguments.is_gemm = call.is_gemm;
  return arguments;
}

}  // namespace

std::uint64_t LaunchCase::add(GlobalMemory& layout, Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  return layout.allocate(buffers_.back().image.size());
}

std::uint64_t LaunchCase::add_matrix(GlobalMemory& layout, const Matrix& matrix,
                                     std::int64_t displacement, bool is_initialised) {
  const auto element = static_cast<std::size_t>(size_bytes(matrix.type()));
  const std::size_t start = guard + static_cast<std::size_t>(displacement) * element;
  Buffer buffer{std::vector<std::byte>(start + matrix.bytes().size() + guard), {}, true};
  test::fill_with_poison(buffer.image.data(), buffer.image.size());
  std::copy(matrix.bytes().begin(), matrix.bytes().end(),
            buffer.image.begin() + static_cast<std::ptrdiff_t>(start));
  if (!is_initialised) return add(layout, std::move(buffer)) + start;
  // Kernels of any alignment read whole units of memory, whatever of them a line has.
  constexpr std::size_t unit = 16;
  for (std::int64_t batch = 0; batch < matrix.batch(); ++batch)
    for (std::int64_t column = 0; column < matrix.columns() && matrix.rows() > 0; ++column) {
      const std::size_t first =
          start + static_cast<std::size_t>(matrix.at(0, column, batch) - matrix.bytes().data());
      const std::size_t end = first + static_cast<std::size_t>(matrix.rows()) * element;
      buffer.initialised.push_back(
          {first / unit * unit, (end + unit - 1) / unit * unit - first / unit * unit});
    }
  return add(layout, std::move(buffer)) + start;
}

std::uint64_t LaunchCase::add_array(GlobalMemory& layout, const void* elements, std::size_t bytes) {
  Buffer buffer{
      std::vector<std::byte>(guard + bytes + guard, Allocation::poison), {{guard, bytes}}, true};
  std::memcpy(&buffer.image[guard], elements, bytes);
  return add(layout, std::move(buffer)) + guard;
}

// One for each batch, behind one another.
std::uint64_t LaunchCase::add_vector(GlobalMemory& layout, Dtype type, std::int64_t elements,
                                     const GemmCase& gemm, std::uint64_t seed) {
  Matrix vector(type, elements, 1, elements, gemm.batch, elements);
  fill_matrix(vector, test::Fill::normal, seed);
  return add_array(layout, vector.bytes().data(), vector.bytes().size());
}

std::uint64_t LaunchCase::add_scratch(GlobalMemory& layout, std::size_t bytes, bool is_zero) {
  Buffer buffer{std::vector<std::byte>(bytes), {}, is_zero};
  if (is_zero)
    buffer.initialised.push_back({0, bytes});
  else
    std::fill(buffer.image.begin(), buffer.image.end(), Allocation::poison);
  return add(layout, std::move(buffer));
}

// What bwgemmMatmul would be given, or bwgemmGemmEx where nothing is fused.
CallArguments LaunchCase::add_operands(GlobalMemory& layout, const KernelConfig& row,
                                       const RowProblem& problem) {
  const GemmCase& gemm = problem.gemm;
  const bool ta = gemm.transa != BWGEMM_OP_N, tb = gemm.transb != BWGEMM_OP_N;
  const bool has_gate = problem.fusing && problem.fusing->gate != BWGEMM_GATE_NONE;
  const Matrix a = operand(gemm, ta, gemm.m, gemm.k, gemm.lda_extra, gemm.repeat_a, 3 * gemm.seed);
  const Matrix b =
      operand(gemm, tb, gemm.k, gemm.n, gemm.ldb_extra, gemm.repeat_b, 3 * gemm.seed + 1);
  Matrix d = operand(gemm, false, has_gate ? gemm.m / 2 : gemm.m, gemm.n, gemm.ldc_extra, false,
                     3 * gemm.seed + 2);
  d = Matrix(gemm.output, d.rows(), d.columns(), d.ld(), d.batch(), d.stride());
  if (gemm.fill_c != test::Fill::poison) fill_matrix(d, test::Fill::integers, 3 * gemm.seed + 2);

  CallArguments arguments{};
  bwgemmMatmulDesc_t& desc = arguments.desc = BWGEMM_MATMUL_DESC_INIT;
  desc.transa = gemm.transa, desc.transb = gemm.transb;
  desc.m = gemm.m, desc.n = gemm.n, desc.k = gemm.k;
  desc.Atype = desc.Btype = test::c_type(gemm.input);
  desc.Ctype = desc.Dtype = test::c_type(gemm.output);
  desc.lda = a.ld(), desc.ldb = b.ld(), desc.ldc = desc.ldd = d.ld();
  desc.strideA = a.stride(), desc.strideB = b.stride(), desc.strideC = desc.strideD = d.stride();
  desc.batchCount = gemm.batch;
  arguments.alpha = &gemm.alpha, arguments.beta = &gemm.beta;
  arguments.a = reinterpret_cast<const void*>(add_matrix(layout, a, gemm.a_displacement));
  arguments.b = reinterpret_cast<const void*>(add_matrix(layout, b, gemm.b_displacement));
  const bool is_read = gemm.beta != 0 && !(problem.fusing && problem.fusing->c_apart);
  arguments.d = reinterpret_cast<void*>(add_matrix(layout, d, gemm.c_displacement, is_read));
  arguments.c = arguments.d;
  arguments.is_gemm = !problem.fusing;
  if (problem.fusing) add_fused(layout, problem, arguments);
  if (!problem.device_scalars) return arguments;
  const float scalars[] = {gemm.alpha, gemm.beta};
  const std::uint64_t address = add_array(layout, scalars, sizeof scalars);
  arguments.alpha = reinterpret_cast<const void*>(address);
  arguments.beta = sm90::parts_of(row).takes_matrices
                       ? reinterpret_cast<const void*>(address + sizeof(float))
                       : nullptr;
  return arguments;
}

void LaunchCase::add_fused(GlobalMemory& layout, const RowProblem& problem,
                           CallArguments& arguments) {
  const GemmCase& gemm = problem.gemm;
  const test::Fusing& fusing = *problem.fusing;
  bwgemmMatmulDesc_t& desc = arguments.desc;
  const std::uint64_t seed = 100 * gemm.seed;
  if (fusing.c_apart) {
    const std::int64_t ld = leading_dimension(gemm, gemm.m, 0);
    Matrix c(fusing.c, gemm.m, gemm.n, ld, gemm.batch, ld * gemm.n);
    fill_matrix(c, test::Fill::normal, seed + 1);
    desc.Ctype = test::c_type(fusing.c);
    desc.ldc = ld, desc.strideC = c.stride();
    arguments.c = reinterpret_cast<const void*>(add_matrix(layout, c, fusing.c_displacement));
  }
  desc.activation = fusing.activation;
  desc.gate = fusing.gate;
  if (fusing.bias != test::Bias::none) {
    const bool is_along_n = fusing.bias == test::Bias::along_n;
    desc.biasDim = is_along_n ? BWGEMM_DIM_N : BWGEMM_DIM_M;
    desc.biasType = test::c_type(fusing.bias_type);
    desc.strideBias = is_along_n ? gemm.n : gemm.m;
    desc.bias = reinterpret_cast<const void*>(
        add_vector(layout, fusing.bias_type, desc.strideBias, gemm, seed + 2));
  }
  const auto scale = [&](std::int64_t elements, std::uint64_t number) {
    return reinterpret_cast<const float*>(
        add_vector(layout, Dtype::f32, elements, gemm, seed + number));
  };
  if (fusing.row_scale) desc.rowScale = scale(desc.strideRowScale = gemm.m, 3);
  if (fusing.column_scale) desc.columnScale = scale(desc.strideColumnScale = gemm.n, 4);
  if (fusing.aux != BWGEMM_AUX_NONE) {
    desc.auxMode = fusing.aux;
    desc.auxType = test::c_type(fusing.aux_type);
    desc.ldaux = leading_dimension(gemm, gemm.m, fusing.aux_extra);
    desc.strideAux = desc.ldaux * gemm.n;
    Matrix aux(fusing.aux_type, gemm.m, gemm.n, desc.ldaux, gemm.batch, desc.strideAux);
    if (fusing.aux == BWGEMM_AUX_DERIVATIVE) fill_matrix(aux, test::Fill::normal, seed + 5);
    desc.aux = reinterpret_cast<void*>(
        add_matrix(layout, aux, fusing.aux_displacement, fusing.aux == BWGEMM_AUX_DERIVATIVE));
  }
  if (fusing.pointer_array) add_pointers(layout, arguments);
}

// Arrays of pointers to where the batches lie, in their place.
void LaunchCase::add_pointers(GlobalMemory& layout, CallArguments& arguments) {
  bwgemmMatmulDesc_t& desc = arguments.desc;
  desc.batchMode = BWGEMM_BATCH_MODE_POINTER_ARRAY;
  const auto array_of = [&](const void* first, std::int64_t stride, std::int32_t type) {
    const std::int64_t step = stride * (type == BWGEMM_R_32F ? 4 : 2);
    std::vector<std::uint64_t> pointers;
    for (std::int64_t batch = 0; batch < desc.batchCount; ++batch)
      pointers.push_back(reinterpret_cast<std::uint64_t>(first) +
                         static_cast<std::uint64_t>(batch * step));
    return reinterpret_cast<void*>(
        add_array(layout, pointers.data(), pointers.size() * sizeof pointers[0]));
  };
  const bool is_apart = arguments.c != arguments.d;
  arguments.a = array_of(arguments.a, desc.strideA, desc.Atype);
  arguments.b = array_of(arguments.b, desc.strideB, desc.Btype);
  arguments.d = array_of(arguments.d, desc.strideD, desc.Dtype);
  arguments.c = is_apart ? array_of(arguments.c, desc.strideC, desc.Ctype) : arguments.d;
}

std::optional<LaunchCase> LaunchCase::make(const KernelConfig& row, const RowProblem& problem,
                                           const Variation& variation) {
  LaunchCase made;
  made.name_ = described(problem);
  if (variation.twice) made.name_ += " twice";
  if (variation.clusters > 0)
    made.name_.append(" on ").append(std::to_string(variation.clusters)).append(" clusters");
  made.twice_ = variation.twice;
  GlobalMemory layout;
  CallArguments arguments = made.add_operands(layout, row, problem);
  if (variation.twice) arguments.c = arguments.d = const_cast<void*>(arguments.a);
  try {
    const ValidProblem valid =
        validated(given(arguments),
                  problem.device_scalars ? BWGEMM_POINTER_MODE_DEVICE : BWGEMM_POINTER_MODE_HOST);
    const KernelName kernel = kernel_name(row);
    ProductContext context{facts_of(row), problem.clusters * row.cluster.size(), 0, 0, 0};
    context.resident_clusters = context.facts.sm_count / row.cluster.size() * row.ctas_per_sm;
    context.lets_next_start = problem.gemm.m % 2 == 0;  // both ways, over all problems
    SelectOptions options{};
    options.forced.kernel = kernel.view();
    options.forced.splits = test::forced_splits(row, problem.splits);
    options.forced.reduction = problem.splits == test::Splits::in_cluster
                                   ? SplitReduction::cluster
                                   : SplitReduction::workspace;
    options.forced.tile_n = problem.tile_n;
    options.forced.raster = problem.raster;
    options.sm_count_target = context.sm_limit;
    options.workspace_bytes = most_workspace;
    const Choice choice = select(valid, context.facts, kernel_variants, options);
    context.resident_split_clusters = context.facts.sm_count / choice.splits;
    const Values base = values_of(valid, false);
    Part part;
    add_product(valid, provenance(valid, false), base, row, choice, context, part);
    Values values = base;
    if (choice.splits > 1) {
      values[Argument::workspace] =
          made.add_scratch(layout, workspace_bytes(valid, row, choice), false);
      values[Argument::counters] =
          made.add_scratch(layout, arrival_count(row, choice) * sizeof(std::uint32_t), true);
    }
    TensorMapCache maps(encode_tiled);
    part.move_to(values, maps);
    const Step& step = part.steps()[0];
    made.request_.kernel = kernel.view();
    made.request_.grid = {static_cast<std::uint32_t>(
        variation.clusters > 0 ? std::min(step.grid, variation.clusters * step.cluster)
                               : step.grid)};
    made.request_.block = {static_cast<std::uint32_t>(step.threads)};
    made.request_.cluster_size = static_cast<std::uint32_t>(step.cluster);
    made.request_.dynamic_shared_bytes = static_cast<std::uint32_t>(step.smem_bytes);
    made.request_.parameters.resize(part.bytes());
    std::memcpy(made.request_.parameters.data(), part.params(), part.bytes());
  } catch (const Error& error) {
    if (error.status() == BWGEMM_STATUS_NOT_SUPPORTED) return std::nullopt;
    throw;
  }
  return made;
}

LaunchCase::Outcome LaunchCase::run(const std::shared_ptr<const Module>& module,
                                    const Schedule& schedule, const RunOptions& options) const {
  GlobalMemory memory;
  std::vector<std::uint64_t> addresses;
  for (const Buffer& buffer : buffers_) {
    const std::uint64_t address = addresses.emplace_back(memory.allocate(buffer.image.size()));
    std::copy(buffer.image.begin(), buffer.image.end(),
              static_cast<std::byte*>(memory.host(address, buffer.image.size())));
    for (const Span& span : buffer.initialised)
      memory.mark_initialised(address + span.offset, span.bytes);
  }
  Grid grid{request_, options};
  grid.request.module = module;
  grid.request.seed = schedule.seed;
  const KernelInfo* info = module->find(request_.kernel);
  if (info != nullptr) grid.request.parameters.resize(info->parameter_bytes);
  grid.options.adversarial = schedule.is_adversarial;
  grid.options.impatient_line = schedule.impatient_line;
  grid.options.concurrent_ctas = std::max(options.concurrent_ctas, request_.cluster_size);
  Outcome outcome;
  for (const auto& findings : run_dependent(std::vector<Grid>(twice_ ? 2 : 1, grid), memory))
    outcome.findings.insert(outcome.findings.end(), findings.begin(), findings.end());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].is_compared) continue;
    const std::size_t bytes = buffers_[i].image.size();
    const auto* host = static_cast<const std::byte*>(memory.host(addresses[i], bytes));
    outcome.memory.emplace_back(host, host + bytes);
  }
  return outcome;
}

// ---- the set -----------------------------------------------------------------------------------

namespace {

// The least that the row asks of its operands.
test::Memory memory_of(const KernelConfig& row) {
  using test::Memory;
  for (const Memory memory : {Memory::any, Memory::operand_lines, Memory::lines}) {
    RowProblem probe{
        test::gemm_of(row, 1, 9, 16, test::majors(row.a).front(), test::majors(row.b).front())};
    probe.gemm.input = probe.gemm.output = test::inputs(row.mma).front();
    const bool any = memory == Memory::any;
    probe.gemm.a_displacement = any ? 1 : 0;
    probe.gemm.c_displacement = memory == Memory::operand_lines ? 1 : 0;
    auto to_unit = [any](std::int64_t rows) { return any ? 0 : (8 - rows % 8) % 8; };
    probe.gemm.lda_extra = to_unit(probe.gemm.transa == BWGEMM_OP_N ? probe.gemm.m : probe.gemm.k);
    probe.gemm.ldb_extra = to_unit(probe.gemm.transb == BWGEMM_OP_N ? probe.gemm.k : probe.gemm.n);
    probe.gemm.ldc_extra = to_unit(probe.gemm.m);
    if (LaunchCase::make(row, probe)) return memory;
  }
  return Memory::units;
}

// As the suite on devices does it: batches repeat, or the problem is cut to one tile, where the row
// does not serve it otherwise.
std::optional<LaunchCase> served(const KernelConfig& row, RowProblem problem,
                                 const Variation& variation) {
  if (auto made = LaunchCase::make(row, problem, variation)) return made;
  if (problem.gemm.batch > 1) {
    problem.gemm.repeat_a = problem.gemm.repeat_b = true;
    if (auto made = LaunchCase::make(row, problem, variation)) return made;
  }
  const std::int64_t tile_n = row.tile.n != 0 ? row.tile.n : problem.gemm.m;
  const bool by_columns = row.swaps_ab;
  problem.gemm.m = std::min<std::int64_t>(problem.gemm.m, by_columns ? row.tile.m : tile_n);
  problem.gemm.n = std::min<std::int64_t>(problem.gemm.n, by_columns ? tile_n : row.tile.m);
  return LaunchCase::make(row, problem, variation);
}

// One small tile, 18 rounds of the ring: a barrier that miscounts one of 16 arrivals a round is a
// phase ahead at the end.
RowProblem many_rounds(const KernelConfig& row) {
  constexpr int rounds = 18;
  constexpr int most = 10;  // where the launch chooses
  const int stages = row.stages > 0 ? row.stages : most;
  RowProblem problem{test::gemm_of(row, 8, 8, std::int64_t{rounds} * stages * row.tile.k,
                                   test::majors(row.a).front(), test::majors(row.b).front())};
  problem.gemm.input = problem.gemm.output = test::inputs(row.mma).front();
  return problem;
}

// Of a dot kernel: activations so long that every thread stages as many units as it has registers
// for, and ends of k behind a unit in each stage of a warp. Nothing of other rows.
std::vector<RowProblem> long_rows(const KernelConfig& row) {
  std::vector<RowProblem> problems;
  if (row.family != Family::dot) return problems;
  const auto add = [&](std::int64_t k) {
    test::GemmCase gemm =
        test::gemm_of(row, row.tile.m, row.tile.n, k, Major::k, test::majors(row.b).front());
    gemm.input = gemm.output = test::inputs(row.mma).front();
    gemm.ld_multiple = 8;
    gemm.seed = problems.size() + 1;
    problems.push_back({.gemm = gemm, .clusters = 1});  // where k is not split
  };
  constexpr int units = 8, unit = 8, stage = 32;
  add(std::int64_t{32} * dot::teams_of(row).warps * units * unit / row.tile.m);
  for (int k = 2 * unit - 1; k < dot::teams_of(row).positions; k += stage) add(k);
  return problems;
}

// Two batches, each operand of which is where a pointer says.
RowProblem pointer_arrays(const KernelConfig& row) {
  RowProblem problem = test::fused_problems(row).front();
  problem.gemm.batch = 2;
  problem.fusing.emplace();
  problem.fusing->pointer_array = true;
  return problem;
}

}  // namespace

std::vector<LaunchCase> cases_of(const KernelConfig& row) {
  std::vector<LaunchCase> cases;
  const auto add = [&](const RowProblem& problem, const Variation& variation = {}) {
    if (auto made = served(row, problem, variation)) cases.push_back(std::move(*made));
  };
  const test::Memory memory = memory_of(row);
  for (const RowProblem& problem : test::covering_problems(row, memory)) {
    add(problem);
    // With one tile a cluster, fewer clusters are none that the library launches.
    if (problem.splits != test::Splits::in_memory ||
        row.choices.schedule == bwgemm::Schedule::one_tile)
      continue;
    for (const int clusters : {1, 2}) add(problem, {.clusters = clusters});
    test::RowProblem two_tiles = problem;
    two_tiles.gemm.m *= 3;  // where two CTAs of a cluster share them, too
    add(two_tiles, {.clusters = 1});
    test::RowProblem few = problem;  // splits that are empty, one right behind the other
    few.gemm.k = std::int64_t{test::forced_splits(row, problem.splits) + 1} * row.tile.k;
    add(few, {.clusters = 1});
  }
  // A D that starts anywhere goes with no C, not even with one that beta, in memory, may ask for.
  if (memory == test::Memory::operand_lines)
    for (const RowProblem& problem : test::covering_problems(row, test::Memory::units))
      if (problem.device_scalars) add(problem);
  for (RowProblem problem : test::fused_problems(row)) {
    // Gates have loads of their own, which step along k, and come to slots again.
    if (problem.fusing->gate != BWGEMM_GATE_NONE)
      problem.gemm.k += std::int64_t{std::max(row.stages, 2)} * row.tile.k;
    add(problem);
    // Several tiles, so that staging buffers come again.
    if (row.store == Store::elements || problem.gemm.beta != 2) continue;
    problem.gemm.n *= 3;
    add(problem);
  }
  for (const RowProblem& problem : long_rows(row)) add(problem);
  if (is_unmapped(row) && row.family != Family::dot && row.load == Load::threads)
    add(pointer_arrays(row));
  if (row.family == Family::direct)
    for (const test::GemmCase& gemm : test::mixed_operands()) add({.gemm = gemm});
  const std::vector<RowProblem> edges = test::edge_problems(row, memory);
  for (const RowProblem& edge : edges) add(edge);
  add(edges.front(), {.twice = true});  // of one element, A and D: the second needs the first
  add(many_rounds(row));
  return cases;
}

}  // namespace bwgemm::vgpu::mutate
