// The tables of a run's folder: their numbers, and what is said of rows that are no good.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "csv_rows.hpp"
#include "report_json.hpp"

namespace mylos::app {

/// Gives the rows of folder/name to `rows`, and `notes` what was left out; the half row at the end of a table
/// that is being written is none of that. The first column that `rows` wants is the step. False where there
/// is no such file.
bool read_table(const std::string& folder, const std::string& name, CsvRows& rows, bool runs_on,
                ordered_json& notes);

/// The step that is all of this text.
[[nodiscard]] std::optional<std::int64_t> step_of(std::string_view text);

/// The number that is all of this text; NaN where it is empty.
[[nodiscard]] std::optional<double> number_or_nothing(std::string_view text);

}  // namespace mylos::app
