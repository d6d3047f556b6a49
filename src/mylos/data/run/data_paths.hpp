// The paths of the files that a deck names.
#pragma once

#include <string>
#include <vector>

#include "mylos/data/options.hpp"

namespace mylos {

/// Returns the prepared files that the entries stand for, at least one. A single name without a pattern is
/// returned as it is: opening it says how to make such a file. Throws Error (bad_input) if an entry matches
/// no file.
[[nodiscard]] std::vector<std::string> prepared_files(const DataFiles& files);

/// Returns those files that the entries stand for and that exist.
[[nodiscard]] std::vector<std::string> existing_files(const DataFiles& files);

/// Throws Error (bad_input) if `output` is one of the files of the data.
void require_other_than_data(const DataOptions& data, const std::string& output);

}  // namespace mylos
