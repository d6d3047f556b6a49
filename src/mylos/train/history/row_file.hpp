// RowFile: a CSV file of rows that a run writes as it goes on, in the order of its steps, and that a restart
// cuts behind its checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Where a row stands. Its step is the first column.
struct RowPlace {
  std::uint64_t step = 0;
  int of_step = 0;  // of several rows of that step

  // Spelled out: nvcc 13 leaves the equality that comes with a defaulted order undefined.
  friend bool operator==(const RowPlace& a, const RowPlace& b) {
    return a.step == b.step && a.of_step == b.of_step;
  }
  friend bool operator<(const RowPlace& a, const RowPlace& b) {
    return a.step != b.step ? a.step < b.step : a.of_step < b.of_step;
  }
};

/// What the file needs to know of its rows.
struct RowFormat {
  std::string header;
  std::function<int(std::string_view line)>
      place_in;  // where the row stands among those of its step; -1: no row
  std::function<std::string(std::string_view line)> computed_part;  // that no clock had a hand in
  std::string counted;                                              // what there is a row for: "steps"
};

struct PlacedLine {
  RowPlace place;
  std::string text;
};

class RowFile {
 public:
  /// An empty path writes no file (ranks but the first).
  RowFile(std::string path, RowFormat format) : path_(std::move(path)), format_(std::move(format)) {}

  [[nodiscard]] bool is_written() const { return !path_.empty(); }
  /// Whether it is there, from this start or an earlier one.
  [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }
  /// Throws Error where the file cannot be written; it is as before then, and the lines are written with the
  /// next ones, or by a call without any.
  void append(const std::string& lines);
  /// Sets aside the file of an earlier run. Returns its new path; "": there was none.
  std::string begin_anew();
  /// Cuts the file behind `step`, and writes into it those of `tail`, the last rows, that it lacks. A file
  /// whose rows are others than the tail's is of another run and set aside, and so is one of a build that
  /// wrote other columns. Returns what there is to say of that, and of rows that neither has of the
  /// `expected` ones; "": nothing.
  [[nodiscard]] std::string resume(const std::vector<PlacedLine>& tail, std::uint64_t step,
                                   std::uint64_t expected);

 private:
  struct Found;
  /// Writes the rows before the tail's to `earlier`, which may be many.
  [[nodiscard]] Found read(const std::vector<PlacedLine>& tail, std::uint64_t last,
                           std::ostream& earlier) const;

  std::string path_;
  RowFormat format_;
  std::string unwritten_;
  bool begun_ = false;  // the file was there
};

}  // namespace mylos
