#include "mylos/interchange/onnx_import/file_value.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"

namespace mylos {
namespace {

/// Our axes of more than one element, in this order.
std::vector<std::size_t> without_ones(const FileValue& value, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> kept;
  for (const std::size_t axis : order) {
    const std::int64_t extent = axis == value.extents.size() ? value.channels : value.extents[axis];
    if (extent > 1) kept.push_back(axis);
  }
  return kept;
}

std::vector<std::size_t> channels_last_order(const FileValue& value) {
  std::vector<std::size_t> order(value.extents.size() + 1);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::size_t> channels_first_order(const FileValue& value) {
  std::vector<std::size_t> order = channels_last_order(value);
  std::rotate(order.begin(), order.end() - 1, order.end());
  return order;
}

std::int64_t extent_of(const FileValue& value, std::size_t axis) {
  return axis == value.extents.size() ? value.channels : value.extents[axis];
}

/// Returns which axis of ours each axis of the file's shape is (of those of one element: any); nothing if
/// they are not ours.
std::optional<std::vector<std::size_t>> our_axes(const FileValue& value) {
  if (value.edges.any()) return std::nullopt;
  std::vector<std::size_t> axes(value.shape.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (value.shape[i] == 1) continue;
    if (next == value.order.size() || value.shape[i] != extent_of(value, value.order[next]))
      return std::nullopt;
    axes[i] = value.order[next++];
  }
  if (next != value.order.size()) return std::nullopt;
  return axes;
}

/// Returns whether a constant of this shape, which fits the value's, has one number per channel.
bool differs_by_channel_alone(const FileValue& value, const OnnxNumbers& dims) {
  const auto axes = our_axes(value);
  for (std::size_t back = 0; back < dims.size(); ++back) {
    if (dims[dims.size() - 1 - back] == 1) continue;
    if (!axes || (*axes)[axes->size() - 1 - back] != value.extents.size()) return false;
  }
  return true;
}

}  // namespace

void AddedPoints::add(std::size_t axes, std::size_t axis, Padding kind_of_axis, std::int64_t at_begin,
                      std::int64_t at_end) {
  kind.resize(axes, Padding::zero);
  before.resize(axes, 0);
  after.resize(axes, 0);
  kind[axis] = kind_of_axis;
  before[axis] = at_begin;
  after[axis] = at_end;
}

std::int64_t FileValue::columns() const {
  std::int64_t count = channels;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

bool FileValue::is_channels_first() const {
  OnnxNumbers expected{channels};
  for (std::size_t i = 0; i < extents.size(); ++i)
    expected.push_back(extents[i] + (edges.any() ? edges.before[i] + edges.after[i] : 0));
  return !extents.empty() && shape == expected && has_channels_first_order();
}

bool FileValue::is_channels_last() const {
  OnnxNumbers expected = extents;
  expected.push_back(channels);
  return shape == expected && !edges.any() && has_our_order();
}

bool FileValue::is_vector() const {
  return extents.empty() && shape == OnnxNumbers{channels};
}

bool FileValue::has_our_order() const {
  return order == without_ones(*this, channels_last_order(*this));
}

bool FileValue::has_channels_first_order() const {
  return order == without_ones(*this, channels_first_order(*this));
}

std::string FileValue::text() const {
  return fmt::format("[batch{}{}]", shape.empty() ? "" : ", ", fmt::join(shape, ", "));
}

FileValue channels_first_value(std::size_t position, OnnxNumbers extents, std::int64_t channels) {
  FileValue value{.position = position, .extents = std::move(extents), .channels = channels};
  value.shape = value.extents;
  value.shape.insert(value.shape.begin(), channels);
  value.order = without_ones(value, channels_first_order(value));
  return value;
}

FileValue channels_last_value(std::size_t position, OnnxNumbers extents, std::int64_t channels) {
  FileValue value{.position = position, .extents = std::move(extents), .channels = channels};
  value.shape = value.extents;
  value.shape.push_back(channels);
  value.order = without_ones(value, channels_last_order(value));
  return value;
}

std::optional<FileValue> with_axes_permuted(const FileValue& value, const OnnxNumbers& permutation) {
  const auto axes = our_axes(value);
  if (!axes || permutation.size() != value.shape.size()) return std::nullopt;
  FileValue result = value;
  result.order.clear();
  std::vector<bool> seen(value.shape.size(), false);
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const auto from = static_cast<std::size_t>(permutation[i]);
    if (from >= value.shape.size() || seen[from]) return std::nullopt;
    seen[from] = true;
    result.shape[i] = value.shape[from];
    if (value.shape[from] != 1) result.order.push_back((*axes)[from]);
  }
  return result;
}

std::vector<std::size_t> columns_in_file_order(const FileValue& value) {
  std::vector<std::size_t> steps(value.extents.size() + 1, 1);  // between columns, by our axis
  for (std::size_t axis = value.extents.size(); axis-- > 0;)
    steps[axis] = steps[axis + 1] * static_cast<std::size_t>(extent_of(value, axis + 1));
  std::vector<std::size_t> columns(static_cast<std::size_t>(value.columns()), 0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t rest = i;
    for (std::size_t at = value.order.size(); at-- > 0;) {
      const auto extent = static_cast<std::size_t>(extent_of(value, value.order[at]));
      columns[i] += rest % extent * steps[value.order[at]];
      rest /= extent;
    }
  }
  return columns;
}

std::optional<std::vector<double>> in_our_columns(const FileValue& value, const ForeignTensor& constant) {
  if (constant.is_integer || value.edges.any()) return std::nullopt;
  OnnxNumbers shape = value.shape;
  shape.insert(shape.begin(), 1);
  const auto result = broadcast(shape, constant.dims);
  if (!result || *result != shape) return std::nullopt;
  if (differs_by_channel_alone(value, constant.dims)) {
    std::vector<double> numbers(static_cast<std::size_t>(value.channels));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(constant.reals[constant.reals.size() == 1 ? 0 : i]);
    return numbers;
  }
  std::vector<double> numbers(static_cast<std::size_t>(value.columns()));
  const std::vector<std::size_t> columns = columns_in_file_order(value);
  for (std::size_t i = 0; i < columns.size(); ++i)
    numbers[columns[i]] = static_cast<double>(constant.reals[broadcast_index(shape, constant.dims, i)]);
  return numbers;
}

std::optional<std::vector<double>> by_channel(const std::vector<double>& columns, std::int64_t channels) {
  if (columns.empty()) return std::nullopt;
  const auto period = static_cast<std::ptrdiff_t>(channels);
  if (!std::equal(columns.begin() + period, columns.end(), columns.begin())) return std::nullopt;
  return std::vector<double>(columns.begin(), columns.begin() + period);
}

std::vector<double> by_column(const std::vector<double>& numbers, std::int64_t columns) {
  std::vector<double> all(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = numbers[i % numbers.size()];
  return all;
}

}  // namespace mylos
