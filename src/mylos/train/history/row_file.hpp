// RowFile: a CSV file of rows that a run appends in the order of its steps. A restart truncates it after the
// checkpoint's step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// The position of a row. The step is the row's first column.
struct RowPosition {
  std::uint64_t step = 0;
  int of_step = 0;  // index among the rows of that step

  // Defined explicitly: nvcc 13 does not define the equality operator that a defaulted ordering implies.
  friend bool operator==(const RowPosition& a, const RowPosition& b) {
    return a.step == b.step && a.of_step == b.of_step;
  }
  friend bool operator<(const RowPosition& a, const RowPosition& b) {
    return a.step != b.step ? a.step < b.step : a.of_step < b.of_step;
  }
};

/// The properties of rows that the file depends on.
struct RowFormat {
  std::string header;
  std::function<int(std::string_view line)>
      index_in_step;  // returns the row's index among the rows of its step; -1: not a row
  std::function<std::string(std::string_view line)>
      computed_part;    // returns the values that no clock measured
  std::string counted;  // the unit of the row count, "steps"
};

struct PositionedLine {
  RowPosition position;
  std::string text;
};

class RowFile {
 public:
  /// Uses the file `path`. An empty path (all ranks but rank 0) writes no file.
  RowFile(std::string path, RowFormat format) : path_(std::move(path)), format_(std::move(format)) {}

  [[nodiscard]] bool is_written() const { return !path_.empty(); }
  /// Returns whether the file exists, from this start or an earlier one.
  [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }
  /// Appends lines. Throws Error if the file cannot be written: the file is then unchanged, and the next
  /// call, which may pass no lines, writes these lines too.
  void append(const std::string& lines);
  /// Renames the file of an earlier run. Returns the new path, or "" if there was no file.
  std::string begin_anew();
  /// Truncates the file after `step`, and adds those rows of `tail`, the last rows, that the file lacks. A
  /// file whose rows differ from the tail's belongs to another run and is renamed. A file with the columns
  /// of another build is renamed too. Returns a message about a renamed file, and about rows among the
  /// `expected` ones that are in neither the file nor the tail; "" if there is nothing to report.
  [[nodiscard]] std::string resume(const std::vector<PositionedLine>& tail, std::uint64_t step,
                                   std::uint64_t expected);

 private:
  struct Found;
  /// Reads the file. Passes the rows before the tail, which may be many, to `earlier`.
  [[nodiscard]] Found read(const std::vector<PositionedLine>& tail, std::uint64_t last,
                           const std::function<void(const std::string& line)>& earlier) const;

  std::string path_;
  RowFormat format_;
  std::string unwritten_;
  bool begun_ = false;  // this start has created or read the file
};

}  // namespace mylos
