// OwnWeight: a parameter or running statistic of our network, and the forms that PyTorch may give it.
//
//   dense                   ours        [outputs, inputs]
//                           PyTorch's   the same, or transposed; [outputs, inputs, 1 ...] of a
//                                       convolution of one tap
//   dense on a grid         ours        [outputs][points][channels]
//                           PyTorch's   [outputs, channels * points], or transposed
//   convolution             ours        [outputs][taps][channels / groups]
//                           PyTorch's   [outputs, channels / groups, kernel ...]
//   transposed convolution  ours        [inputs][taps][outputs / groups]
//                           PyTorch's   [inputs, outputs / groups, kernel ...]
//   spectral                ours        [modes][inputs][re, im][outputs]
//                           neuraloperator's  [inputs, outputs, modes ...] complex, or [..., 2] real
//   vector                  ours        [n]
//                           PyTorch's   with any axes of extent 1: [1, n, 1, 1]
//
// Each form is a permutation of the axes of a tensor of at most four axes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

using TensorShape = std::vector<std::int64_t>;

/// How a tensor of a file becomes a parameter: its numbers are seen as an array with the extents `view`,
/// whose axes are put into `order`: axis i of the result is axis order[i] of the view. Empty: as it is.
struct AxesOrder {
  TensorShape view = {};
  std::vector<std::size_t> order = {};

  bool operator==(const AxesOrder&) const = default;
};

enum class FormKind {
  usual,          // PyTorch's
  transposed,     // [inputs, outputs] of a linear layer
  channels_last,  // of a dense layer on a grid: the columns by point, then channel; only a map selects it
};

/// A tensor that holds a parameter.
struct WeightForm {
  FormKind kind = FormKind::usual;
  TensorShape shape;          // axes of extent 1 are left out where `ignores_ones`
  bool ignores_ones = false;  // after the second axis of a matrix, anywhere in a vector
  AxesOrder axes = {};
  std::string how;          // "as it is", "channels last": for the table
  bool is_complex = false;  // the last axis of `shape` is the real and the imaginary part
};

struct OwnWeight {
  std::string path;          // "conv1/weight", "conv1.norm/running_mean"
  TensorShape dims;          // in a checkpoint
  DType type = DType::fp32;  // of the compute weights, whose range the values must respect
  bool is_statistic = false;
  std::vector<WeightForm> forms = {};  // the usual form is the first

  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size() const;
  /// Returns the layer ("conv1", "attention1/qkv") and the name in it ("weight", "bias", "running_mean",
  /// "running_variance").
  [[nodiscard]] std::string layer() const;
  [[nodiscard]] std::string name() const;
};

/// Returns all parameters and running statistics in the network's order. `chain`: of `model`, whose layers
/// are listed (no short form) and whose sizes are set.
[[nodiscard]] std::vector<OwnWeight> own_weights(const ModelOptions& model, const Chain& chain);

/// Returns whether a tensor of this shape has the form.
[[nodiscard]] bool has_form(const TensorShape& shape, const WeightForm& form);

/// Returns the form of this kind that a tensor of this shape has, or null. `kind` usual: also the transposed
/// one if `may_transpose`, unless it is square: its shape fits both.
[[nodiscard]] const WeightForm* form_of(const OwnWeight& weight, const TensorShape& shape, FormKind kind,
                                        bool may_transpose = false);

/// Returns the numbers in our order. The view must have `values.size()` elements.
[[nodiscard]] std::vector<float> in_our_order(const AxesOrder& axes, std::vector<float> values);

/// Returns "[24, 12]".
[[nodiscard]] std::string shape_text(const TensorShape& shape);

}  // namespace mylos
