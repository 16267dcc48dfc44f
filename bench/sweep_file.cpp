// SPDX-License-Identifier: Apache-2.0
#include "sweep_file.h"

#include <optional>
#include <stdexcept>

#include "core/named.h"
#include "row.h"

namespace bwgemm::bench {

namespace {

std::vector<Cell> cells_of(const SweepRow& row) {
  std::vector<Cell> cells = problem_cells(row.problem);
  const Variant& variant = row.variant;
  const std::vector<Cell> measured = {
      {"kernel", variant.kernel, true},
      {"tile_m", std::to_string(variant.tile_m)},
      {"tile_n", std::to_string(variant.tile_n)},
      {"tile_k", std::to_string(variant.tile_k)},
      {"splits", std::to_string(variant.splits)},
      {"sums", variant.reduces_in_cluster ? "cluster" : "memory"},
      {"operands", variant.operands},
      {"device", std::string(name(row.device))},
      {"us", fixed(row.us, 3)},
      {"predicted_us", fixed(row.predicted_us, 3)},
      {"sm_mhz", std::to_string(row.sm_mhz)},
      {"watts", fixed(row.watts, 0)},
      {"launches", std::to_string(row.launches)},
  };
  cells.insert(cells.end(), measured.begin(), measured.end());
  return cells;
}

}  // namespace

std::string sweep_header() {
  return csv_header(cells_of({}));
}

std::string sweep_line(const SweepRow& row) {
  return csv_row(cells_of(row));
}

std::string sweep_key(const BenchProblem& problem, const Variant& variant) {
  return problem.name + "," + variant.kernel + "," + std::to_string(variant.tile_n) + "," +
         std::to_string(variant.splits) + (variant.reduces_in_cluster ? ",cluster" : "") +
         (variant.operands == "in_place" ? "" : "," + variant.operands);
}

// Older files have kernels of sm90 for each type.
std::string name_today(std::string kernel) {
  for (const std::string_view older : {"sm90_bf16_", "sm90_f16_"})
    if (const std::size_t at = kernel.find(older); at != std::string::npos)
      kernel.replace(at, older.size(), "sm90_b16_");
  return kernel;
}

NominalDevice device_named(const std::string& text) {
  const std::optional<NominalDevice> device = named(text, all_nominal_devices);
  if (!device) throw std::runtime_error("device: no such device as " + text);
  return *device;
}

std::vector<SweepRow> sweep_of(const Table& table) {
  std::vector<SweepRow> rows;
  // Older files have sums in memory and operands in place only, and name no device.
  const bool has_sums = table.has("sums"), has_operands = table.has("operands"),
             has_device = table.has("device");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::string kernel = name_today(table.text(i, "kernel"));
    const NominalDevice device =
        has_device ? device_named(table.text(i, "device")) : device_of(kernel);
    const auto whole = [&](const char* column) {
      return static_cast<int>(whole_number(column, table.text(i, column)));
    };
    rows.push_back({.problem = problem_of_result(table, i),
                    .variant = {kernel, whole("tile_m"), whole("tile_n"), whole("tile_k"),
                                whole("splits"), has_sums && table.text(i, "sums") == "cluster",
                                has_operands ? table.text(i, "operands") : "in_place"},
                    .device = device,
                    .us = table.number(i, "us"),
                    .predicted_us = table.number(i, "predicted_us"),
                    .sm_mhz = static_cast<unsigned>(whole("sm_mhz")),
                    .watts = table.number(i, "watts"),
                    .launches = whole("launches")});
  }
  return rows;
}

std::vector<SweepRow> read_sweep(const std::string& path) {
  return sweep_of(Table::read(path, true));
}

}  // namespace bwgemm::bench
