// SPDX-License-Identifier: Apache-2.0
// wgmma. Completion is collective: an operation is done for all four warps at once, and the wait of
// one warp proves the others' part. Accumulator registers hold poison from the issue of an
// operation until the wait that covers the last one on them.
#include "vgpu/asynchronous/wgmma.h"

#include <algorithm>
#include <cstring>

#include "vgpu/asynchronous/matrix_operand.h"
#include "vgpu/ptx/decoder.h"

namespace bwgemm::vgpu {
namespace {

// In Instruction::modifiers, with the elements of A and B above.
enum WgmmaForm : std::uint32_t { a_mn_major = 1, b_mn_major = 2, negate_a = 4, negate_b = 8 };
constexpr int a_element_shift = 4, b_element_shift = 8;
constexpr std::uint32_t rows_per_group = 64, rows_per_warp = 16;

MmaElement a_element(std::uint32_t form) {
  return static_cast<MmaElement>(form >> a_element_shift & 15);
}
MmaElement b_element(std::uint32_t form) {
  return static_cast<MmaElement>(form >> b_element_shift & 15);
}
MatrixOperand operand_a(const WgmmaOperation& operation) {
  return MatrixOperand::of_wgmma(operation.a, operation.form & a_mn_major,
                                 a_element(operation.form));
}
MatrixOperand operand_b(const WgmmaOperation& operation) {
  return MatrixOperand::of_wgmma(operation.b, operation.form & b_mn_major,
                                 b_element(operation.form));
}

// Calls visit(register's value, sum) for all: register r of lane l holds row l / 4 (+ 8 if r / 2 is
// odd), column 8 (r / 4) + 2 (l % 4) + r % 2 of the warp's.
template <class Visit>
void for_each_sum(WgmmaAccumulator& accumulator, std::uint32_t columns, Visit visit) {
  for (std::uint32_t r = 0; r < columns / 2; ++r)
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      const std::uint32_t row = lane / 4 + r / 2 % 2 * 8, column = r / 4 * 8 + lane % 4 * 2 + r % 2;
      visit(accumulator.values[r * warp_lanes + lane], accumulator.sums[row * columns + column]);
    }
}

class WgmmaTask : public AsyncTask {
 public:
  WgmmaTask(Simulation& simulation, Warpgroup& group) : simulation_(simulation), group_(group) {}

  bool step() override {
    const Warpgroup::Pending pending = std::move(group_.queue.front());
    group_.queue.pop_front();
    if (simulation_.is_timed()) return finish(pending);
    const WgmmaOperation& operation = pending.operation;
    const std::uint32_t depth = mma_depth(b_element(operation.form));
    if (pending.a.empty())
      operand_a(operation).fetch(group_.cta, rows_per_group, a_, depth, 1);
    else
      std::copy(pending.a.begin(), pending.a.end(), a_);
    operand_b(operation).fetch(group_.cta, operation.n, b_, 1, most_mma_columns);
    if (!(operation.form & negate_a) != !(operation.form & negate_b))
      for (std::uint32_t i = 0; i < rows_per_group * depth; ++i) a_[i] = -a_[i];
    RowOfSums rows[rows_per_group];
    for (std::uint32_t i = 0; i < rows_per_group; ++i) {
      const std::uint32_t warp = i / rows_per_warp, row = i % rows_per_warp;
      if (row == 0)
        rows[i].d = sums_of(*group_.cta.warps[group_.first_warp + warp], pending.accumulators[warp],
                            operation);
      else
        rows[i].d = rows[i - 1].d + operation.n;
      rows[i].a = a_ + i * depth;
    }
    const MmaElement element = b_element(operation.form);
    multiply_add(hopper_accumulation(element), element, rows, {b_, most_mma_columns}, operation.n,
                 depth);
    return finish(pending);
  }
  Work work() const override {
    const WgmmaOperation& operation = group_.queue.front().operation;
    Work work{.kind = Work::Kind::multiply,
              .cta = &group_.cta,
              .issuer = group_.cta.warps[group_.first_warp].get()};
    work.rows = rows_per_group;
    work.columns = operation.n;
    work.a_in_shared = operation.a != 0;
    return work;
  }
  bool belongs_to(const Cluster& cluster) const override { return &group_.cta.cluster == &cluster; }

