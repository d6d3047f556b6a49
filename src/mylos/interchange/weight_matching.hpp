// Finds which tensor of a file from PyTorch is which parameter of our network. In this order:
//
//   1. by the map of --map
//   2. by GPT-2's names, for a gpt (gpt2_names.hpp); linear layers may be [outputs, inputs] or
//      [inputs, outputs]
//   3. by our own names, conv1.weight is conv1/weight, running_var is running_variance: if every parameter
//      that is left finds a tensor of its name that fits, else by none (hidden1 of a network that counts
//      from hidden0 is another layer)
//   4. layer by layer, in order: the next layer of the file with the same parameters of the same shapes. A
//      transposed matrix only where none fits as it is.
//
// The order of a file's layers is that of its metadata ("mylos.order"), else the order of its tensors. The
// usual writers sort tensors by name and so lose the order of the network: then only numbers in names count.
// The layers of neuraloperator's FNO have an order of their own names.
//
// Every tensor and every parameter must have a partner, except counters (num_batches_tracked) and the masks
// of GPT-2. What shapes and order leave open is refused; it is never guessed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/interchange/layer_order.hpp"
#include "mylos/interchange/weight_forms.hpp"
#include "mylos/interchange/weight_map.hpp"

namespace mylos {

/// What decided that a tensor is a parameter.
enum class MatchedBy { map, gpt2_name, own_name, order };

/// Returns "map", "GPT-2's name", "name" or "order".
[[nodiscard]] constexpr std::string_view name_of(MatchedBy by) {
  constexpr std::string_view names[] = {"map", "GPT-2's name", "name", "order"};
  return names[static_cast<int>(by)];
}

struct WeightMatch {
  std::size_t ours = 0;
  std::size_t theirs = 0;
  WeightForm form;
  MatchedBy by = MatchedBy::order;
};

/// A tensor that is no parameter.
struct UnusedTensor {
  std::size_t theirs = 0;
  std::string why;
  std::optional<std::size_t> repeats = {};  // its numbers must be those of this tensor
};

struct MatchedWeights {
  std::vector<WeightMatch> matches;  // one for each of ours, in our order
  std::vector<UnusedTensor> unused;
};

/// Returns the tensors in the order of the network. `order`: the names as the file's metadata state them, one
/// in a line; "" if it does not. Throws Error (bad_input) if these are not the names of the tensors.
[[nodiscard]] TheirTensors in_network_order(TheirTensors tensors, const std::string& order);

/// Throws Error (bad_input): model-mismatch for tensors or parameters that are left over and for other
/// shapes, duplicate-key for two tensors of one parameter, unknown-name for a name of the map,
/// missing-argument where only a map can decide.
[[nodiscard]] MatchedWeights match_weights(const std::vector<OwnWeight>& ours, const TheirTensors& theirs,
                                           const std::vector<MapLine>& map, const ModelOptions& model);

}  // namespace mylos
