#include "mylos/train/evaluation/evaluation_rows.hpp"

namespace mylos {

int EvaluationTable::index_in_step(std::string_view line) {
  constexpr int columns_before_part = 2;
  for (int i = 0; i < columns_before_part; ++i) line.remove_prefix(std::min(line.size(), line.find(',') + 1));
  const std::string_view name = line.substr(0, line.find(','));
  for (const DataPart part : {DataPart::train, DataPart::validation, DataPart::test}) {
    if (name == name_of(part)) return static_cast<int>(part);
  }
  return -1;
}

std::vector<std::string> metric_columns() {
  std::vector<std::string> names;
  EvaluationTable::for_each_column([&](std::string_view name, ColumnSource, const char*, const auto&) {
    const bool says_which_row = name == "step" || name == "epoch" || name == "part" || name == "elapsed_s";
    if (!says_which_row) names.emplace_back(name);
  });
  return names;
}

}  // namespace mylos
