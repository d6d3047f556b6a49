// A table of separated values: its lines, and what its first line and the user say of its columns.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/data/prepare/prepare_csv.hpp"

namespace mylos {

/// Lines of a file that are not empty, with their numbers, counted from 1.
class CsvLines {
 public:
  /// Throws Error (bad_input) where it cannot be read.
  explicit CsvLines(const std::string& path);
  /// Goes to the next line; false at the end. Throws Error (bad_input) for what is no line of text: one with
  /// a NUL, or of more than 64 MiB.
  [[nodiscard]] bool next();
  [[nodiscard]] const std::string& line() const { return line_; }
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// The line's cells, without spaces around them and quotes, until the next call of either. Throws Error
  /// (bad_input) where a quote is not closed.
  void split(char separator, std::vector<std::string_view>& cells);

 private:
  [[nodiscard]] bool read_line();
  [[nodiscard]] bool read_piece();
  void append(std::string_view part);
  /// Of the quoted cell whose quote is at `begin`; `at` becomes its end. A cell with more behind its closing
  /// quote is none: nothing.
  [[nodiscard]] std::optional<std::string_view> quoted_cell(std::size_t begin, char separator,
                                                            std::size_t& at);

  std::string path_;
  std::ifstream file_;
  std::string piece_;      // of the file
  std::string_view rest_;  // of the piece: lines to come
  std::string line_;
  std::int64_t number_ = 0;
};

class CsvTable {
 public:
  /// Reads the first line and counts the others. Throws Error (bad_input) for a first line that may be names
  /// or a sample, where `job` does not say which.
  explicit CsvTable(const PrepareCsv& job);

  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] bool has_header() const { return !header_.empty(); }
  [[nodiscard]] char separator() const { return separator_; }
  /// Of a table with a header; a column without a name goes by its number, "column 3".
  [[nodiscard]] std::string name(std::size_t column) const;
  /// What the first line was taken for, and a separator that is no comma, in lines for the user.
  [[nodiscard]] std::vector<std::string> first_line_notes() const;
  /// "column 3 (drag)"
  [[nodiscard]] std::string column_text(std::size_t column) const;

  struct Column {
    std::size_t index;  // from 0
    std::string note;   // where the word could mean another column, too
  };
  /// The column that the user calls `word`: by its name, or else by its number, counted from 1. Throws Error
  /// (bad_input) where there is none, or there are two of that name.
  [[nodiscard]] Column find(const std::string& word) const;

 private:
  void require_names_or_sample(const std::vector<std::string_view>& cells) const;
  void require_utf8(const std::vector<std::string_view>& names) const;
  [[nodiscard]] char recognised_separator(const CsvLines& lines) const;

  const PrepareCsv& job_;
  char separator_ = ',';
  std::vector<std::string> header_;  // empty: none
  std::string first_line_;           // as messages show it
  std::int64_t first_number_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace mylos
