// `mylos prepare csv FILE [--inputs a,b] [--targets c,d | --label name] --out FILE`: converts a table of
// numbers to a dataset file.
//
// One sample per line. Cells are separated by commas, semicolons or tabs; the first line or the user
// determines the separator. A cell may be quoted; it may then contain separators and doubled quotes (RFC
// 4180). The first line holds names if none of its cells is a number, and is a sample if all are; mixed lines
// are refused unless the user says what they are. A column is given by its name or, if no column has that
// name, by its number, counted from 1 (like cut and awk). The columns that are not targets are the inputs:
// all of them if neither targets nor label are given, for predictions. With --inputs only the named ones are;
// the cells of all others are not read, and may be text.
//
// A cell is missing if it is empty, NaN, NA, N/A, #N/A, none or null, in any letter case. Rows with one are
// refused, or left out. Blank lines are skipped.
//
// Numbers are rounded to the nearest float32: to 0 if they are nearer to 0 than any other float32 (1e-400);
// numbers beyond the largest are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

enum class OnMissing { fail, skip };

struct PrepareCsv {
  std::string file;
  std::vector<std::string> inputs = {};  // in this order; empty: all that are neither target nor label
  std::vector<std::string> targets;      // regression: the columns to predict
  std::string label;  // classification: the column with classes 0, 1, 2 ...; not both of targets and label
  std::string out;    // the dataset file to make
  std::int64_t classes = 0;                       // 0: largest label + 1
  std::optional<char> separator = std::nullopt;   // ',', ';' or '\t'; empty: determined by the first line
  std::optional<bool> has_header = std::nullopt;  // empty: determined by the first line
  OnMissing on_missing = OnMissing::fail;         // rows with a missing cell in a column that is used
};

/// Throws Error: bad_input with file, line and column of a wrong input; failed if `out` cannot be written.
/// Holds one piece of the file at a time in memory. Returns notes for the user, one per line: the
/// interpretation of the first line, a separator other than the comma, a word that could mean two columns,
/// columns and rows that are left out, rounded integers.
std::vector<std::string> prepare(const PrepareCsv& job);

}  // namespace mylos
