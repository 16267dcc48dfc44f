// SPDX-License-Identifier: Apache-2.0
#include "kernels_on_vgpu/mutate/mutation.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace bwgemm::vgpu::mutate {
namespace {

using Operands = std::vector<std::string>;

bool starts(const std::string& text, std::initializer_list<std::string_view> with) {
  for (const std::string_view word : with)
    if (text.starts_with(word)) return true;
  return false;
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string inner(const std::string& bracketed) {
  return bracketed.substr(1, bracketed.size() - 2);
}
bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}
bool is_wide(const std::string& register_name) {
  return register_name.starts_with("%rd");
}

// An address operand: [register + displacement].
struct Address {
  std::string base, displacement;
  explicit Address(const std::string& operand) {
    const std::string text = inner(operand);
    const std::size_t plus = text.find_first_of("+-", 1);
    base = std::string(trimmed(text.substr(0, plus)));
    if (plus != std::string::npos) displacement = text.substr(plus);
  }
  bool is_register() const { return base.starts_with("%r"); }
};

class Mutator {
 public:
  explicit Mutator(const PtxSource& source) : source_(source) {}

  std::vector<Mutation> all() {
    const std::vector<Statement>& statements = source_.statements();
    for (at_ = 0; at_ < statements.size(); ++at_) {
      if (!source_.stands_alone(at_)) continue;
      statement_ = &statements[at_];
      remove();
      waits();
      barriers();
      bulk_copies();
      matrices();
      tensor_memory();
      accesses();
      semantics();
      order();
    }
    return std::move(mutations_);
  }

 private:
  const std::string& opcode() const { return statement_->opcode; }
  const Operands& operands() const { return statement_->operands; }

  void add(const char* operation, const std::string& change, const std::string& text) {
    mutations_.push_back({operation, change, at_, {{at_, text}}});
  }
  void replace(const char* operation, const std::string& change, std::size_t index,
               const std::string& value) {
    Operands changed = operands();
    changed[index] = value;
    add(operation, change, as_text(*statement_, opcode(), changed));
  }
  // Computes a part of the operand anew, by an instruction on a value and a constant; `with` is the
  // operand with the new part.
  void compute(const char* operation, const std::string& change, std::size_t index,
               const std::string& type, const std::string& instruction, const std::string& value,
               const std::string& constant, const std::string& with = "mutated") {
    Operands changed = operands();
    changed[index] = with;
    add(operation, change,
        std::string("{ .reg .")
            .append(type)
            .append(" mutated; ")
            .append(instruction)
            .append(" mutated, ")
            .append(value)
            .append(", ")
            .append(constant)
            .append("; ")
            .append(as_text(*statement_, opcode(), changed))
            .append(" }"));
  }
  void address(const char* operation, const char* change, std::size_t index,
               const std::string& instruction, const std::string& constant) {
    const Address at(operands()[index]);
    if (!at.is_register()) return;
    const std::string type = is_wide(at.base) ? "64" : "32";
    const bool adds = instruction == "add";
    compute(operation, change, index, "b" + type, instruction + (adds ? ".s" : ".b") + type,
            at.base, constant, "[mutated" + at.displacement + "]");
  }

  void remove() {
    if (starts(opcode(), {"fence.",         "membar",         "wgmma.",
                          "cp.async",       "bar.",           "barrier.",
                          "tcgen05.",       "mbarrier.init",  "mbarrier.arrive",
                          "mbarrier.inval", "stmatrix",       "ldmatrix",
                          "st.shared",      "ld.shared",      "st.global",
                          "ld.global",      "st.async",       "atom",
                          "red.",           "mma.",           "setmaxnreg",
                          "prefetch",       "griddepcontrol", "clusterlaunchcontrol"}))
      add("delete", "", "");
  }

  void waits() {
    if (!starts(opcode(), {"mbarrier.try_wait", "mbarrier.test_wait"})) return;
    const std::string passes = "setp.eq.u32 " + operands()[0] + ", 0, 0;";
    add(no_wait, "", passes);
    add(no_retry, "", as_text(*statement_) + " " + passes);
    compute("parity", "", 2, "b32", "xor.b32", operands()[2], "1");
    address("barrier address", "+8", 1, "add", "8");
  }

