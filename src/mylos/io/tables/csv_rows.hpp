// CsvRows: reads the rows of a CSV text, with columns matched by name. The text arrives in pieces of any
// size. It may come from another version of Mylos, be incomplete, or be untrusted. At most one line is
// stored. A field may be quoted (RFC 4180), without line breaks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/io/tables/bounded_lines.hpp"

namespace mylos {

/// Converts a text that consists of one number (to_number()); NaN if the text is empty.
[[nodiscard]] std::optional<double> number_or_nothing(std::string_view text);

/// The largest valid step.
inline constexpr std::int64_t max_step = 1'000'000'000'000;
/// Converts a text that consists of one step.
[[nodiscard]] std::optional<std::int64_t> step_of(std::string_view text);

class CsvRows {
 public:
  /// The texts of the requested columns in their order, empty for a missing column. They are valid during
  /// the call.
  using Row = std::span<const std::string_view>;

  /// Calls `take` with every complete row; `take` returns false if the row is invalid.
  CsvRows(std::vector<std::string> wanted, std::function<bool(Row)> take);
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  void feed(std::string_view piece) { lines_.feed(piece); }

  [[nodiscard]] bool has(std::size_t wanted) const {
    return wanted < wanted_columns_.size() && wanted_columns_[wanted];
  }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// The number of skipped rows: with another number of fields than the header, too long, or refused by
  /// `take`.
  [[nodiscard]] std::int64_t damaged() const { return damaged_ + lines_.too_long(); }
  /// True if the text ends within its last row. That row was skipped and does not count as damaged.
  [[nodiscard]] bool ends_within_row() const { return lines_.ends_within_line(); }

 private:
  void end_line(std::string_view line);
  bool split(std::string_view line);
  std::string_view unquote(std::string_view quoted);
  void read_header();

  std::vector<std::string> wanted_;
  std::function<bool(Row)> take_;
  BoundedLines lines_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unquoted_;  // fields with doubled quotes
  std::size_t columns_ = 0;           // of the header; 0 before it
  std::vector<std::optional<std::size_t>> wanted_columns_;
  std::vector<std::string_view> row_;
  std::int64_t rows_ = 0;
  std::int64_t damaged_ = 0;
};

}  // namespace mylos
