// SPDX-License-Identifier: Apache-2.0
// TensorPipe: the tensor core of a CTA, or of a CTA pair. It runs multiplications and commits in
// the order of their issue, and touches operands and tensor memory when it runs them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "vgpu/asynchronous/matrix_operand.h"
#include "vgpu/machine/simulation.h"

namespace bwgemm::vgpu {

// An address in tensor memory: the lane, and behind it the column.
inline constexpr std::uint32_t lane_shift = 16, column_mask = 0xffff;

// The fields of an instruction descriptor, and where the rows and columns of D lie.
struct MmaShape {
  enum class Kind : std::uint8_t { f16, tf32, f8f6f4 };

  // Rows of D, and columns of them, that lie together in tensor memory.
  struct Block {
    std::uint32_t first_row, rows, first_lane, first_column, columns;
  };

  std::uint32_t rows, columns;  // of the whole instruction, both CTAs
  std::uint32_t cta_rows;       // of A and D in each CTA
  MmaElement a, b;
  bool a_mn_major, b_mn_major, negated;
  std::vector<Block> blocks;  // of each CTA's part of D
  const char* error;          // what is illegal or not modelled

  static MmaShape from(std::uint32_t descriptor, Kind kind, std::uint32_t ctas, bool ws);
  std::uint32_t tensor_columns() const { return blocks.front().columns; }
  std::uint32_t depth() const { return mma_depth(a); }

 private:
  void place(std::uint32_t ctas, bool ws);
};

class Decoder;

class TensorPipe : public AsyncTask {
 public:
  TensorPipe(Simulation& simulation, Cta& first, Cta* second);

  struct Multiplication {
    MmaShape shape;
    std::uint64_t a, b;  // descriptors; a: a tensor memory address, if it lies there
    bool a_in_tensor_memory;
    std::uint32_t column, first_lane;
    bool accumulate;

    MatrixOperand operand_a() const {
      return MatrixOperand::of_tcgen05(a, shape.a_mn_major, shape.a);
    }
    MatrixOperand operand_b() const {
      return MatrixOperand::of_tcgen05(b, shape.b_mn_major, shape.b);
    }
  };
  struct Commit {
    std::uint32_t barrier, destinations;  // offset; a bit per rank
    View view;                            // what the committed operations come after
    Cta* issuer;
  };

  Entity entity() const { return entity_; }
  // Numbers of multiplications, from 1.
  std::uint32_t next_number() const { return issued_ + 1; }
  std::uint32_t issued() const { return issued_; }
  Work work() const override;
  void push(const Multiplication& multiplication, const Warp& issuer,
            const Instruction& instruction);
  void push(const Commit& commit, const Warp& issuer, const Instruction& instruction);
  std::uint32_t ctas() const { return second_ ? 2 : 1; }
  Cta& cta(std::uint32_t half) { return half ? *second_ : first_; }

  bool step() override;
  bool belongs_to(const Cluster& cluster) const override { return &cluster == &first_.cluster; }
  void check_exit(const Cta& cta) override;

 private:
  struct Operation {
    bool is_commit;
    Multiplication multiplication;
    Commit commit;
    const Instruction* instruction;
    std::uint32_t number;  // of the last multiplication so far
    double issued;         // cycle, where time is simulated
    const Warp* issuer;
  };
  class Arrival;

  void run(const Multiplication& multiplication);
  void fetch_a(Cta& cta, const Multiplication& multiplication);
  void run(const Operation& operation, const Commit& commit);

  Simulation& simulation_;
  Cta& first_;
  Cta* second_;
  Entity entity_;
  std::uint32_t issued_ = 0;
  std::deque<Operation> queue_;
  std::vector<float> a_, b_;
  std::vector<RowOfSums> rows_;
};

// What a missing order around tensor memory is: without the fences it is strict, if all else is
// there.
void report_tensor_race(Warp& warp, const Instruction& instruction, int lane, Entity before,
                        Time at, const std::string& text);
// tensor_allocation.cpp
enum class TensorAllocation { alloc, dealloc, relinquish };
void decode_tensor_allocation(Decoder& decoder, TensorAllocation action);
// tcgen05_multiply.cpp
void decode_tensor_multiply(Decoder& decoder);
void decode_tensor_commit(Decoder& decoder);

}  // namespace bwgemm::vgpu