  void barriers() {
    const Operands& of = operands();
    if (starts(opcode(), {"mbarrier.init"}))
      for (const char* by : {"1", "-1"}) compute("count", by, 1, "b32", "add.s32", of[1], by);
    if (starts(opcode(), {"mbarrier.arrive"})) {
      address("barrier address", "+8", 1, "add", "8");
      if (has(opcode(), "shared::cluster")) address("rank", "peer", 1, "xor", "0x1000000");
      add("twice", "", as_text(*statement_) + " " + as_text(*statement_));
      if (has(opcode(), "expect_tx")) {
        compute("bytes", "half", 2, "b32", "shr.u32", of[2], "1");
        compute("bytes", "+16", 2, "b32", "add.s32", of[2], "16");
        replace("bytes", "none", 2, "0");
      }
    }
    if (starts(opcode(), {"bar.warp.sync"})) replace("mask", "but lane 31", 0, "0x7fffffff");
    if (starts(opcode(), {"elect.sync"})) {
      const std::string predicate = of[0].substr(of[0].find('|') + 1);
      add("elect", "all", "setp.eq.u32 " + predicate + ", 0, 0;");
      add("elect", "none", "setp.ne.u32 " + predicate + ", 0, 0;");
    }
    if (starts(opcode(), {"bar.sync", "bar.arrive", "barrier.cta.sync", "barrier.cta.arrive"}) &&
        of.size() == 2) {
      compute("barrier number", "+1", 0, "b32", "add.s32", of[0], "1");
      for (const char* by : {"32", "-32"}) compute("count", by, 1, "b32", "add.s32", of[1], by);
    }
    if (has(opcode(), ".wait_group") && of.size() == 1 && is_number(of[0]))
      replace("count", "+1", 0, std::to_string(std::atoi(of[0].c_str()) + 1));
    if (starts(opcode(), {"mapa"})) compute("rank", "peer", 2, "b32", "xor.b32", of[2], "1");
  }

  void coordinates(std::size_t index) {
    const Operands parts = split_operands(inner(operands()[index]));
    Operands of = split_operands(inner(parts.at(1)));
    const auto joined = [](const Operands& values) {
      std::string text;
      for (const std::string& value : values) text.append(text.empty() ? "" : ", ").append(value);
      return text;
    };
    for (std::size_t i = 0; i < of.size(); ++i) {
      Operands changed = of;
      changed[i] = "mutated";
      constexpr std::array<const char*, 3> by = {"8", "1", "1"};
      compute("coordinate", std::to_string(i), index, "b32", "add.s32", of[i],
              by[i < by.size() ? i : 2], "[" + parts[0] + ", {" + joined(changed) + "}]");
    }
    std::swap(of[0], of[1]);
    replace("coordinate", "swapped", index, "[" + parts[0] + ", {" + joined(of) + "}]");
  }

  void bulk_copies() {
    const Operands& of = operands();
    if (!starts(opcode(), {"cp.async.bulk.tensor"})) return;
    if (!has(opcode(), "complete_tx")) {
      coordinates(0);
      address("shared address", "+1024", 1, "add", "1024");
      return;
    }
    coordinates(1);
    address("shared address", "+1024", 0, "add", "1024");
    address("barrier address", "+8", 2, "add", "8");
    if (has(opcode(), "cta_group::2")) address("rank", "peer", 2, "xor", "0x1000000");
    if (has(opcode(), "multicast"))
      for (const char* bit : {"1", "2"})
        compute("mask", std::string("^").append(bit), 3, "b16", "xor.b16", of[3], bit);
  }

