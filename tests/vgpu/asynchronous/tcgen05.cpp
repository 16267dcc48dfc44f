// SPDX-License-Identifier: Apache-2.0
#include "vgpu/asynchronous/tcgen05.h"

#include <cstring>

namespace bwgemm::vgpu {

// Each CTA holds half of the rows of a pair's A and D. All columns of 128 rows lie side by side; of
// fewer rows, other lanes take what is missing or, without .ws in one CTA, nobody does.
void MmaShape::place(std::uint32_t ctas, bool ws) {
  cta_rows = rows / ctas;
  if (cta_rows == TensorMemory::lanes) {
    blocks = {{0, cta_rows, 0, 0, columns}};
  } else if (ws || ctas == 2) {
    const std::uint32_t parts = TensorMemory::lanes / cta_rows, width = columns / parts;
    for (std::uint32_t i = 0; i < parts; ++i)
      blocks.push_back({0, cta_rows, i * cta_rows, i * width, width});
  } else {
    for (std::uint32_t i = 0; i < TensorMemory::quarters; ++i)
      blocks.push_back({i * 16, 16, i * warp_lanes, 0, columns});
  }
}

MmaShape MmaShape::from(std::uint32_t descriptor, Kind kind, std::uint32_t ctas, bool ws) {
  constexpr std::uint32_t unsupported = 0xe080004f;  // reserved, sparse, saturating, shifted
  MmaShape shape{};
  shape.rows = (descriptor >> 24 & 31) * 16;
  shape.columns = (descriptor >> 17 & 63) * 8;
  const std::uint32_t d = descriptor >> 4 & 3, a = descriptor >> 7 & 7, b = descriptor >> 10 & 7;
  static constexpr MmaElement firsts[] = {MmaElement::f16, MmaElement::tf32, MmaElement::e4m3};
  static constexpr std::uint32_t codes[] = {0, 2, 0}, counts[] = {2, 1, 2};
  const int k = static_cast<int>(kind);
  const auto element = [&](std::uint32_t code) {
    if (code - codes[k] >= counts[k])
      shape.error = "element type not of this kind, or not modelled";
    return static_cast<MmaElement>(static_cast<std::uint32_t>(firsts[k]) + code - codes[k]);
  };
  shape.a = element(a);
  shape.b = element(b);
  if (kind == Kind::f16 && a != b) shape.error = "A and B of different types";
  shape.negated = (descriptor >> 13 & 1) != (descriptor >> 14 & 1);
  shape.a_mn_major = descriptor >> 15 & 1;
  shape.b_mn_major = descriptor >> 16 & 1;
  if (descriptor & unsupported) shape.error = "bits of the instruction descriptor not modelled";
  if (d != 1) shape.error = "only f32 sums";
  const bool rows_exist = ws ? shape.rows == 32 || shape.rows == 64 || shape.rows == 128
                             : shape.rows == 64 * ctas || shape.rows == 128 * ctas;
  if (!rows_exist) shape.error = "illegal number of rows";
  const bool columns_exist =
      ws ? shape.columns == 64 || shape.columns == 128 || shape.columns == 256
         : shape.columns % (8 * ctas) == 0;
  if (shape.columns == 0 || !columns_exist || shape.columns > most_mma_columns)
    shape.error = "illegal number of columns";
  if (element_bytes(shape.b) == 1 && shape.b_mn_major && shape.columns % (16 * ctas) != 0)
    shape.error = "illegal number of columns of an MN-major B";
  if (!shape.error) shape.place(ctas, ws);
  return shape;
}

TensorPipe::TensorPipe(Simulation& simulation, Cta& first, Cta* second)
    : simulation_(simulation),
      first_(first),
      second_(second),
      entity_(first.cluster.new_entity(Cluster::EntityKind::tensor_pipe, first.rank, 0)),
      a_(TensorMemory::lanes * most_mma_depth),
      b_(most_mma_depth * most_mma_columns + most_columns_behind),
      rows_(TensorMemory::lanes) {}

void TensorPipe::push(const Multiplication& multiplication, const Warp& issuer,
                      const Instruction& instruction) {
  ++issued_;
  queue_.push_back(
      {false, multiplication, {}, &instruction, issued_, simulation_.cycle(), &issuer});
}

void TensorPipe::push(const Commit& commit, const Warp& issuer, const Instruction& instruction) {
  queue_.push_back({true, {}, commit, &instruction, issued_, simulation_.cycle(), &issuer});
}

Work TensorPipe::work() const {
  const Operation& operation = queue_.front();
  Work work{.kind = operation.is_commit ? Work::Kind::commit : Work::Kind::tensor_multiply,
            .cta = &first_,
            .peer = second_,
            .issuer = operation.issuer,
            .issued = operation.issued};
  work.rows = operation.multiplication.shape.rows;
  work.columns = operation.multiplication.shape.columns;
  return work;
}

void TensorPipe::check_exit(const Cta& cta) {
  if (&cta == &first_ || &cta == second_)
    simulation_.findings().fatal(
        "exited-peer", "CTA " + std::to_string(cta.index) + " exits while its tensor core works",
        queue_.front().instruction);
}

void TensorPipe::fetch_a(Cta& cta, const Multiplication& multiplication) {
  const MmaShape& shape = multiplication.shape;
  const std::uint32_t depth = shape.depth();
  if (multiplication.a_in_tensor_memory)
    for (std::uint32_t row = 0; row < shape.cta_rows; ++row)
      to_floats(
          shape.a,
          reinterpret_cast<const std::byte*>(cta.tensor.row(row) + (multiplication.a & 0xffff)),
          depth, &a_[row * depth]);
  else
    multiplication.operand_a().fetch(cta, shape.cta_rows, a_.data(), depth, 1);
  if (shape.negated)
    for (std::uint32_t i = 0; i < shape.cta_rows * depth; ++i) a_[i] = -a_[i];
}

// Each CTA holds its rows of A and of D, and its share of the columns of B.
void TensorPipe::run(const Multiplication& multiplication) {
  const MmaShape& shape = multiplication.shape;
  const std::uint32_t share = shape.columns / ctas(), depth = shape.depth();
  for (std::uint32_t half = 0; half < ctas(); ++half)
    multiplication.operand_b().fetch(cta(half), share, &b_[half * share], 1, most_mma_columns);
  for (std::uint32_t half = 0; half < ctas(); ++half) {
    fetch_a(cta(half), multiplication);
    for (const MmaShape::Block& block : shape.blocks) {
      float* d = cta(half).tensor.row(multiplication.first_lane + block.first_lane) +
                 multiplication.column;
      if (!multiplication.accumulate)
        for (std::uint32_t row = 0; row < block.rows; ++row)
          std::memset(d + row * TensorMemory::columns, 0, block.columns * sizeof(float));
      for (std::uint32_t row = 0; row < block.rows; ++row)
        rows_[row] = {d + row * TensorMemory::columns, &a_[(block.first_row + row) * depth]};
      // Assumed to add as wgmma does, so that results do not depend on the kind of kernel.
      multiply_add(hopper_accumulation(shape.b), shape.b, std::span(rows_).first(block.rows),
                   {&b_[block.first_column], most_mma_columns}, block.columns, depth);
    }
  }
}

// What a commit does in one CTA. It may be late: then others overtake it.
class TensorPipe::Arrival : public AsyncTask {
 public:
  Arrival(Simulation& simulation, const TensorPipe& pipe, const Operation& operation, Cta& cta)
      : simulation_(simulation),
        pipe_(pipe.entity()),
        number_(operation.number),
        view_(operation.commit.view),
        barrier_(operation.commit.barrier),
        is_remote_(&cta != operation.commit.issuer),
        cta_(cta),
        instruction_(operation.instruction) {
    view_.raise(pipe_, number_);
  }

