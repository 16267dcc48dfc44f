// SPDX-License-Identifier: Apache-2.0
// wgmma. Completion is collective: an operation is done for all four warps at once, and the wait of
// one warp proves the others' part. Accumulator registers hold poison from the issue of an
// operation until the wait that covers the last one on them.
#include "vgpu/wgmma.h"

#include <algorithm>
#include <cstring>

#include "vgpu/decoder.h"
#include "vgpu/matrix_operand.h"

namespace bwgemm::vgpu {
namespace {

enum WgmmaForm : std::uint32_t { a_mn_major = 1, b_mn_major = 2, inputs_f16 = 4 };
constexpr std::uint32_t rows_per_group = 64, rows_per_warp = 16;

MatrixOperand operand_a(const WgmmaOperation& operation) {
  return MatrixOperand::of_wgmma(operation.a, operation.form & a_mn_major,
                                 operation.form & inputs_f16);
}
MatrixOperand operand_b(const WgmmaOperation& operation) {
  return MatrixOperand::of_wgmma(operation.b, operation.form & b_mn_major,
                                 operation.form & inputs_f16);
}

// Register r of lane l holds element (row, column) of the warp's 16 rows.
std::uint32_t element_of(std::uint32_t r, std::uint32_t lane) {
  const std::uint32_t row = lane / 4 + (r / 2 % 2) * 8, column = r / 4 * 8 + lane % 4 * 2 + r % 2;
  return row * most_mma_columns + column;
}

class WgmmaTask : public AsyncTask {
 public:
  WgmmaTask(Simulation& simulation, Warpgroup& group) : simulation_(simulation), group_(group) {}

  bool step() override {
    const Warpgroup::Pending pending = group_.queue.front();
    group_.queue.pop_front();
    const WgmmaOperation& operation = pending.operation;
    float a[rows_per_group * mma_depth];
    operand_a(operation).fetch(group_.cta, rows_per_group, a, mma_depth, 1);
    operand_b(operation).fetch(group_.cta, operation.n, b_, 1, most_mma_columns);
    for (std::uint32_t i = 0; i < Warpgroup::warps; ++i)
      accumulate(*group_.cta.warps[group_.first_warp + i], pending.accumulators[i], operation,
                 a + i * rows_per_warp * mma_depth);
    group_.done = pending.number;
    simulation_.wake_all(group_.sleepers);
    return group_.can_run();
  }
  bool belongs_to(const Cluster& cluster) const override { return &group_.cta.cluster == &cluster; }

 private:
  void accumulate(Warp& warp, std::uint32_t first_register, const WgmmaOperation& operation,
                  const float* a) {
    const auto& lists = simulation_.program().lists;
    const auto accumulator = std::find_if(warp.accumulators.begin(), warp.accumulators.end(),
                                          [&](const WgmmaAccumulator& other) {
                                            return lists[other.list][0].offset == first_register;
                                          });
    std::vector<float>& values = accumulator->values;
    const std::uint32_t registers = operation.n / 2;
    for (std::uint32_t r = 0; r < registers; ++r)
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
        d_[element_of(r, lane)] = operation.accumulate ? values[r * warp_lanes + lane] : 0;
    multiply_add(d_, most_mma_columns, a, b_, rows_per_warp, operation.n);
    for (std::uint32_t r = 0; r < registers; ++r)
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
        values[r * warp_lanes + lane] = d_[element_of(r, lane)];
  }