  void descriptor(std::size_t index, bool is_tcgen05, bool is_transposed) {
    struct Bit {
      const char* name;
      int bit;
    };
    std::vector<Bit> bits = {{"start + 32 bytes", 1},
                             {"start, high bit", 13},
                             {"stride", 38},
                             {"base offset", 49},
                             {"swizzle, bit 62", 62}};
    bits.push_back(is_tcgen05 ? Bit{"swizzle, bit 61", 61} : Bit{"swizzle, bit 63", 63});
    if (is_transposed) bits.push_back({"leading offset", 22});
    for (const auto& [name, bit] : bits)
      compute("descriptor", std::string(index == 1 ? "A: " : "B: ").append(name), index, "b64",
              "xor.b64", operands()[index], std::to_string(std::uint64_t{1} << bit));
  }

  void accumulate(std::size_t index) {
    const std::string& flag = operands()[index];
    Operands changed = operands();
    changed[index] = "mutated";
    const std::string rest = as_text(*statement_, opcode(), changed) + " }";
    add("accumulate", "always", "{ .reg .pred mutated; setp.eq.u32 mutated, 0, 0; " + rest);
    add("accumulate", "never", "{ .reg .pred mutated; setp.ne.u32 mutated, 0, 0; " + rest);
    if (!is_number(flag))
      add("accumulate", "inverted",
          "{ .reg .pred mutated; not.pred mutated, " + flag + "; " + rest);
  }

  void matrices() {
    const Operands& of = operands();
    if (starts(opcode(), {"wgmma.mma_async"})) {
      const bool ta = of.size() == 8 && of[6] == "1", tb = of.size() == 8 && of[7] == "1";
      descriptor(1, false, ta);
      descriptor(2, false, tb);
      accumulate(3);
      for (const std::size_t scale : {4, 5}) replace("sign", scale == 4 ? "A" : "B", scale, "-1");
      for (std::size_t i = 6; i < of.size(); ++i)
        replace("transpose", i == 6 ? "A" : "B", i, of[i] == "1" ? "0" : "1");
    }
    if (starts(opcode(), {"tcgen05.mma"})) {
      descriptor(1, true, false);
      descriptor(2, true, false);
      for (const int bit : {7, 10, 13, 14, 15, 16, 19, 24, 25})
        compute("idesc", "bit " + std::to_string(bit), 3, "b32", "xor.b32", of[3],
                std::to_string(1u << bit));
      accumulate(4);
      address("tensor memory", "column + 16", 0, "add", "16");
    }
    if (starts(opcode(), {"mma.sync"})) {
      Operands changed = of;
      const Operands sums = split_operands(inner(of.back()));
      changed.back() = "{";
      for (std::size_t i = 0; i < sums.size(); ++i)
        changed.back().append(i == 0 ? "" : ", ").append("0f00000000");
      changed.back().append("}");
      add("accumulate", "never", as_text(*statement_, opcode(), changed));
    }
  }

  void tensor_memory() {
    const Operands& of = operands();
    if (starts(opcode(), {"tcgen05.commit"})) {
      address("barrier address", "+8", 0, "add", "8");
      address("rank", "peer", 0, "xor", "0x1000000");
      if (of.size() > 1)
        for (const char* bit : {"1", "2"})
          compute("mask", std::string("^").append(bit), 1, "b16", "xor.b16", of[1], bit);
    }
    if (starts(opcode(), {"tcgen05.ld", "tcgen05.st"})) {
      const std::size_t index = starts(opcode(), {"tcgen05.ld"}) ? 1 : 0;
      address("tensor memory", "column + 1", index, "add", "1");
      address("tensor memory", "lane ^ 32", index, "xor", "0x200000");
    }
    if (starts(opcode(), {"tcgen05.alloc", "tcgen05.dealloc"}) && is_number(of[1]))
      replace("count", "half", 1, std::to_string(std::atoi(of[1].c_str()) / 2));
    if (starts(opcode(), {"tcgen05.dealloc"}))
      compute("tensor memory", "column + 32", 0, "b32", "add.s32", of[0], "32");
  }

