// `mylos prepare csv FILE [--targets a,b | --label name] --out FILE`: comma-separated numbers to a dataset
// file.
//
// One sample per line. The first line is a header when one of its fields is no number. A column is named by
// its header or by its number, counted from 1 (as cut and awk do). The columns that are not answers are the
// inputs: all of them where neither targets nor label are given, for predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

struct PrepareCsv {
  std::string file;
  std::vector<std::string> targets;  // regression: the columns to predict
  std::string label;  // classification: the column with classes 0, 1, 2 ...; not both of targets and label
  std::string out;    // the dataset file to make
  std::int64_t classes = 0;  // 0: largest label + 1
  char delimiter = ',';
};

/// Throws Error: bad_input with file, line and column for what is wrong in the file; failed when `out` cannot
/// be written. Holds a piece of the file at a time, never all of it.
void prepare(const PrepareCsv& job);

}  // namespace mylos
