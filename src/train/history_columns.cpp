#include "mylos/train/history_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace mylos {
namespace {

/// Calls `column` with each name, format in history.csv, and place in a row; those that a clock had a hand in
/// come last. An int32 is a rank + 1, 0 for none.
template <class Function>
void for_each_column(const Function& column) {
  column("step", "{}", [](auto& row) { return &row.record.step; });
  column("epoch", "{:.6g}", [](auto& row) { return &row.epoch; });
  column("loss", "{:.9g}", [](auto& row) { return &row.record.loss; });
  column("lr", "{:.9g}", [](auto& row) { return &row.record.lr; });
  column("gradient_norm", "{:.9g}", [](auto& row) { return &row.record.gradient_norm; });
  column("scale", "{:.9g}", [](auto& row) { return &row.record.scale; });
  column("overflow", "{}", [](auto& row) { return &row.record.overflow; });
  column("updates", "{}", [](auto& row) { return &row.record.updates; });
  column("samples_per_s", "{:.6g}", [](auto& row) { return &row.samples_per_s; });
  column("elapsed_s", "{:.3f}", [](auto& row) { return &row.elapsed_s; });
}

// The last ones.
constexpr int columns_by_clock = 2;

/// What history.csv says of a rank + 1 is whether there was one.
int written(std::int32_t rank_number) {
  return rank_number != 0 ? 1 : 0;
}

template <class Value>
Value written(Value value) {
  return value;
}

/// In a checkpoint.
template <class Place>
using StoredType =
    std::conditional_t<std::is_same_v<std::invoke_result_t<Place, HistoryRow&>, float*>, double,
                       std::remove_pointer_t<std::invoke_result_t<Place, HistoryRow&>>>;

}  // namespace

std::string history_header() {
  std::string header;
  for_each_column([&](const char* name, const char*, auto) {
    if (!header.empty()) header += ',';
    header += name;
  });
  return header + '\n';
}

std::string history_line(const HistoryRow& row) {
  std::string line;
  for_each_column([&](const char*, const char* format, auto place) {
    if (!line.empty()) line += ',';
    line += fmt::format(fmt::runtime(format), written(*place(row)));
  });
  return line + '\n';
}

std::string_view computed_part(std::string_view line) {
  for (int column = 0; column < columns_by_clock; ++column) line = line.substr(0, line.rfind(','));
  return line;
}

HistoryColumns::HistoryColumns(std::size_t rows) {
  for_each_column([&](const char* name, const char*, auto place) {
    columns_.push_back({name, std::vector<StoredType<decltype(place)>>(rows)});
  });
}

HistoryColumns::HistoryColumns(const std::deque<HistoryRow>& rows) : HistoryColumns(rows.size()) {
  auto column = columns_.begin();
  for_each_column([&](const char*, const char*, auto place) {
    using Stored = StoredType<decltype(place)>;
    std::transform(rows.begin(), rows.end(), std::get<std::vector<Stored>>((column++)->values).begin(),
                   [&](const HistoryRow& row) { return static_cast<Stored>(*place(row)); });
  });
}

std::deque<HistoryRow> HistoryColumns::rows() const {
  std::deque<HistoryRow> rows(
      std::visit([](const auto& values) { return values.size(); }, columns_[0].values));
  auto column = columns_.begin();
  for_each_column([&](const char*, const char*, auto place) {
    auto value = std::get<std::vector<StoredType<decltype(place)>>>((column++)->values).begin();
    for (HistoryRow& row : rows) {
      auto& member = *place(row);
      member = static_cast<std::remove_reference_t<decltype(member)>>(*value++);
    }
  });
  return rows;
}

void HistoryColumns::add_to(CheckpointState& state) {
  for (Column& column : columns_) {
    std::visit(
        [&](auto& values) {
          state.add_host("/history/" + column.name, values.data(),
                         {static_cast<std::int64_t>(values.size())});
        },
        column.values);
  }
}

}  // namespace mylos