  void accesses() {
    const Operands& of = operands();
    if (starts(opcode(), {"stmatrix", "st.shared", "st.global"})) address_of_access(0);
    if (starts(opcode(), {"ldmatrix", "ld.shared", "ld.global"})) address_of_access(1);
    if (starts(opcode(), {"atom.add", "red.add"})) {
      const std::size_t index = opcode().starts_with("atom") ? 1 : 0;
      address("address", "+4", index, "add", "4");
      if (of.size() > index + 1)
        compute("count", "+1", index + 1, "b32", "add.s32", of[index + 1], "1");
    }
    if (starts(opcode(), {"cp.async.ca", "cp.async.cg"})) {
      address("shared address", "^16", 0, "xor", "16");
      address("address", "+16", 1, "add", "16");
    }
  }
  void address_of_access(std::size_t index) {
    if (operands().size() <= index || operands()[index].front() != '[') return;
    const bool is_shared = !has(opcode(), ".global");
    if (is_shared)
      address("shared address", "^16", index, "xor", "16");
    else
      address("address", "+16", index, "add", "16");
  }

  // Weaker than it stands.
  void semantics() {
    struct Weaker {
      std::string_view from, to;
    };
    static constexpr Weaker all[] = {
        {".release", ".relaxed"}, {".acquire", ".relaxed"},        {".acq_rel", ".relaxed"},
        {".acq_rel", ".release"}, {".acq_rel", ".acquire"},        {".gpu", ".cta"},
        {".cluster", ".cta"},     {".shared::cluster", ".global"}, {".shared::cta", ".global"},
    };
    if (!starts(opcode(), {"fence", "mbarrier", "barrier.cluster", "atom", "red", "ld", "st"}))
      return;
    const bool is_proxy_fence = starts(opcode(), {"fence.proxy"});
    for (const auto& [from, to] : all) {
      const std::size_t at = opcode().find(from);
      // A state space is the semantics of proxy fences alone.
      if (at == std::string::npos || from.starts_with(".shared") != is_proxy_fence) continue;
      const std::size_t end = at + from.size();
      if (end < opcode().size() && opcode()[end] != '.') continue;
      std::string weaker = opcode();
      weaker.replace(at, from.size(), to);
      add("semantics", std::string(from.substr(1)).append(" to ").append(to.substr(1)),
          as_text(*statement_, weaker, operands()));
    }
  }

  // The synchronising or memory statement before this one moves behind it.
  void order() {
    if (!starts(opcode(),
                {"tcgen05.commit", "tcgen05.fence", "tcgen05.wait", "wgmma.commit", "wgmma.wait",
                 "wgmma.fence", "fence.", "mbarrier.arrive", "bar.", "barrier.",
                 "cp.async.bulk.commit", "cp.async.bulk.wait", "griddepcontrol"}))
      return;
    constexpr std::size_t reach = 12;
    const std::vector<Statement>& statements = source_.statements();
    for (std::size_t before = at_; before-- > 0 && at_ - before < reach;) {
      const Statement& other = statements[before];
      if (starts(other.opcode, {"bra", "ret", "exit"}) || source_.is_entered_between(before, at_))
        return;
      if (!starts(other.opcode,
                  {"tcgen05", "wgmma", "fence", "mbarrier", "bar", "cp.async", "stmatrix",
                   "ldmatrix", "st.", "ld.shared", "ld.global", "red", "atom", "griddepcontrol"}))
        continue;
      if (other.scope != statement_->scope || !source_.stands_alone(before) ||
          other.opcode == opcode())
        return;
      mutations_.push_back({"order",
                            "behind: " + other.opcode.substr(0, other.opcode.find('.', 8)),
                            at_,
                            {{before, ""}, {at_, as_text(*statement_) + " " + as_text(other)}}});
      return;
    }
  }

  const PtxSource& source_;
  std::size_t at_ = 0;
  const Statement* statement_ = nullptr;
  std::vector<Mutation> mutations_;
};

}  // namespace

std::vector<Mutation> mutations_of(const PtxSource& source) {
  return Mutator(source).all();
}

}  // namespace bwgemm::vgpu::mutate
