// The samples that a command line means: a part of the deck's data, or all of a file.
#pragma once

#include <string>

#include "mylos/data/options.hpp"
#include "mylos/data/run/data_part.hpp"
#include "mylos/data/run/run_data.hpp"

namespace mylos::app {

struct DataSplit {
  std::string split;  // "test", "train" or "validation"
  std::string file;   // in place of the split; "" = none
};

/// Changes what the deck says of its data to that of the split. Throws Error (bad_input) where the deck does
/// not name such data; `run`: the checkpoint argument, for the message.
void choose_split(DataOptions& data, const DataSplit& split, const std::string& run);

/// Returns the part of the data that choose_split() chose.
[[nodiscard]] DataPart part_of(const DataSplit& split);

/// Throws Error (too-little-data) if the run held out no such samples.
void require_part(const RunData& data, DataPart part);

}  // namespace mylos::app
