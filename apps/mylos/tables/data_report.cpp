#include "tables/data_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"

namespace mylos::app {
namespace {

constexpr std::size_t max_files = 16;
constexpr std::size_t max_channels = 32;
constexpr std::size_t max_name = 200;  // bytes that are printed; files may hold any

using TableRow = std::vector<std::string>;

/// Columns as wide as their texts; those of `right` are aligned right, others left.
std::string aligned(const std::vector<TableRow>& rows, const std::string& right) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string one = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      one += right[i] == 'r' ? fmt::format(" {:>{}} ", row[i], widths[i])
                             : fmt::format(" {:<{}} ", row[i], widths[i]);
    }
    text += std::string(one, 0, one.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string file_table(const std::vector<FileRow>& files) {
  std::vector<TableRow> rows{{"file", "samples", "bytes"}};
  std::int64_t samples = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileRow& file = files[i];
    samples += file.samples;
    bytes += file.bytes;
    const bool is_hidden = files.size() > max_files && i + 1 < files.size() && i + 2 > max_files;
    if (!is_hidden)
      rows.push_back(
          {printable(file.path, max_name), std::to_string(file.samples), format_bytes(file.bytes)});
    else if (i + 2 == max_files + 1)
      rows.push_back({fmt::format("... {} more", files.size() - max_files), "", ""});
  }
  if (files.size() > 1)
    rows.push_back({fmt::format("{} files", files.size()), std::to_string(samples), format_bytes(bytes)});
  return aligned(rows, "lrr");
}

std::string array_table(const std::vector<ArrayRow>& arrays) {
  std::vector<TableRow> rows{{"array", "use", "shape", "type", "storage", "stored bytes"}};
  for (const ArrayRow& array : arrays) {
    rows.push_back({printable(array.path, max_name), array.use, array.shape, array.type, array.storage,
                    format_bytes(array.bytes)});
  }
  return aligned(rows, "lllllr");
}

std::string channel_table(const std::vector<std::string>& names, const ColumnStatistics& statistics) {
  std::vector<TableRow> rows{{"channel", "mean", "deviation", "smallest", "largest", ""}};
  const std::size_t count = statistics.mean.size();
  for (std::size_t i = 0; i < std::min(count, max_channels); ++i) {
    const auto number = [](double value) { return fmt::format("{:.6g}", value); };
    const bool is_constant = statistics.minimum[i] == statistics.maximum[i];
    rows.push_back({names.size() == count ? printable(names[i], max_name) : fmt::format("column {}", i),
                    number(statistics.mean[i]), number(statistics.deviation[i]),
                    number(statistics.minimum[i]), number(statistics.maximum[i]),
                    is_constant ? "constant" : ""});
  }
  std::string text = aligned(rows, "lrrrrl");
  if (count > max_channels) text += fmt::format("  ... {} more\n", count - max_channels);
  return text;
}

std::string extents_text(const std::vector<std::int64_t>& extents) {
  return fmt::format("{}", fmt::join(extents, " x "));
}

}  // namespace mylos::app
