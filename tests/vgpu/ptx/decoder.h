// SPDX-License-Identifier: Apache-2.0
// Decoder: gives one statement a meaning. The families of instructions take modifiers and operands
// from it; what nobody takes is an error, which is what keeps the subset closed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/ptx/program.h"
#include "vgpu/ptx/ptx_text.h"
#include "vgpu/ptx/register_places.h"

namespace bwgemm::vgpu {

enum class Type : std::uint8_t {
  b8,
  b16,
  b32,
  b64,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f32,
  f16x2,
  bf16x2,
  f32x2,
  b128,
  pred
};

// The names a kernel's statements may use, and the program under construction.
class Symbols {
 public:
  Symbols(const KernelText& kernel, const ModuleText& module, Program& program);

  // False: no such register.
  bool find_register(std::string_view name, int scope, Operand& operand) const;
  // Offset of a variable in the shared window, or of a parameter. False: no such name.
  bool find_shared(std::string_view name, std::uint32_t& offset) const;
  bool find_parameter(std::string_view name, std::uint32_t& offset) const;
  bool find_label(std::string_view name, int scope, std::uint32_t& statement) const;

  Operand constant(std::uint64_t value, std::uint32_t bytes);
  Operand shared_constant(std::uint32_t address, std::uint32_t bytes);
  Operand sink() const { return sink_; }
  Operand predicate_sink() const { return predicate_sink_; }

  // What the instruction that is being decoded does to a register.
  void note_use(const Operand& operand, bool writes);
  const std::vector<RegisterUse>& uses() const { return uses_; }

 private:
  struct Registers {
    Operand first;
    std::uint32_t count;  // 0: the name itself
  };
  void place_shared(const KernelText& kernel, const ModuleText& module);
  void place_parameters(const KernelText& kernel);
  void place_registers(const KernelText& kernel);
  Operand allocate(const std::string& type, std::uint32_t count);

  Program& program_;
  std::vector<int> scope_parents_;
  std::vector<std::map<std::string, Registers, std::less<>>> registers_;  // by scope
  std::vector<std::map<std::string, std::uint32_t, std::less<>>> labels_;
  std::map<std::string, std::uint32_t, std::less<>> shared_, parameters_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Operand> constants_;
  Operand sink_, predicate_sink_;
  std::vector<RegisterUse> uses_;
};

class Decoder {
 public:
  Decoder(const Statement& statement, Symbols& symbols, Program& program);

  Instruction instruction;

  // ---- the opcode ----
  const std::string& base() const { return base_; }  // up to the first dot
  bool is(std::string_view opcode);                  // all of it; then all of it is taken
  bool take(std::string_view modifier);              // true if it was there; not taken twice
  bool has(std::string_view modifier) const;
  void expect(std::string_view modifier);
  // One of them, by its index; the names are alternatives of which one must stand there.
  int one_of(std::initializer_list<std::string_view> modifiers);
  std::string take_prefixed(std::string_view prefix);  // e.g. "m64n" takes "m64n128k16"; else empty
  Type type();                                         // the last modifier
  int last_of(std::initializer_list<std::string_view> modifiers);  // the last, by its index
  bool ends_with_type(std::initializer_list<std::string_view> types) const;

  // ---- operands, by index ----
  std::size_t operands() const { return statement_.operands.size(); }
  // A register has exactly this many bytes per lane, or at least so many.
  Operand source(std::size_t index, std::uint32_t bytes);
  Operand source_or_wider(std::size_t index, std::uint32_t bytes);
  Operand destination(std::size_t index, std::uint32_t bytes);
  Operand destination_or_wider(std::size_t index, std::uint32_t bytes);
  Operand predicate(std::size_t index);         // a register
  Operand predicate_source(std::size_t index);  // a register or an immediate
  Operand predicate_destination(std::size_t index);
  // "r|p", as elect and shfl write: both halves may be the sink.
  void destination_pair(std::size_t index, Operand& value, Operand& predicate);
  // "[base+displacement]": fills instruction.displacement.
  Operand address(std::size_t index, std::uint32_t bytes);
  Operand plain_address(std::size_t index, std::uint32_t bytes);  // no displacement
  std::int32_t sources(std::size_t index, std::uint32_t bytes);
  std::int32_t destinations(std::size_t index, std::uint32_t bytes);
  std::int64_t immediate(std::size_t index);
  Operand zero(std::uint32_t bytes) { return symbols_.constant(0, bytes); }  // though not written
  // "[map, {c0, c1}]": the map's address; the coordinates go into instruction.list.
  Operand tensor_coordinates(std::size_t index);
  const std::vector<Operand>& list(std::int32_t index) const { return program_.lists[index]; }
  std::uint32_t label(std::size_t index);
  const std::string& text(std::size_t index) const { return operand_text(index); }

  Program& program() { return program_; }
  [[noreturn]] void fail(const std::string& reason) const;
  // Throws unless every modifier and operand was taken.
  void finish() const;

 private:
  const std::string& operand_text(std::size_t index) const;
  Operand source_text(std::string_view text, std::uint32_t bytes);
  Operand destination_text(std::string_view text, std::uint32_t bytes);
  Operand address_text(std::string_view text, std::uint32_t bytes, std::int64_t& displacement);
  std::int32_t add_list(std::vector<Operand> operands);

  const Statement& statement_;
  Symbols& symbols_;
  Program& program_;
  std::string base_;
  std::vector<std::string> modifiers_;
  mutable std::vector<bool> used_;
};

std::uint32_t size_bytes(Type type);
bool is_integer(Type type);  // not a float, not a predicate
bool is_signed(Type type);

// Each decodes the instructions of its family, and says whether the opcode belongs to it.
bool decode_integer(Decoder& decoder);
bool decode_float(Decoder& decoder);
bool decode_convert(Decoder& decoder);
bool decode_predicate(Decoder& decoder);
bool decode_move(Decoder& decoder);
bool decode_memory(Decoder& decoder);
bool decode_atomic(Decoder& decoder);
bool decode_message(Decoder& decoder);
bool decode_copy_async(Decoder& decoder);
bool decode_launch_control(Decoder& decoder);
bool decode_warp(Decoder& decoder);
bool decode_barrier(Decoder& decoder);
bool decode_fence(Decoder& decoder);
bool decode_mbarrier(Decoder& decoder);
bool decode_tma(Decoder& decoder);
bool decode_fragment(Decoder& decoder);
bool decode_wgmma(Decoder& decoder);
bool decode_tcgen05(Decoder& decoder);

}  // namespace bwgemm::vgpu
