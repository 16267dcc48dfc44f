// SPDX-License-Identifier: Apache-2.0
#include "vgpu/tcgen05.h"

#include <cstring>

namespace bwgemm::vgpu {

MmaShape MmaShape::from(std::uint32_t descriptor, std::uint32_t ctas) {
  constexpr std::uint32_t unsupported = 0xe080604f;  // reserved, sparse, saturating, negated
  MmaShape shape{};
  shape.rows = (descriptor >> 24 & 31) * 16;
  shape.columns = (descriptor >> 17 & 63) * 8;
  const std::uint32_t d = descriptor >> 4 & 3, a = descriptor >> 7 & 7, b = descriptor >> 10 & 7;
  shape.f16 = a == 0;
  shape.a_mn_major = descriptor >> 15 & 1;
  shape.b_mn_major = descriptor >> 16 & 1;
  if (descriptor & unsupported) shape.error = "bits of the instruction descriptor not modelled";
  if (d != 1 || a > 1 || b != a) shape.error = "only bf16 or f16 inputs with f32 sums";
  if (shape.rows != TensorMemory::lanes * ctas) shape.error = "only 128 rows per CTA";
  if (shape.columns == 0 || shape.columns % 16 != 0 || shape.columns > most_mma_columns)
    shape.error = "illegal number of columns";
  return shape;
}

TensorPipe::TensorPipe(Simulation& simulation, Cta& first, Cta* second)
    : simulation_(simulation),
      first_(first),
      second_(second),
      entity_(first.cluster.new_entity(Cluster::EntityKind::tensor_pipe, first.rank, 0)),
      a_(TensorMemory::lanes * mma_depth),
      b_(mma_depth * most_mma_columns) {}

void TensorPipe::push(const Multiplication& multiplication, const Instruction& instruction) {
  ++issued_;
  queue_.push_back({false, multiplication, {}, &instruction, issued_});
}

void TensorPipe::push(const Commit& commit, const Instruction& instruction) {
  queue_.push_back({true, {}, commit, &instruction, issued_});
}

void TensorPipe::check_exit(const Cta& cta) {
  if (&cta == &first_ || &cta == second_)
    simulation_.findings().fatal(
        "exited-peer", "CTA " + std::to_string(cta.index) + " exits while its tensor core works",
        queue_.front().instruction);
}

// Each CTA holds its rows of A and of D, and its share of the columns of B.
void TensorPipe::run(const Multiplication& multiplication) {
  const MmaShape& shape = multiplication.shape;
  const auto a = MatrixOperand::of_tcgen05(multiplication.a, shape.a_mn_major, shape.f16);
  const auto b = MatrixOperand::of_tcgen05(multiplication.b, shape.b_mn_major, shape.f16);
  const std::uint32_t share = shape.columns / ctas();
  for (std::uint32_t half = 0; half < ctas(); ++half)
    b.fetch(cta(half), share, &b_[half * share], 1, most_mma_columns);
  for (std::uint32_t half = 0; half < ctas(); ++half) {
    a.fetch(cta(half), TensorMemory::lanes, a_.data(), mma_depth, 1);
    float* d = cta(half).tensor.row(0) + multiplication.column;
    if (!multiplication.accumulate)
      for (std::uint32_t lane = 0; lane < TensorMemory::lanes; ++lane)
        std::memset(d + lane * TensorMemory::columns, 0, shape.columns * sizeof(float));
    multiply_add(d, TensorMemory::columns, a_.data(), b_.data(), TensorMemory::lanes,
                 shape.columns);
  }
}

void TensorPipe::run(const Operation& operation, const Commit& commit) {
  View view = commit.view;
  view.raise(entity_, operation.number);
  for_each_lane(commit.destinations, [&](int rank) {
    Cta& cta = *first_.cluster.ctas[rank];
    if (&cta != commit.issuer) cta.remote_accesses.raise(entity_, operation.number);
    MBarrier& barrier =
        find_mbarrier(simulation_, cta, commit.barrier, "tcgen05.commit", operation.instruction);
    arrive(simulation_, barrier, 1, &view, operation.instruction);
  });
}

bool TensorPipe::step() {
  const Operation operation = std::move(queue_.front());
  queue_.pop_front();
  if (operation.is_commit)
    run(operation, operation.commit);
  else
    run(operation.multiplication);
  return !queue_.empty();
}

}  // namespace bwgemm::vgpu
