// Statistics of a dataset file: prepare's, or those of a pass over its samples.
#include <algorithm>

#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/dataset_rows.hpp"

namespace mylos {
namespace {

/// Returns the values in reading order: element i is that of the file's column that is read as i.
std::vector<double> in_order(const ColumnOrder& order, std::vector<double> stored) {
  if (order.empty()) return stored;
  std::vector<double> values(stored.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t column = i % order.size();
    values[i] = stored[i - column + static_cast<std::size_t>(order[column])];
  }
  return values;
}

}  // namespace

ColumnStatistics Dataset::stored_statistics(const std::string& of, std::int64_t columns) const {
  const std::string group = "/statistics/" + of;
  const auto read = [&](const char* name) {
    const auto dataset = file_.dataset(group + "/" + name);
    dataset.require({DType::fp64}, 1, "[columns]");
    if (dataset.size() != columns) {
      fail_input(errors::bad_dataset, "{}: dataset {} has {} columns, /{} has {}", path_, dataset.path(),
                 dataset.size(), of, columns);
    }
    std::vector<double> values(static_cast<std::size_t>(columns));
    CheckedArray(file_, dataset, DType::fp64, digests_).read(0, columns, values.data());
    return values;
  };
  ColumnStatistics statistics{read("mean"), read("std"), read("min"), read("max")};
  require_sensible(statistics, path_, group);
  const ColumnOrder& order = of == "inputs" ? input_order_ : target_order_;
  for (std::vector<double>* values :
       {&statistics.mean, &statistics.deviation, &statistics.minimum, &statistics.maximum})
    *values = in_order(order, std::move(*values));
  return statistics;
}

ColumnStatistics Dataset::statistics_of(
    const std::string& of, std::int64_t columns, Split part,
    const std::function<void(StatisticsAccumulator&, std::int64_t first, std::int64_t count)>& add,
    std::int64_t row_bytes) const {
  const std::string group = "/statistics/" + of;
  std::optional<ColumnStatistics> stored;
  if (part.count == samples() && file_.exists(group)) stored = stored_statistics(of, columns);
  if (stored && file_.exists("/digests")) return *stored;
  StatisticsAccumulator accumulator(columns);
  const std::int64_t rows = std::min(part.count, rows_per_read(row_bytes));
  const std::int64_t end = part.first + part.count;
  for (std::int64_t first = part.first; first < end; first += rows)
    add(accumulator, first, std::min(rows, end - first));
  ColumnStatistics computed = accumulator.result();
  if (stored) require_same_statistics(*stored, computed, path_, group);
  return computed;
}

std::optional<ColumnStatistics> Dataset::prepared_input_statistics() const {
  if (!file_.exists("/digests") || !file_.exists("/statistics/inputs")) return std::nullopt;
  return stored_statistics("inputs", features());
}

ColumnStatistics Dataset::input_statistics(Split part) const {
  std::vector<std::byte> buffer;
  const auto add = [&](StatisticsAccumulator& sums, std::int64_t first, std::int64_t count) {
    buffer.resize(static_cast<std::size_t>(count * shape_.input_bytes()));
    read_inputs(first, count, buffer.data());
    if (shape_.input_type == DType::uint8)
      return sums.add(reinterpret_cast<const std::uint8_t*>(buffer.data()), count);
    const auto* values = reinterpret_cast<const float*>(buffer.data());
    require_finite(path_, "/inputs", values, first, count, features());
    sums.add(values, count);
  };
  return statistics_of("inputs", features(), part, add, shape_.input_bytes());
}

ColumnStatistics Dataset::target_statistics(Split part) const {
  if (task() != Task::regression) fail_run(errors::internal, "{}: has no targets", path_);
  std::vector<float> buffer;
  const auto add = [&](StatisticsAccumulator& sums, std::int64_t first, std::int64_t count) {
    buffer.resize(static_cast<std::size_t>(count * outputs()));
    read_targets(first, count, buffer.data());
    require_finite(path_, "/targets", buffer.data(), first, count, outputs());
    sums.add(buffer.data(), count);
  };
  return statistics_of("targets", outputs(), part, add, shape_.truth_bytes());
}

}  // namespace mylos