 private:
  bool finish(const Warpgroup::Pending& pending) {
    group_.done = pending.number;
    simulation_.wake_all(group_.sleepers);
    return group_.can_run();
  }

  // Those that the operation adds to, of a warp: [row][column].
  float* sums_of(Warp& warp, std::uint32_t first_register, const WgmmaOperation& operation) {
    const auto& lists = simulation_.program().lists;
    const auto accumulator = std::find_if(warp.accumulators.begin(), warp.accumulators.end(),
                                          [&](const WgmmaAccumulator& other) {
                                            return lists[other.list][0].offset == first_register;
                                          });
    std::vector<float>& sums = accumulator->sums;
    if (sums.empty()) {
      sums.resize(rows_per_warp * operation.n);
      for_each_sum(*accumulator, operation.n, [](float value, float& sum) { sum = value; });
    }
    if (!operation.accumulate) std::fill(sums.begin(), sums.end(), 0.0f);
    return sums.data();
  }

  Simulation& simulation_;
  Warpgroup& group_;
  float a_[rows_per_group * most_mma_depth],
      b_[most_mma_depth * most_mma_columns + most_columns_behind];
};

// Takes the registers of a list out of the warp's reach, and gives what they hold.
const std::vector<float>& seize(Warp& warp, const Instruction& instruction, std::int32_t index) {
  const auto& lists = warp.simulation.program().lists;
  const auto& list = lists[index];
  const std::uint32_t group = static_cast<std::uint32_t>(warp.wgmma_groups.size()) + 1;
  for (WgmmaAccumulator& other : warp.accumulators) {
    if (lists[other.list][0].offset != list[0].offset) continue;
    if (lists[other.list] != list)
      fail(warp, instruction, "wgmma-accumulator", "registers in flight that overlap in part");
    other.group = group;
    return other.values;
  }
  WgmmaAccumulator seized{index, std::vector<float>(list.size() * warp_lanes), group, {}};
  for (std::size_t i = 0; i < list.size(); ++i) {
    float* registers = lanes<float>(warp, list[i]);
    std::memcpy(&seized.values[i * warp_lanes], registers, warp_lanes * sizeof(float));
    std::memset(registers, 0xff, warp_lanes * sizeof(float));
  }
  warp.accumulators.push_back(std::move(seized));
  return warp.accumulators.back().values;
}

// A in registers: register i of lane l holds 4 bytes of row l / 4 (+ 8 if i is odd), from byte
// 4 (l % 4) of k on (+ 16 from register 2 on).
void seize_a(Warp& warp, const Instruction& instruction, std::vector<float>& a) {
  const std::vector<float>& values = seize(warp, instruction, instruction.list_b);
  const MmaElement element = a_element(instruction.modifiers);
  const std::uint32_t depth = mma_depth(element), together = 4 / element_bytes(element);
  const std::uint32_t first = warp.index % Warpgroup::warps * rows_per_warp;
  a.resize(rows_per_group * depth);
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      const std::uint32_t row = first + lane / 4 + i % 2 * 8;
      const std::uint32_t k = (i / 2 * 4 + lane % 4) * together;
      to_floats(element, reinterpret_cast<const std::byte*>(&values[i * warp_lanes + lane]),
                together, &a[row * depth + k]);
    }
}

