#include "mylos/io/tables/csv_rows.hpp"

#include <algorithm>
#include <limits>

#include "mylos/base/numbers/number_text.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_row_bytes = std::size_t{16} << 10;
constexpr std::size_t max_fields = 256;

/// Returns the end of a line's first field, which is quoted: the position of the comma, or the line's size.
/// Nothing if its quotes do not end, or if text follows them.
std::optional<std::size_t> end_of_quoted(std::string_view line) {
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '"') continue;
    const bool is_end = i + 1 == line.size() || line[i + 1] == ',';
    if (is_end) return i + 1;
    if (line[i + 1] != '"') return std::nullopt;
    ++i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> number_or_nothing(std::string_view text) {
  return text.empty() ? std::numeric_limits<double>::quiet_NaN() : to_number<double>(text);
}

std::optional<std::int64_t> step_of(std::string_view text) {
  const std::optional<double> step = to_number<double>(text);
  if (!step || !(*step >= 0 && *step <= static_cast<double>(max_step))) return std::nullopt;
  return static_cast<std::int64_t>(*step);
}

CsvRows::CsvRows(std::vector<std::string> wanted, std::function<bool(Row)> take)
    : wanted_(std::move(wanted)),
      take_(std::move(take)),
      lines_(max_row_bytes, [this](std::string_view line) { end_line(line); }) {}

bool CsvRows::split(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  fields_.clear();
  unquoted_.clear();
  for (;;) {
    const bool is_quoted = line.starts_with('"');
    const std::optional<std::size_t> end = is_quoted ? end_of_quoted(line) : line.find(',');
    if (!end) return false;
    fields_.push_back(is_quoted ? unquote(line.substr(0, *end)) : line.substr(0, *end));
    if (*end >= line.size()) return true;
    if (fields_.size() == max_fields) return false;
    line.remove_prefix(*end + 1);
  }
}

std::string_view CsvRows::unquote(std::string_view quoted) {
  const std::string_view inner = quoted.substr(1, quoted.size() - 2);
  if (inner.find('"') == std::string_view::npos) return inner;
  std::string& text = unquoted_.emplace_back();
  for (std::size_t i = 0; i < inner.size(); ++i) {
    text += inner[i];
    if (inner[i] == '"') ++i;  // the second one of a pair
  }
  return text;
}

void CsvRows::read_header() {
  columns_ = fields_.size();
  for (const std::string& name : wanted_) {
    const auto found = std::find(fields_.begin(), fields_.end(), name);
    wanted_columns_.push_back(found == fields_.end()
                                  ? std::nullopt
                                  : std::optional(static_cast<std::size_t>(found - fields_.begin())));
  }
}

void CsvRows::end_line(std::string_view line) {
  if (line.empty()) return;
  const bool is_split = split(line);
  if (columns_ == 0) {
    if (is_split) read_header();
    return;
  }
  if (!is_split || fields_.size() != columns_) {
    ++damaged_;
    return;
  }
  row_.clear();
  for (const auto& column : wanted_columns_) row_.push_back(column ? fields_[*column] : std::string_view());
  if (take_(row_)) {
    ++rows_;
  } else {
    ++damaged_;
  }
}

}  // namespace mylos
