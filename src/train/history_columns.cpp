#include "mylos/train/history_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

namespace mylos {
namespace {

/// Whether the same steps would give the same values again; added: they would, but earlier builds did not
/// write them.
enum class Source { computed, added, clock };

/// Calls `column` with each name, source, format in history.csv, and place in a row. An int32 is a rank + 1,
/// 0 for none.
template <class Function>
void for_each_column(const Function& column) {
  using enum Source;
  column("step", computed, "{}", [](auto& row) { return &row.record.step; });
  column("epoch", computed, "{:.6g}", [](auto& row) { return &row.epoch; });
  column("loss", computed, "{:.9g}", [](auto& row) { return &row.record.loss; });
  column("lr", computed, "{:.9g}", [](auto& row) { return &row.record.lr; });
  column("gradient_norm", computed, "{:.9g}", [](auto& row) { return &row.record.gradient_norm; });
  column("scale", computed, "{:.9g}", [](auto& row) { return &row.record.scale; });
  column("overflow", computed, "{}", [](auto& row) { return &row.record.overflow; });
  column("updates", computed, "{}", [](auto& row) { return &row.record.updates; });
  column("overflow_rate", added, "{:.6g}", [](auto& row) { return &row.record.overflow_rate; });
  column("scale_increases", added, "{}", [](auto& row) { return &row.record.increases; });
  column("scale_decreases", added, "{}", [](auto& row) { return &row.record.decreases; });
  column("tolerated_overflows", added, "{}", [](auto& row) { return &row.record.tolerated; });
  column("samples_per_s", clock, "{:.6g}", [](auto& row) { return &row.speed.samples_per_s; });
  column("tokens_per_s", clock, "{:.6g}", [](auto& row) { return &row.speed.tokens_per_s; });
  column("model_flops_per_s", clock, "{:.6g}", [](auto& row) { return &row.speed.model_flops_per_s; });
  column("model_flop_utilisation", clock, "{:.4g}",
         [](auto& row) { return &row.speed.model_flop_utilisation; });
  column("communication_s", clock, "{:.4g}", [](auto& row) { return &row.communication_s; });
  column("data_wait_s", clock, "{:.4g}", [](auto& row) { return &row.data_wait_s; });
  column("elapsed_s", clock, "{:.3f}", [](auto& row) { return &row.elapsed_s; });
}

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
  for_each_column([&](const char* name, Source, const char*, auto) {
    if (!header.empty()) header += ',';
    header += name;
  });
  return header + '\n';
}

std::string history_line(const HistoryRow& row) {
  std::string line;
  for_each_column([&](const char*, Source, const char* format, auto place) {
    if (!line.empty()) line += ',';
    fmt::format_to(std::back_inserter(line), fmt::runtime(format), written(*place(row)));
  });
  return line + '\n';
}

std::string computed_part(std::string_view line) {
  std::string part;
  for_each_column([&](const char*, Source source, const char*, auto) {
    const std::string_view value = line.substr(0, line.find_first_of(",\n"));
    line.remove_prefix(std::min(line.size(), value.size() + 1));
    if (source == Source::clock) return;
    if (!part.empty()) part += ',';
    part += value;
  });
  return part;
}

HistoryColumns::HistoryColumns(std::size_t rows) {
  for_each_column([&](const char* name, Source source, const char*, auto place) {
    columns_.push_back({std::string("/history/") + name, source != Source::computed,
                        std::vector<StoredType<decltype(place)>>(rows)});
  });
}

HistoryColumns::HistoryColumns(const std::deque<HistoryRow>& rows) : HistoryColumns(rows.size()) {
  auto column = columns_.begin();
  for_each_column([&](const char*, Source, const char*, auto place) {
    using Stored = StoredType<decltype(place)>;
    std::transform(rows.begin(), rows.end(), std::get<std::vector<Stored>>((column++)->values).begin(),
                   [&](const HistoryRow& row) { return static_cast<Stored>(*place(row)); });
  });
}

std::deque<HistoryRow> HistoryColumns::rows() const {
  std::deque<HistoryRow> rows(
      std::visit([](const auto& values) { return values.size(); }, columns_[0].values));
  auto column = columns_.begin();
  for_each_column([&](const char*, Source, const char*, auto place) {
    auto value = std::get<std::vector<StoredType<decltype(place)>>>((column++)->values).begin();
    for (HistoryRow& row : rows) {
      auto& member = *place(row);
      member = static_cast<std::remove_reference_t<decltype(member)>>(*value++);
    }
  });
  return rows;
}

void HistoryColumns::Column::add_to(CheckpointState& state) {
  std::visit([&](auto& rows) { state.add_host(path, rows.data(), {static_cast<std::int64_t>(rows.size())}); },
             values);
}

void HistoryColumns::add_to(CheckpointState& state) {
  for (Column& column : columns_) column.add_to(state);
}

void HistoryColumns::add_to(CheckpointState& state, const CheckpointReader& saved) {
  for (Column& column : columns_) {
    if (!column.may_be_missing || saved.exists(column.path)) column.add_to(state);
  }
}

}  // namespace mylos
