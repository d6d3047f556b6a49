#include "step_grid.hpp"

#include <algorithm>
#include <cmath>

namespace mylos::app {
namespace {

constexpr std::size_t max_row_name_bytes = 200;

void put(StepGrid::Column& column, std::size_t row, double value, bool broken) {
  if (column.values.size() <= row) {
    column.values.resize(row + 1, StepGrid::nothing);
    column.broken.resize(row + 1, false);
  }
  if (std::isfinite(value)) column.values[row] = std::fmax(column.values[row], value);  // of a NaN the other
  if (broken) column.broken[row] = true;
}

}  // namespace

StepGrid::StepGrid(std::size_t max_rows, std::size_t max_columns, std::size_t max_cells)
    : max_rows_(max_rows), max_columns_(max_columns), max_cells_(max_cells) {}

std::size_t StepGrid::max_columns() const {
  return std::clamp<std::size_t>(max_cells_ / std::max<std::size_t>(1, names_.size()), 1, max_columns_);
}

StepGrid::Column& StepGrid::column_of(std::int64_t step) {
  const std::int64_t key = step / width_;
  auto found = std::lower_bound(
      columns_.begin(), columns_.end(), key,
      [this](const Column& column, std::int64_t sought) { return column.first / width_ < sought; });
  if (found == columns_.end() || found->first / width_ != key)
    found = columns_.insert(found, Column{step, step, {}, {}});
  found->first = std::min(found->first, step);
  found->last = std::max(found->last, step);
  return *found;
}

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
  put(column_of(step), row->second, value, broken || !std::isfinite(value));
  while (columns_.size() > max_columns()) merge();
}

void StepGrid::merge() {
  width_ *= 2;
  std::size_t kept = 0;
  for (std::size_t i = 1; i < columns_.size(); ++i) {
    if (columns_[i].first / width_ != columns_[kept].first / width_) {
      ++kept;
      if (kept != i) columns_[kept] = std::move(columns_[i]);
      continue;
    }
    columns_[kept].last = std::max(columns_[kept].last, columns_[i].last);
    for (std::size_t row = 0; row < columns_[i].values.size(); ++row)
      put(columns_[kept], row, columns_[i].values[row], columns_[i].broken[row]);
  }
  columns_.resize(kept + 1);
}

}  // namespace mylos::app
