// SPDX-License-Identifier: Apache-2.0
#include "tune/recorded.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "dropin/chosen.h"
#include "dropin/epilogue.h"

namespace bwgemm::bench {
namespace {

// Columns in which lines of one kind may differ.
bool tells_no_kind(const std::string& column) {
  return column == "process" || column == "library" || column == "calls" || column == "outcome";
}

class Row {
 public:
  Row(const Table& log, std::size_t row) : log_(log), row_(row) {}

  const std::string& text(const char* column) const { return log_.text(row_, lower_case(column)); }
  std::int64_t whole(const char* column) const { return whole_number(column, text(column)); }

  bool is_for_bwgemm() const {
    const std::string& outcome = text("outcome");
    const std::string& reason = text("reason");
    return outcome == "servable" || outcome == "served" || outcome == "agreed" ||
           reason == "policy" || reason == "slower";
  }
  dropin::Entry entry() const {
    for (const dropin::Entry entry : dropin::all_entries)
      if (text("function") == dropin::name(entry)) return entry;
    throw std::runtime_error(log_.path() + ": there is no function " + text("function"));
  }
  dropin::Operand operand(const char* letter, int order) const {
    const std::string of(letter);
    return {nullptr, static_cast<int>(whole((of + "type").c_str())),
            whole(("ld" + lower_case(of)).c_str()), whole(("stride" + of).c_str()), order};
  }

 private:
  const Table& log_;
  std::size_t row_;
};

dropin::Call call_of(const Row& row) {
  const auto number = [&](const char* column) { return static_cast<int>(row.whole(column)); };
  const int orders = number("orders");
  dropin::Call call{row.entry(),
                    nullptr,
                    number("transa"),
                    number("transb"),
                    row.whole("m"),
                    row.whole("n"),
                    row.whole("k"),
                    nullptr,
                    nullptr,
                    row.operand("A", orders / 1000 % 10),
                    row.operand("B", orders / 100 % 10),
                    row.operand("C", orders / 10 % 10),
                    row.whole("batch"),
                    number("compute"),
                    number("algo")};
  if (call.is_lt()) call.d = row.operand("D", orders % 10);
  call.epilogue.kind = number("epilogue");
  return call;
}

// The words of the column ltalgo; nothing if it is empty.
std::optional<cublasLtMatmulAlgo_t> algo_of(const std::string& digits) {
  if (digits.empty()) return std::nullopt;
  constexpr std::size_t of_word = 16;
  cublasLtMatmulAlgo_t algo{};
  bool is_good = digits.size() == of_word * std::size(algo.data);
  const char* from = digits.c_str();
  for (std::uint64_t& word : algo.data) {
    if (!is_good) break;
    const auto [end, error] = std::from_chars(from, from + of_word, word, 16);
    is_good = error == std::errc{} && end == from + of_word;
    from = end;
  }
  if (!is_good) throw std::runtime_error("the column ltalgo has " + digits);
  return algo;
}

RecordedCall recorded_call(const Row& row) {
  RecordedCall recorded;
  recorded.call = call_of(row);
  for (const char* column : dropin::chosen_columns)
    recorded.key += (recorded.key.empty() ? "" : ",") + row.text(column);
  recorded.has_device_scalars = row.text("scalars") == "device";
  recorded.adds_c = row.text("beta") == "1";
  recorded.math_mode = static_cast<int>(row.whole("math"));
  recorded.workspace = row.whole("workspace");
  recorded.sm_count_target = static_cast<int>(row.whole("sms"));
  recorded.algo = algo_of(row.text("ltalgo"));
  recorded.alignment = row.whole("align");
  return recorded;
}

double flop(const RecordedCall& recorded) {
  const dropin::Call& call = recorded.call;
  return static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k) *
         static_cast<double>(call.batch) * static_cast<double>(recorded.count);
}

// Of rows x columns, in columns: a matrix in rows is its transpose in columns.
BenchMatrix stored(const dropin::Operand& operand, std::int64_t rows, std::int64_t columns,
                   std::int64_t alignment) {
  BenchMatrix matrix{.type = static_cast<bwgemmDataType_t>(operand.type),
                     .rows = operand.is_row_major() ? columns : rows,
                     .columns = operand.is_row_major() ? rows : columns,
                     .ld = operand.ld,
                     .stride = operand.stride};
  if (alignment < 16) matrix.displace = std::max(alignment, size_bytes(matrix.type));
  return matrix;
}

bool is_same_form(const dropin::Operand& one, const dropin::Operand& other) {
  return one.type == other.type && one.order == other.order && one.ld == other.ld &&
         one.stride == other.stride;
}

}  // namespace

std::string RecordedCall::name() const {
  return std::string(dropin::name(call.entry)) + " " + std::to_string(call.m) + " x " +
         std::to_string(call.n) + " x " + std::to_string(call.k) +
         (call.batch > 1 ? ", batch " + std::to_string(call.batch) : "");
}

std::vector<RecordedCall> recorded_calls(const Table& log) {
  std::map<std::string, RecordedCall> kinds;
  for (std::size_t at = 0; at < log.rows(); ++at) {
    const Row row(log, at);
    if (!row.is_for_bwgemm()) continue;
    std::string kind;
    for (const std::string& column : log.columns())
      if (!tells_no_kind(column)) kind += log.text(at, column) + ",";
    const auto [found, is_new] = kinds.try_emplace(kind);
    if (is_new) found->second = recorded_call(row);
    found->second.count += row.whole("calls");
  }
  std::vector<RecordedCall> calls;
  for (const auto& [kind, call] : kinds) calls.push_back(call);
  std::stable_sort(
      calls.begin(), calls.end(),
      [](const RecordedCall& one, const RecordedCall& two) { return flop(one) > flop(two); });
  return calls;
}

std::string recorded_library(const Table& log) {
  return log.rows() > 0 ? log.text(0, "library") : "";
}

BenchProblem operands_of(const RecordedCall& recorded) {
  const dropin::Call& call = recorded.call;
  const dropin::EpilogueForm* const form = dropin::form_of(call.epilogue.kind);
  if (form == nullptr) throw std::runtime_error("bwgemm has no such epilogue");
  if (recorded.adds_c && !is_same_form(call.c, call.output()))
    throw std::runtime_error("C has another form than D");
  BenchProblem problem;
  problem.m = std::max(call.m, call.n);  // the length of the vector, whichever side it is of
  problem.n = call.n, problem.k = call.k;
  problem.batch = call.batch;
  problem.transa = call.transa != CUBLAS_OP_N, problem.transb = call.transb != CUBLAS_OP_N;
  const auto swapped = [](bool transposed, std::int64_t one, std::int64_t other) {
    return std::pair(transposed ? other : one, transposed ? one : other);
  };
  const auto [a_rows, a_columns] = swapped(problem.transa, call.m, call.k);
  const auto [b_rows, b_columns] = swapped(problem.transb, call.k, call.n);
  problem.a = stored(call.a, a_rows, a_columns, recorded.alignment);
  problem.b = stored(call.b, b_rows, b_columns, recorded.alignment);
  problem.c = stored(call.output(), call.m, call.n, recorded.alignment);
  if (call.by_pointers())
    for (BenchMatrix* matrix : {&problem.a, &problem.b, &problem.c})
      matrix->stride = matrix->ld * matrix->columns;
  problem.beta = recorded.adds_c ? 1 : 0;
  problem.device_scalars = recorded.has_device_scalars;
  problem.epilogue.bias = form->uses_bias_pointer();
  problem.epilogue.derivative = form->aux_mode != BWGEMM_AUX_NONE;
  return problem;
}

}  // namespace bwgemm::bench
