// Prints the history in a checkpoint as CSV on standard output; runs in a separate process
// (child_process.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "../commands.hpp"
#include "mylos/checkpoint/file/verify.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::app {
namespace {

constexpr const char* history_group = "/history";
constexpr std::int64_t rows_of_piece = 4096;
constexpr std::size_t max_history_columns = 100;

struct StoredColumn {
  std::string name;
  hdf5::Dataset dataset;
};

/// Reads lists of numbers with the length of the first one.
std::vector<StoredColumn> columns_of(const hdf5::File& file) {
  std::vector<StoredColumn> columns;
  if (!file.exists(history_group)) return columns;
  for (const hdf5::Child& child : file.children(history_group)) {
    if (child.kind != hdf5::ObjectKind::dataset || columns.size() == max_history_columns) continue;
    hdf5::Dataset dataset = file.dataset(fmt::format("{}/{}", history_group, child.name));
    if (!dataset.type() || dataset.dims().size() != 1) continue;
    if (!columns.empty() && dataset.size() != columns.front().dataset.size()) continue;
    columns.push_back({child.name, std::move(dataset)});
  }
  return columns;
}

}  // namespace

void history_as_child(const std::string& path) {
  (void)verify_contents(path);
  const hdf5::File file = hdf5::File::open(path);
  const std::vector<StoredColumn> columns = columns_of(file);
  if (columns.empty()) return;
  std::string header;
  for (const StoredColumn& column : columns) header += (header.empty() ? "" : ",") + column.name;
  fmt::print("{}\n", header);
  const std::int64_t rows = columns.front().dataset.size();
  std::vector<std::vector<double>> values(columns.size(), std::vector<double>(rows_of_piece));
  for (std::int64_t first = 0; first < rows; first += rows_of_piece) {
    const std::int64_t count = std::min(rows_of_piece, rows - first);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].dataset.read(first, count, values[i].data());
    std::string text;
    for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
      for (std::size_t i = 0; i < columns.size(); ++i)
        fmt::format_to(std::back_inserter(text), "{}{:.9g}", i == 0 ? "" : ",", values[i][row]);
      text += '\n';
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

}  // namespace mylos::app