  Simulation& simulation_;
  Warpgroup& group_;
  float b_[mma_depth * most_mma_columns], d_[rows_per_warp * most_mma_columns];
};

void require_whole_warp(Warp& warp, const Instruction& instruction, LaneMask mask) {
  if (mask != all_lanes)
    warp.simulation.findings().fatal("divergent", "wgmma by lanes " + hexadecimal(mask),
                                     &instruction);
}

// Takes the registers out of the warp's reach.
void begin_accumulator(Warp& warp, const Instruction& instruction) {
  const auto& lists = warp.simulation.program().lists;
  const auto& list = lists[instruction.list];
  const std::uint32_t group = static_cast<std::uint32_t>(warp.wgmma_groups.size()) + 1;
  for (WgmmaAccumulator& other : warp.accumulators) {
    if (lists[other.list][0].offset != list[0].offset) continue;
    if (lists[other.list] != list)
      warp.simulation.findings().fatal("wgmma-accumulator",
                                       "accumulators in flight that overlap in part", &instruction);
    other.group = group;
    return;
  }
  WgmmaAccumulator accumulator{instruction.list, std::vector<float>(list.size() * warp_lanes),
                               group};
  for (std::size_t i = 0; i < list.size(); ++i) {
    float* registers = lanes<float>(warp, list[i]);
    std::memcpy(&accumulator.values[i * warp_lanes], registers, warp_lanes * sizeof(float));
    std::memset(registers, 0xff, warp_lanes * sizeof(float));
  }
  warp.accumulators.push_back(std::move(accumulator));
}

Step multiply(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  Warpgroup& group = *warp.warpgroup;
  require_whole_warp(warp, instruction, mask);
  if (warp.accumulators_touched) {
    simulation.findings().report(Finding::Severity::error, "wgmma-fence",
                                 warp.name() + " touched accumulators since its last wgmma.fence",
                                 &instruction);
    warp.accumulators_touched = false;
  }
  const WgmmaOperation operation{
      lanes<std::uint64_t>(warp, instruction.a)[0], lanes<std::uint64_t>(warp, instruction.b)[0],
      instruction.size, instruction.modifiers, (predicate(warp, instruction.predicate) & 1) != 0};
  begin_accumulator(warp, instruction);
  const std::uint32_t number = ++warp.wgmma_issued, member = warp.index % Warpgroup::warps;
  const View& view = warp.knowledge.common().view;
  judge_operand(group.cta, operand_a(operation), member * rows_per_warp, rows_per_warp,
                {{warp, 0, &instruction, "wgmma's read of A"},
                 view.generic,
                 view.async,
                 group.entity,
                 number});
  judge_operand(group.cta, operand_b(operation), 0, operation.n,
                {{warp, 0, &instruction, "wgmma's read of B"},
                 view.generic,
                 view.async,
                 group.entity,
                 number});
  const std::uint32_t first = group.queue.empty() ? group.done + 1 : group.queue.front().number;
  if (number - first == group.queue.size())
    group.queue.push_back({operation, number, 0, {}, &instruction});
  Warpgroup::Pending& pending = group.queue[number - first];
  if (pending.operation != operation)
    simulation.findings().fatal(
        "wgmma-mismatch", "the warps of a warpgroup issue different operations", &instruction);
  pending.issued |= 1u << member;
  pending.accumulators[member] = simulation.program().lists[instruction.list][0].offset;
  if (group.can_run()) simulation.schedule(group.task);
  return Step::next;
}

Step fence(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  warp.accumulators_touched = false;
  return Step::next;
}

Step commit(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  warp.wgmma_groups.push_back(warp.wgmma_issued);
  return Step::next;
}

Step wait(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  const auto allowed = static_cast<std::size_t>(instruction.displacement);
  if (warp.wgmma_groups.size() <= allowed) return Step::next;
  const auto group = static_cast<std::uint32_t>(warp.wgmma_groups.size() - allowed);
  const std::uint32_t last = warp.wgmma_groups[group - 1];
  if (warp.warpgroup->done < last) {
    warp.warpgroup->sleepers.push_back(warp.current);
    warp.simulation.sleep(warp.current, "wgmma groups, but", static_cast<std::uint32_t>(allowed));
    return Step::retry;
  }
  View done;
  done.generic.raise(warp.warpgroup->entity, last);  // exactly the groups waited for
  warp.knowledge.acquire(mask, warp.live, done);
  auto is_over = [&](const WgmmaAccumulator& accumulator) {
    if (accumulator.group > group) return false;
    const auto& list = warp.simulation.program().lists[accumulator.list];
    for (std::size_t i = 0; i < list.size(); ++i)
      std::memcpy(lanes<float>(warp, list[i]), &accumulator.values[i * warp_lanes],
                  warp_lanes * sizeof(float));
    return true;
  };
  warp.accumulators.erase(
      std::remove_if(warp.accumulators.begin(), warp.accumulators.end(), is_over),
      warp.accumulators.end());
  return Step::next;
}

// wgmma.mma_async.sync.aligned.m64nNk16.f32.TYPE.TYPE
void decode_multiply(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const Type b = decoder.type(), a = decoder.type();
  if (decoder.type() != Type::f32 || a != b || (a != Type::bf16 && a != Type::f16))
    decoder.fail("types not supported");
  const std::string shape = decoder.take_prefixed("m64n");
  instruction.size = static_cast<std::uint32_t>(std::atoi(shape.c_str() + 4));
  if (!shape.ends_with("k16") || instruction.size % 8 != 0 || instruction.size == 0 ||
      instruction.size > most_mma_columns)
    decoder.fail("shape not supported");
  instruction.list = decoder.destinations(0, 4);
  if (decoder.list(instruction.list).size() != instruction.size / 2)
    decoder.fail("wrong number of accumulators");
  instruction.a = decoder.source(1, 8);
  instruction.b = decoder.source(2, 8);
  instruction.predicate = decoder.predicate_source(3);
  if (decoder.immediate(4) != 1 || decoder.immediate(5) != 1)
    decoder.fail("negated inputs are not supported");
  instruction.modifiers = (decoder.immediate(6) ? +a_mn_major : 0u) |
                          (decoder.immediate(7) ? +b_mn_major : 0u) |
                          (a == Type::f16 ? +inputs_f16 : 0u);
  instruction.execute = multiply;
}

}  // namespace

Warpgroup::Warpgroup(Simulation& simulation, Cta& cta, std::uint32_t first_warp)
    : cta(cta),
      first_warp(first_warp),
      entity(cta.cluster.new_entity(Cluster::EntityKind::wgmma, cta.rank, first_warp)),
      task(std::make_shared<WgmmaTask>(simulation, *this)) {}

void note_accumulator_access(Warp& warp, const Instruction& instruction) {
  warp.accumulators_touched = true;
  if (warp.accumulators.empty()) return;
  const auto& lists = warp.simulation.program().lists;
  auto in_flight = [&](const Operand& operand) {
    return std::any_of(warp.accumulators.begin(), warp.accumulators.end(),
                       [&](const WgmmaAccumulator& accumulator) {
                         const auto& list = lists[accumulator.list];
                         return std::find(list.begin(), list.end(), operand) != list.end();
                       });
  };
  bool touched = false;
  for (const Operand* operand :
       {&instruction.d, &instruction.a, &instruction.b, &instruction.c, &instruction.e})
    touched |= operand->kind == Operand::Kind::registers && in_flight(*operand);
  for (const std::int32_t list : {instruction.list, instruction.list_b, instruction.list_c})
    if (list >= 0) touched |= std::any_of(lists[list].begin(), lists[list].end(), in_flight);
  if (touched)
    warp.simulation.findings().report(Finding::Severity::error, "wgmma-accumulator",
                                      warp.name() + " touches an accumulator that is in flight",
                                      &instruction);
}

bool decode_wgmma(Decoder& decoder) {
  if (decoder.base() != "wgmma") return false;
  Instruction& instruction = decoder.instruction;
  const int action = decoder.one_of({"fence", "commit_group", "wait_group", "mma_async"});
  decoder.expect("sync");
  decoder.expect("aligned");
  if (action == 0) instruction.execute = fence;
  if (action == 1) instruction.execute = commit;
  if (action == 2) {
    instruction.displacement = decoder.immediate(0);
    instruction.execute = wait;
  }
  if (action == 3) decode_multiply(decoder);
  return true;
}

}  // namespace bwgemm::vgpu
