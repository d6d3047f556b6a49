#include "step_grid.hpp"

#include <algorithm>
#include <cmath>

namespace mylos::app {
namespace {

constexpr std::size_t max_row_name_bytes = 200;

using Cells = std::vector<StepGrid::Cell>;

void put(Cells& column, std::size_t row, double value, bool broken) {
  if (column.size() <= row) column.resize(row + 1);
  StepGrid::Cell& cell = column[row];
  if (std::isfinite(value)) cell.value = std::fmax(cell.value, value);  // of a NaN the other
  cell.broken = cell.broken || broken;
}

void join_cells(Cells& into, const Cells& other) {
  for (std::size_t row = 0; row < other.size(); ++row) put(into, row, other[row].value, other[row].broken);
}

}  // namespace

void StepGrid::add(std::int64_t step, std::string_view name, double value, bool broken) {
  auto row = rows_.find(name);
  if (row == rows_.end()) {
    if (names_.size() == max_rows_ || name.size() > max_row_name_bytes) {
      has_more_names_ = true;
      return;
    }
    row = rows_.emplace(name, names_.size()).first;
    names_.emplace_back(name);
  }
  put(columns_.at(step), row->second, value, broken || !std::isfinite(value));
  columns_.reduce_to(std::clamp<std::size_t>(max_cells_ / names_.size(), 1, max_columns_), join_cells);
}

}  // namespace mylos::app
