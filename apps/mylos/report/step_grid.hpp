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

namespace mylos::app {

class StepGrid {
 public:
  static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();  // no value in this cell

  struct Column {
    std::int64_t first = 0;  // the least and the largest step that it stands for
    std::int64_t last = 0;
    std::vector<double> values;  // of the rows; may be shorter than there are rows
    std::vector<bool> broken;    // a value of this cell was not finite, or said to be
  };

  StepGrid(std::size_t max_rows, std::size_t max_columns, std::size_t max_cells);

  /// `broken`: the measured value was not finite, for any `value`.
  void add(std::int64_t step, std::string_view name, double value, bool broken);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  /// True if names beyond the bound were skipped.
  [[nodiscard]] bool has_more_names() const { return has_more_names_; }

 private:
  Column& column_of(std::int64_t step);
  void merge();
  [[nodiscard]] std::size_t max_columns() const;

  std::size_t max_rows_;
  std::size_t max_columns_;
  std::size_t max_cells_;
  std::int64_t width_ = 1;
  std::map<std::string, std::size_t, std::less<>> rows_;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  bool has_more_names_ = false;
};

}  // namespace mylos::app