Step multiply_async(Warp& warp, const Instruction& instruction, LaneMask mask) {
  Simulation& simulation = warp.simulation;
  Warpgroup& group = *warp.warpgroup;
  require_whole_warp(warp, instruction, mask);
  if (warp.accumulators_touched) {
    simulation.findings().report(Finding::Severity::error, "wgmma-fence",
                                 warp.name() + " touched accumulators since its last wgmma.fence",
                                 &instruction);
    warp.accumulators_touched = false;
  }
  const bool a_in_registers = instruction.list_b >= 0;
  const WgmmaOperation operation{a_in_registers ? 0 : lanes<std::uint64_t>(warp, instruction.a)[0],
                                 lanes<std::uint64_t>(warp, instruction.b)[0], instruction.size,
                                 instruction.modifiers,
                                 (predicate(warp, instruction.predicate) & 1) != 0};
  if (!simulation.is_timed()) seize(warp, instruction, instruction.list);
  const std::uint32_t number = ++warp.wgmma_issued, member = warp.index % Warpgroup::warps;
  const View& view = warp.knowledge.common().view;
  if (!a_in_registers && !simulation.is_timed())
    judge_operand(group.cta, operand_a(operation), member * rows_per_warp, rows_per_warp,
                  {{warp, 0, &instruction, "wgmma's read of A"},
                   view.generic,
                   view.async,
                   group.entity,
                   number,
                   Unwritten::poison});
  if (!simulation.is_timed())
    judge_operand(group.cta, operand_b(operation), 0, operation.n,
                  {{warp, 0, &instruction, "wgmma's read of B"},
                   view.generic,
                   view.async,
                   group.entity,
                   number,
                   Unwritten::poison});
  const std::uint32_t first = group.queue.empty() ? group.done + 1 : group.queue.front().number;
  if (number - first == group.queue.size())
    group.queue.push_back({operation, number, 0, {}, {}, &instruction});
  Warpgroup::Pending& pending = group.queue[number - first];
  if (pending.operation != operation)
    fail(warp, instruction, "wgmma-mismatch",
         "the warps of a warpgroup issue different operations");
  if (a_in_registers && !simulation.is_timed()) seize_a(warp, instruction, pending.a);
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

Step commit_multiplications(Warp& warp, const Instruction& instruction, LaneMask mask) {
  require_whole_warp(warp, instruction, mask);
  warp.wgmma_groups.push_back(warp.wgmma_issued);
  return Step::next;
}

Step wait_for_multiplications(Warp& warp, const Instruction& instruction, LaneMask mask) {
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
  auto is_over = [&](WgmmaAccumulator& accumulator) {
    if (accumulator.group > group) return false;
    if (!accumulator.sums.empty())
      for_each_sum(accumulator, static_cast<std::uint32_t>(accumulator.sums.size()) / rows_per_warp,
                   [](float& value, float sum) { value = sum; });
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

MmaElement decode_element(Decoder& decoder) {
  return static_cast<MmaElement>(decoder.last_of({"f16", "bf16", "tf32", "e4m3", "e5m2"}));
}

// wgmma.mma_async.sync.aligned.m64nNkK.f32.TYPE.TYPE
void decode_multiply_async(Decoder& decoder) {
  Instruction& instruction = decoder.instruction;
  const MmaElement b = decode_element(decoder), a = decode_element(decoder);
  const bool is_16_bit = element_bytes(a) == 2;
  if (decoder.type() != Type::f32 || element_bytes(a) != element_bytes(b) || (is_16_bit && a != b))
    decoder.fail("types not supported");
  const std::string shape = decoder.take_prefixed("m64n");
  instruction.size = static_cast<std::uint32_t>(std::atoi(shape.c_str() + 4));
  std::string depth("k");
  depth.append(std::to_string(mma_depth(a)));
  if (!shape.ends_with(depth) || instruction.size % 8 != 0 || instruction.size == 0 ||
      instruction.size > most_mma_columns)
    decoder.fail("shape not supported");
  instruction.list = decoder.destinations(0, 4);
  if (decoder.list(instruction.list).size() != instruction.size / 2)
    decoder.fail("wrong number of accumulators");
  const bool a_in_registers = decoder.text(1).starts_with('{');
  if (a_in_registers)
    instruction.list_b = decoder.sources(1, 4);
  else
    instruction.a = decoder.source(1, 8);
  if (a_in_registers && decoder.list(instruction.list_b).size() != 4)
    decoder.fail("wrong number of registers of A");
  instruction.b = decoder.source(2, 8);
  instruction.predicate = decoder.predicate_source(3);
  std::uint32_t form = static_cast<std::uint32_t>(a) << a_element_shift |
                       static_cast<std::uint32_t>(b) << b_element_shift;
  if (decoder.immediate(4) != 1) form |= negate_a;
  if (decoder.immediate(5) != 1) form |= negate_b;
  if (is_16_bit && !a_in_registers && decoder.immediate(6) != 0) form |= a_mn_major;
  if (is_16_bit && decoder.immediate(a_in_registers ? 6 : 7) != 0) form |= b_mn_major;
  instruction.modifiers = form;
  instruction.execute = multiply_async;
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
  if (action == 1) instruction.execute = commit_multiplications;
  if (action == 2) {
    instruction.displacement = decoder.immediate(0);
    instruction.execute = wait_for_multiplications;
  }
  if (action == 3) decode_multiply_async(decoder);
  return true;
}

}  // namespace bwgemm::vgpu
