// `mylos prepare csv FILE [--targets a,b | --label name] --out FILE`: a table of numbers to a dataset file.
//
// One sample per line; its cells are separated by commas, semicolons or tabs, as the first line shows, or as
// the user says. A cell may be quoted, and then holds separators, and quotes that are doubled (RFC 4180). The
// first line names the columns when none of its cells is a number, and is a sample
// when all are; one that is numbers in part is refused unless the user says what it is. A column is meant by
// its name, or by its number, counted from 1 (as cut and awk do), where no column has that name. The columns
// that are not answers are the inputs: all of them where neither targets nor label are given, for
// predictions.
//
// Numbers become the nearest that float32 holds: 0 where they lie nearer to 0 than those do (1e-400); what is
// beyond its largest is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

struct PrepareCsv {
  std::string file;
  std::vector<std::string> targets;  // regression: the columns to predict
  std::string label;  // classification: the column with classes 0, 1, 2 ...; not both of targets and label
  std::string out;    // the dataset file to make
  std::int64_t classes = 0;                       // 0: largest label + 1
  std::optional<char> separator = std::nullopt;   // ',', ';' or '\t'; empty: seen from the first line
  std::optional<bool> has_header = std::nullopt;  // empty: seen from the first line
};

/// Throws Error: bad_input with file, line and column for what is wrong in the file; failed when `out` cannot
/// be written. Holds a piece of the file at a time, never all of it. Returns what the user should know, a
/// line each: what the first line was taken for, a separator other than the comma, a word that could mean two
/// columns, whole numbers that were rounded.
std::vector<std::string> prepare(const PrepareCsv& job);

}  // namespace mylos
