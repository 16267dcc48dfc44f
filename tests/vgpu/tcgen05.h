// SPDX-License-Identifier: Apache-2.0
// TensorPipe: the tensor core of a CTA, or of a CTA pair. It runs multiplications and commits in
// the order of their issue, and touches operands and tensor memory when it runs them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "vgpu/matrix_operand.h"
#include "vgpu/simulation.h"

namespace bwgemm::vgpu {

// The fields of an instruction descriptor for kind::f16.
struct MmaShape {
  std::uint32_t rows, columns;  // of the whole instruction, both CTAs
  bool f16, a_mn_major, b_mn_major;
  const char* error;  // what is illegal or not modelled

  static MmaShape from(std::uint32_t descriptor, std::uint32_t ctas);
};

class TensorPipe : public AsyncTask {
 public:
  TensorPipe(Simulation& simulation, Cta& first, Cta* second);

  struct Multiplication {
    MmaShape shape;
    std::uint64_t a, b;  // descriptors
    std::uint32_t column;
    bool accumulate;
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
  void push(const Multiplication& multiplication, const Instruction& instruction);
  void push(const Commit& commit, const Instruction& instruction);
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
  };
  void run(const Multiplication& multiplication);
  void run(const Operation& operation, const Commit& commit);

  Simulation& simulation_;
  Cta& first_;
  Cta* second_;
  Entity entity_;
  std::uint32_t issued_ = 0;
  std::deque<Operation> queue_;
  std::vector<float> a_, b_;
};

}  // namespace bwgemm::vgpu
