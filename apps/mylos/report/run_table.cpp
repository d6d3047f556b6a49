#include "run_table.hpp"

#include <fmt/format.h>

#include <limits>

#include "run_folder.hpp"
#include "step_curves.hpp"

namespace mylos::app {

bool read_table(const std::string& folder, const std::string& name, CsvRows& rows, bool runs_on,
                ordered_json& notes) {
  if (!read_in_pieces(folder + "/" + name, [&](std::string_view piece) { rows.feed(piece); })) return false;
  if (rows.rows() + rows.damaged() > 0 && !rows.has(0)) {
    notes.push_back(fmt::format("{}: has no column \"step\", as every version's has: left out", name));
    return true;
  }
  if (rows.damaged() > 0)
    notes.push_back(
        fmt::format("{}: {} damaged row{} left out", name, rows.damaged(), rows.damaged() == 1 ? "" : "s"));
  if (rows.ends_within_row() && !runs_on)
    notes.push_back(fmt::format("{}: ends within a row, which was left out", name));
  return true;
}

std::optional<std::int64_t> step_of(std::string_view text) {
  const std::optional<double> step = number_of(text);
  if (!step || !(*step >= 0 && *step <= static_cast<double>(max_step))) return std::nullopt;
  return static_cast<std::int64_t>(*step);
}

std::optional<double> number_or_nothing(std::string_view text) {
  return text.empty() ? std::numeric_limits<double>::quiet_NaN() : number_of(text);
}

}  // namespace mylos::app
