// Columns: the rows that a run writes, as lines of a CSV file and as arrays of a checkpoint, one array per
// column. A table declares its columns once:
//
//   struct Table {
//     using Row = ...;
//     static constexpr const char* group = "/history/";  // of the arrays
//     /// Calls `column` with each column's name, source, format in the file, and accessor for a row.
//     template <class Function> static void for_each_column(const Function& column);
//     /// Converts a value to the type that is formatted in the file.
//     template <class Value> static auto written(Value value);
//   };
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

/// The origin of a column's values. `computed`: repeating the steps gives the same values. `added`: the
/// same, but earlier builds did not write the column. `clock`: measured, so repeated steps give other
/// values.
enum class ColumnSource { computed, added, clock };

/// Converts a row's value to its type in a checkpoint: floating-point numbers become double, enumerators
/// their number, a missing optional number NaN.
template <class Value>
auto stored(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return static_cast<std::int32_t>(value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
  } else {
    return value;
  }
}

template <class Value, class Stored>
void restore(Value& value, const Stored& stored) {
  if constexpr (std::is_same_v<Value, std::optional<double>>) {
    value = std::isnan(stored) ? std::nullopt : std::optional(stored);
  } else {
    value = static_cast<Value>(stored);
  }
}

/// Returns the header line of the file.
template <class Table>
[[nodiscard]] std::string header_of() {
  std::string header;
  Table::for_each_column([&](const char* name, ColumnSource, const char*, auto) {
    if (!header.empty()) header += ',';
    header += name;
  });
  return header + '\n';
}

/// Returns a row's line in the file.
template <class Table>
[[nodiscard]] std::string line_of(const typename Table::Row& row) {
  std::string line;
  Table::for_each_column([&](const char*, ColumnSource, const char* format, auto field) {
    if (!line.empty()) line += ',';
    fmt::format_to(std::back_inserter(line), fmt::runtime(format), Table::written(*field(row)));
  });
  return line + '\n';
}

/// Returns the values of a line that do not come from a clock, separated by commas.
template <class Table>
[[nodiscard]] std::string computed_part_of(std::string_view line) {
  std::string part;
  Table::for_each_column([&](const char*, ColumnSource source, const char*, auto) {
    const std::string_view value = line.substr(0, line.find_first_of(",\n"));
    line.remove_prefix(std::min(line.size(), value.size() + 1));
    if (source == ColumnSource::clock) return;
    if (!part.empty()) part += ',';
    part += value;
  });
  return part;
}

/// Rows in a checkpoint's layout: an array per column.
template <class Table>
class Columns {
 public:
  using Row = typename Table::Row;

  /// Allocates columns for `rows` rows.
  explicit Columns(std::size_t rows = 0) {
    Table::for_each_column([&](const char* name, ColumnSource source, const char*, auto field) {
      columns_.push_back(
          {std::string(Table::group) + name, source != ColumnSource::computed,
           Array<decltype(field)>(rows, stored(std::decay_t<decltype(*field(std::declval<Row&>()))>{}))});
    });
  }
  explicit Columns(const std::deque<Row>& rows) : Columns(rows.size()) {
    auto column = columns_.begin();
    Table::for_each_column([&](const char*, ColumnSource, const char*, auto field) {
      auto& values = std::get<Array<decltype(field)>>((column++)->values);
      std::transform(rows.begin(), rows.end(), values.begin(),
                     [&](const Row& row) { return stored(*field(row)); });
    });
  }

  [[nodiscard]] std::deque<Row> rows() const {
    std::deque<Row> rows(std::visit([](const auto& values) { return values.size(); }, columns_[0].values));
    auto column = columns_.begin();
    Table::for_each_column([&](const char*, ColumnSource, const char*, auto field) {
      auto value = std::get<Array<decltype(field)>>((column++)->values).begin();
      for (Row& row : rows) restore(*field(row), *value++);
    });
    return rows;
  }

  /// Adds the arrays to `state`, which then points into this object.
  void add_to(CheckpointState& state) {
    for (Column& column : columns_) column.add_to(state);
  }
  /// Adds the arrays that are to be read from `saved` to `state`, which then points into this object.
  /// Columns that the build which wrote the checkpoint did not have are left out; their values stay 0, or
  /// missing.
  void add_to(CheckpointState& state, const CheckpointReader& saved) {
    for (Column& column : columns_) {
      if (!column.may_be_missing || saved.exists(column.path)) column.add_to(state);
    }
  }

 private:
  template <class Field>
  using Array = std::vector<decltype(stored(*std::declval<Field>()(std::declval<const Row&>())))>;

  struct Column {
    std::string path;             // path in a checkpoint
    bool may_be_missing = false;  // in checkpoints of earlier builds
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>,
                 std::vector<std::int32_t>>
        values;

    void add_to(CheckpointState& state) {
      std::visit(
          [&](auto& rows) { state.add_host(path, rows.data(), {static_cast<std::int64_t>(rows.size())}); },
          values);
    }
  };
  std::vector<Column> columns_;
};

}  // namespace mylos
