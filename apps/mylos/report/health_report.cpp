#include "run_parts.hpp"

#include <fmt/format.h>

#include "run_folder.hpp"
#include "step_grid.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_parameters = 400;
constexpr std::size_t max_step_groups = 200;  // narrower ones cannot be seen

/// The rows of a map, each with one value per column; `broken`: [row, column] of values that were not finite.
ordered_json json_of(const StepGrid& grid) {
  ordered_json rows = ordered_json::array();
  ordered_json broken = ordered_json::array();
  for (std::size_t row = 0; row < grid.names().size(); ++row) {
    ordered_json values = ordered_json::array();
    for (std::size_t column = 0; column < grid.columns().size(); ++column) {
      const StepGrid::Column& cells = grid.columns()[column];
      const bool exists = row < cells.values.size();
      values.push_back(exists ? short_number(cells.values[row].value) : ordered_json());
      if (exists && cells.values[row].broken) broken.push_back({row, column});
    }
    rows.push_back(std::move(values));
  }
  return {{"rows", std::move(rows)}, {"broken", std::move(broken)}};
}

}  // namespace

ordered_json health_of(const std::string& folder, bool runs_on, std::size_t max_cells, ordered_json& notes) {
  StepGrid norms(max_parameters, max_step_groups, max_cells);
  StepGrid ratios(max_parameters, max_step_groups, max_cells);
  CsvRows rows({"step", "parameter", "gradient_norm", "update_ratio", "non_finite"}, [&](CsvRows::Row row) {
    const auto step = step_of(row[0]);
    const auto norm = number_or_nothing(row[2]);
    const auto ratio = number_or_nothing(row[3]);
    const auto non_finite = number_or_nothing(row[4]);
    if (!step || !norm || !ratio || !non_finite || row[1].empty()) return false;
    norms.add(*step, row[1], *norm, *non_finite > 0);
    ratios.add(*step, row[1], *ratio, false);
    return true;
  });
  if (!read_table(folder, "health.csv", rows, runs_on, notes)) return nullptr;
  if (norms.has_more_names())
    notes.push_back(fmt::format("health.csv: only {} of its parameters are drawn", norms.names().size()));
  ordered_json document = {{"parameters", norms.names()},
                           {"first", ordered_json::array()},
                           {"last", ordered_json::array()},
                           {"maps", ordered_json::object()}};
  for (const StepGrid::Column& column : norms.columns()) {
    document["first"].push_back(column.first);
    document["last"].push_back(column.last);
  }
  if (rows.has(2)) document["maps"]["gradient_norm"] = json_of(norms);
  if (rows.has(3)) document["maps"]["update_ratio"] = json_of(ratios);
  return document;
}

}  // namespace mylos::app
