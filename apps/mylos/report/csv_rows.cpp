#include "csv_rows.hpp"

#include <algorithm>
#include <charconv>

namespace mylos::app {
namespace {

constexpr std::size_t max_row_bytes = std::size_t{16} << 10;
constexpr std::size_t max_fields = 256;

}  // namespace

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CsvRows::CsvRows(std::vector<std::string> wanted, std::function<bool(Row)> take)
    : wanted_(std::move(wanted)),
      take_(std::move(take)),
      lines_(max_row_bytes, [this](std::string_view line) { end_line(line); }) {}

bool CsvRows::split(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  fields_.clear();
  for (;;) {
    const std::size_t comma = line.find(',');
    fields_.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return true;
    if (fields_.size() == max_fields) return false;
    line.remove_prefix(comma + 1);
  }
}

void CsvRows::read_header() {
  columns_ = fields_.size();
  for (const std::string& name : wanted_) {
    const auto found = std::find(fields_.begin(), fields_.end(), name);
    places_.push_back(found == fields_.end()
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
  for (const auto& place : places_) row_.push_back(place ? fields_[*place] : std::string_view());
  if (take_(row_)) {
    ++rows_;
  } else {
    ++damaged_;
  }
}

}  // namespace mylos::app
