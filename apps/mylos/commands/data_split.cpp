#include "commands/data_split.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/inference/opened_network.hpp"

namespace mylos::app {

void choose_split(DataOptions& data, const DataSplit& split, const std::string& run) {
  if (!split.file.empty()) {
    choose_whole_file(data, split.file);
    return;
  }
  if (split.split == name_of(DataPart::test)) {
    if (data.test.empty())
      fail_input(errors::missing_argument,
                 "{}: its deck names no data.test; give --split validation or --data FILE", run);
    choose_whole_file(data, DataFiles(data.test));
    return;
  }
  if (data.train.empty())
    fail_input(errors::missing_argument, "{}: its deck names no data.train; give --data FILE", run);
  data.test.clear();
}

DataPart part_of(const DataSplit& split) {
  return split.file.empty() && split.split == name_of(DataPart::validation) ? DataPart::validation
                                                                            : DataPart::train;
}

void require_part(const RunData& data, DataPart part) {
  if (data.has(part)) return;
  fail_input(errors::too_little_data, "{}: the run held out no samples for validation (data.validation = 0)",
             data.path());
}

}  // namespace mylos::app
