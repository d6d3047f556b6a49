// A table of separated values: its lines, and its columns as defined by its first line and the user.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/data/prepare/prepare_csv.hpp"

namespace mylos {

/// The non-empty lines of a file with their numbers, counted from 1.
class CsvLines {
 public:
  /// Throws Error (bad_input) if the file cannot be read.
  explicit CsvLines(const std::string& path);
  /// Advances to the next line; returns false at the end. Throws Error (bad_input) for lines that are not
  /// text: with a NUL, or of more than 64 MiB.
  [[nodiscard]] bool next();
  [[nodiscard]] const std::string& line() const { return line_; }
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Returns the line's cells, without surrounding spaces and quotes; valid until the next call of either
  /// function. Throws Error (bad_input) if a quote is not closed.
  void split(char separator, std::vector<std::string_view>& cells);

 private:
  [[nodiscard]] bool read_line();
  [[nodiscard]] bool read_piece();
  void append(std::string_view part);
  /// Returns the content of the quoted cell whose quote is at `begin`, and sets `at` to its end. Returns
  /// nothing if text follows the closing quote.
  [[nodiscard]] std::optional<std::string_view> quoted_cell(std::size_t begin, char separator,
                                                            std::size_t& at);

  std::string path_;
  std::ifstream file_;
  std::string piece_;      // of the file
  std::string_view rest_;  // of the piece: remaining lines
  std::string line_;
  std::int64_t number_ = 0;
};

class CsvTable {
 public:
  /// Reads the first line and counts the others. Throws Error (bad_input) if the first line may be names or a
  /// sample and `job` does not say which.
  explicit CsvTable(const PrepareCsv& job);

  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] bool has_header() const { return !header_.empty(); }
  [[nodiscard]] char separator() const { return separator_; }
  /// Returns the name of a column of a table with a header, or its number, "column 3", if it has no name.
  [[nodiscard]] std::string name(std::size_t column) const;
  /// Returns lines for the user: the interpretation of the first line, and a separator other than the comma.
  [[nodiscard]] std::vector<std::string> first_line_notes() const;
  /// Returns "column 3 (drag)".
  [[nodiscard]] std::string column_text(std::size_t column) const;

  struct Column {
    std::size_t index;  // from 0
    std::string note;   // set if the word could also mean another column
  };
  /// Returns the column that the user calls `word`: by its name, otherwise by its number, counted from 1.
  /// Throws Error (bad_input) if there is none, or if two have that name.
  [[nodiscard]] Column find(const std::string& word) const;

 private:
  void require_names_or_sample(const std::vector<std::string_view>& cells) const;
  void require_utf8(const std::vector<std::string_view>& names) const;
  [[nodiscard]] char recognised_separator(const CsvLines& lines) const;

  const PrepareCsv& job_;
  char separator_ = ',';
  std::vector<std::string> header_;  // empty: none
  std::string first_line_;           // in the form that messages show
  std::int64_t first_number_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace mylos
