// CsvRows: the rows of a CSV text whose columns are found by name. The text comes in pieces of any size, may
// be of another version of Mylos, half written, or a stranger's; no more than one line of it is ever held.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bounded_lines.hpp"

namespace mylos::app {

/// The number that is all of this text, "inf" and "nan" included.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

class CsvRows {
 public:
  /// The wanted columns' texts in their order, empty for a column that the file has not. They live as long as
  /// the call.
  using Row = std::span<const std::string_view>;

  /// `take` gets every whole row; it returns false where the row makes no sense.
  CsvRows(std::vector<std::string> wanted, std::function<bool(Row)> take);
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  void feed(std::string_view piece) { lines_.feed(piece); }

  [[nodiscard]] bool has(std::size_t wanted) const { return wanted < places_.size() && places_[wanted]; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Rows left out: of another number of fields than the header, too long, or refused by `take`.
  [[nodiscard]] std::int64_t damaged() const { return damaged_ + lines_.too_long(); }
  /// Whether the text ends before its last row does. That row was left out, and is not among the damaged
  /// ones.
  [[nodiscard]] bool ends_within_row() const { return lines_.ends_within_line(); }

 private:
  void end_line(std::string_view line);
  bool split(std::string_view line);
  void read_header();

  std::vector<std::string> wanted_;
  std::function<bool(Row)> take_;
  BoundedLines lines_;
  std::vector<std::string_view> fields_;
  std::size_t columns_ = 0;  // of the header; 0 before it
  std::vector<std::optional<std::size_t>> places_;
  std::vector<std::string_view> row_;
  std::int64_t rows_ = 0;
  std::int64_t damaged_ = 0;
};

}  // namespace mylos::app