  bool step() override {
    if (is_remote_) cta_.remote_accesses.raise(pipe_, number_);
    MBarrier& barrier = find_mbarrier(simulation_, cta_, barrier_, "tcgen05.commit", instruction_);
    arrive(simulation_, barrier, 1, &view_, instruction_);
    return false;
  }
  bool belongs_to(const Cluster& cluster) const override { return &cluster == &cta_.cluster; }
  void check_exit(const Cta& cta) override {
    if (&cta == &cta_)
      simulation_.findings().fatal("exited-peer",
                                   "CTA " + std::to_string(cta.index) +
                                       " exits before the arrival of a tcgen05.commit has come",
                                   instruction_);
  }
  Work work() const override { return {}; }

 private:
  Simulation& simulation_;
  Entity pipe_;
  std::uint32_t number_;
  View view_;
  std::uint32_t barrier_;
  bool is_remote_;
  Cta& cta_;
  const Instruction* instruction_;
};

void TensorPipe::run(const Operation& operation, const Commit& commit) {
  for_each_lane(commit.destinations, [&](int rank) {
    auto arrival = std::make_shared<Arrival>(simulation_, *this, operation,
                                             *first_.cluster.ctas[static_cast<std::size_t>(rank)]);
    if (simulation_.options().adversarial && simulation_.chance(0.5))
      simulation_.schedule(arrival);
    else
      arrival->step();
  });
}

bool TensorPipe::step() {
  const Operation operation = std::move(queue_.front());
  queue_.pop_front();
  if (operation.is_commit)
    run(operation, operation.commit);
  else if (!simulation_.is_timed())
    run(operation.multiplication);
  return !queue_.empty();
}

}  // namespace bwgemm::vgpu
