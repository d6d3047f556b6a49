// Reads the tables of a run's folder, and writes notes about damaged rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "csv_rows.hpp"
#include "report_json.hpp"

namespace mylos::app {

/// Passes the rows of folder/name to `rows`, and adds skipped rows to `notes`, except an incomplete row at
/// the end of a table that is being written. The first column of `rows` is the step. Returns false if there
/// is no such file.
bool read_table(const std::string& folder, const std::string& name, CsvRows& rows, bool runs_on,
                ordered_json& notes);

/// Converts a text that consists of one step.
[[nodiscard]] std::optional<std::int64_t> step_of(std::string_view text);

/// Converts a text that consists of one number; NaN if it is empty.
[[nodiscard]] std::optional<double> number_or_nothing(std::string_view text);

}  // namespace mylos::app
