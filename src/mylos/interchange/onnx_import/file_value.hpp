// FileValue: a value of a foreign graph as a boundary of our chain, in the file's order of axes.
//
// Ours are [points][channels], or a vector. A file has channels before points or after them, and may flatten
// the axes in that order. Nothing is permuted: a value states which axis of ours each axis of the file is,
// and layers with a weight for each point permute their weights.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mylos/interchange/onnx/foreign_graph.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// y = scale x + shift, with numbers for each channel, or for each column of a sample of ours, channels last.
/// Empty: y = x.
struct Affine {
  std::vector<double> scale = {};
  std::vector<double> shift = {};

  [[nodiscard]] bool identity() const { return scale.empty(); }
  bool operator==(const Affine&) const = default;
};

/// Points that Pad added, by axis of the grid, which only a convolution can read.
struct AddedPoints {
  std::vector<Padding> kind = {};
  OnnxNumbers before = {};  // empty: none
  OnnxNumbers after = {};

  [[nodiscard]] bool any() const { return !before.empty(); }
  [[nodiscard]] bool any(std::size_t axis) const { return any() && (before[axis] > 0 || after[axis] > 0); }
  /// Adds to an axis that has none yet. `axes`: of the grid.
  void add(std::size_t axes, std::size_t axis, Padding kind_of_axis, std::int64_t at_begin,
           std::int64_t at_end);
};

struct FileValue {
  std::size_t position = 0;  // after this number of layers; 0: the network's input
  OnnxNumbers extents = {};  // of our grid; empty: a vector
  std::int64_t channels = 0;
  OnnxNumbers shape = {};               // in the file, without the batch
  std::vector<std::size_t> order = {};  // our axes of more than one element, in the file's order; the
                                        // channels' number is extents.size()
  Affine affine = {};                   // of the boundary
  AddedPoints edges = {};
  bool is_sole = true;                    // nothing else reads the boundary
  Prediction head = Prediction::numbers;  // classes after Softmax, probabilities after Sigmoid
  std::int64_t means_of = 0;  // channels of the boundary, of which this has the means; 0: it has all

  /// Returns the numbers of a sample.
  [[nodiscard]] std::int64_t columns() const;
  [[nodiscard]] std::int64_t points() const { return columns() / channels; }
  /// Return whether the file's shape is [channels, extents ...], with the points of `edges`; [extents ...,
  /// channels]; or one axis that is a vector of ours.
  [[nodiscard]] bool is_channels_first() const;
  [[nodiscard]] bool is_channels_last() const;
  [[nodiscard]] bool is_vector() const;
  /// Returns whether the file's order is ours.
  [[nodiscard]] bool has_our_order() const;
  /// Returns whether the file's order is channels, then points.
  [[nodiscard]] bool has_channels_first_order() const;
  /// "[batch, 8, 28, 28]"
  [[nodiscard]] std::string text() const;
};

/// Returns a boundary in the order channels, points; its shape [channels, extents ...].
[[nodiscard]] FileValue channels_first_value(std::size_t position, OnnxNumbers extents,
                                             std::int64_t channels);
/// Returns the same in the order points, channels.
[[nodiscard]] FileValue channels_last_value(std::size_t position, OnnxNumbers extents, std::int64_t channels);

/// Returns the value with its axes permuted; `permutation` without the batch, from 0. Nothing if the axes of
/// the file are not ours.
[[nodiscard]] std::optional<FileValue> with_axes_permuted(const FileValue& value,
                                                          const OnnxNumbers& permutation);

/// Returns the column of ours of each number of a sample, in the file's order.
[[nodiscard]] std::vector<std::size_t> columns_in_file_order(const FileValue& value);

/// Returns the number of a constant for each channel, or where points differ for each of our columns; nothing
/// if it does not fit the value's shape, or differs by sample.
[[nodiscard]] std::optional<std::vector<double>> in_our_columns(const FileValue& value,
                                                                const ForeignTensor& constant);

/// Returns one number per channel if all points have the same.
[[nodiscard]] std::optional<std::vector<double>> by_channel(const std::vector<double>& columns,
                                                            std::int64_t channels);
/// Returns `columns` numbers of one per channel, or of one per column.
[[nodiscard]] std::vector<double> by_column(const std::vector<double>& numbers, std::int64_t columns);

}  // namespace mylos
