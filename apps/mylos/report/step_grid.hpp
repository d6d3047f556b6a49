// StepGrid: values of many named quantities over steps, for a heat map: a row per name, a column per interval
// of steps, the largest value of the interval in each cell. Rows, columns and cells are bounded for any
// input.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "step_intervals.hpp"

namespace mylos::app {

class StepGrid {
 public:
  struct Cell {
    double value = std::numeric_limits<double>::quiet_NaN();  // NaN: no value
    bool broken = false;  // a value of this cell was not finite, or said to be
  };
  using Column = StepInterval<std::vector<Cell>>;  // with the cells of the rows; may be shorter

  StepGrid(std::size_t max_rows, std::size_t max_columns, std::size_t max_cells)
      : max_rows_(max_rows), max_columns_(max_columns), max_cells_(max_cells) {}

  /// `broken`: the measured value was not finite, for any `value`.
  void add(std::int64_t step, std::string_view name, double value, bool broken);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_.intervals(); }
  /// True if names beyond the bound were skipped.
  [[nodiscard]] bool has_more_names() const { return has_more_names_; }

 private:
  std::size_t max_rows_;
  std::size_t max_columns_;
  std::size_t max_cells_;
  std::map<std::string, std::size_t, std::less<>> rows_;
  std::vector<std::string> names_;
  StepIntervals<std::vector<Cell>> columns_;
  bool has_more_names_ = false;
};

}  // namespace mylos::app
